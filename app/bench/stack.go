package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Geometry of the stack's picture, in points.
const (
	stackWidth  = 900 // of the slower stack
	stackHeight = 44
	stackLeft   = 80
)

// SVG draws the whole stack twice, dead neurons read and passed over: a segment a part, as wide as its time.
func (r *LiveReport) SVG(out io.Writer) error {
	var b strings.Builder
	text(&b, 10, 24, titleSize, fmt.Sprintf("%s on %s: time of a token by part", r.Model, r.Device))
	kinds := r.kinds()
	x := float64(stackLeft)
	for i, kind := range kinds {
		fmt.Fprintf(&b, `<rect x="%.1f" y="38" width="12" height="12" fill="%s"/>`+"\n", x, colours[i%len(colours)])
		text(&b, x+16, 49, 12, kind)
		x += 30 + 7*float64(len(kind))
	}
	dense, sparse := 0.0, 0.0
	for _, p := range r.Parts {
		dense, sparse = dense+p.Dense.Median, sparse+p.Sparse.Median
	}
	scale := 0.0
	if slower := max(dense, sparse); slower > 0 {
		scale = stackWidth / slower
	}
	y := 64.0
	for _, s := range []struct {
		name  string
		total float64
		time  func(p LivePart) float64
	}{
		{"dense", dense, func(p LivePart) float64 { return p.Dense.Median }},
		{"sparse", sparse, func(p LivePart) float64 { return p.Sparse.Median }},
	} {
		text(&b, 10, y+stackHeight/2+4, 12, s.name)
		x := float64(stackLeft)
		for _, p := range r.Parts {
			width, colour := s.time(p)*scale, colours[slices.Index(kinds, kindOf(p))%len(colours)]
			fmt.Fprintf(&b, `<rect x="%.2f" y="%.1f" width="%.2f" height="%d" fill="%s" stroke="white" `+
				`stroke-width="0.5"><title>`, x, y, width, stackHeight, colour)
			fmt.Fprintf(&b, "%s, %s: %.1f µs</title></rect>\n", p.Name, kindOf(p), s.time(p))
			x += width
		}
		text(&b, x+6, y+stackHeight/2+4, 12, fmt.Sprintf("%.0f µs", s.total))
		y += stackHeight + 10
	}
	return document(out, stackLeft+stackWidth+90, y+10, b.String())
}

// kinds lists the kinds of parts in the order of their first.
func (r *LiveReport) kinds() []string {
	var list []string
	for _, p := range r.Parts {
		if !slices.Contains(list, kindOf(p)) {
			list = append(list, kindOf(p))
		}
	}
	return list
}

func kindOf(p LivePart) string {
	if p.Kind == "" {
		return "other"
	}
	return p.Kind
}
