package bench

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// Geometry of the picture, in points.
const (
	barHeight = 16
	barWidth  = 420 // of the largest value
	labelLeft = 210
	rowGap    = 6
	panelGap  = 30
	titleSize = 15
)

// colours of the arms, in turn: readable on white and on black, and for most of the colour-blind.
var colours = [...]string{"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"}

// SVG draws rates of prefill and decode as bars, with whiskers from the smallest to the largest value.
func (r *Report) SVG(out io.Writer) error {
	var b strings.Builder
	y := 24.0
	text(&b, 10, y, titleSize, fmt.Sprintf("%s on %s", r.Model, r.Device))
	for _, panel := range []struct {
		title string
		value func(f Figure) Spread
	}{
		{"prefill, tokens a second", func(f Figure) Spread { return f.Prefill }},
		{"decode, tokens a second", func(f Figure) Spread { return f.Decode }},
	} {
		y += panelGap
		text(&b, 10, y, 13, panel.title)
		y += rowGap
		largest := 0.0
		for _, l := range r.Lengths {
			for _, f := range l.Arms {
				largest = max(largest, panel.value(f).Max)
			}
		}
		for _, l := range r.Lengths {
			for i, f := range l.Arms {
				label := fmt.Sprintf("%d tokens, %s", l.Prompt, f.Arm)
				bar(&b, y, label, colours[i%len(colours)], panel.value(f), largest)
				y += barHeight + rowGap
			}
		}
	}
	return document(out, labelLeft+barWidth+100, y+panelGap, b.String())
}

// document writes a picture of that size, on white.
func document(out io.Writer, width int, height float64, body string) error {
	_, err := fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%.0f"`+
		` font-family="sans-serif">`+"\n"+`<rect width="100%%" height="100%%" fill="white"/>`+"\n%s</svg>\n",
		width, height, body)
	return err
}

func bar(b *strings.Builder, y float64, label, colour string, s Spread, largest float64) {
	scale := 0.0
	if largest > 0 {
		scale = barWidth / largest
	}
	text(b, 10, y+barHeight-4, 12, label)
	fmt.Fprintf(b, `<rect x="%d" y="%.1f" width="%.1f" height="%d" fill="%s"/>`+"\n", labelLeft, y, s.Median*scale,
		barHeight, colour)
	fmt.Fprintf(b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="black"/>`+"\n", labelLeft+s.Min*scale,
		labelLeft+s.Max*scale, y+barHeight/2, y+barHeight/2)
	text(b, labelLeft+s.Max*scale+6, y+barHeight-4, 12, fmt.Sprintf("%.4g", s.Median))
}

func text(b *strings.Builder, x, y, size float64, s string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" font-size="%.0f">`, x, y, size)
	xml.EscapeText(b, []byte(s)) //nolint:errcheck // a strings.Builder takes everything
	b.WriteString("</text>\n")
}
