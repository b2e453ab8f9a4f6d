package gpu

import (
	"fmt"
	"io"
	"strings"

	"sotto/kernels"
)

// Print writes one line an op and a summary. The text is stable: it depends on the program alone.
func (p *Program) Print(w io.Writer) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "program %s, rows %d\n", p.Name, p.Rows)
	stages := p.Stages()
	for i := range p.Ops {
		p.Ops[i].print(b, stages[i])
	}
	f := p.Facts()
	fmt.Fprintf(b, "dispatches %d, stages %d, bytes a step %d\n", f.Dispatches, f.Stages, f.Bytes)
	for _, r := range f.Regions {
		fmt.Fprintf(b, "  region %s: size %d, bytes a step %d\n", r.Region.Name, r.Region.Size, r.Bytes)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (op *Op) print(b *strings.Builder, stage int) {
	fmt.Fprintf(b, "%4d  %-32s %-36s %dx%dx%d*%d", stage, op.Label, op.Kernel.Name,
		op.Grid[0], op.Grid[1], op.Grid[2], op.Simdgroups)
	for _, l := range op.Limits {
		fmt.Fprintf(b, " limit %c<=step[%d]/%d", "xyz"[l.Dim], l.Offset, l.Div)
	}
	total := int64(0)
	for i, s := range op.Args {
		a := op.Kernel.Args[i]
		total += op.bytes(i)
		if s.Region == nil {
			fmt.Fprintf(b, "  %s:-", a.Name)
			continue
		}
		fmt.Fprintf(b, "  %s:%s %s[%d+%d]", a.Name, accessText(a.Access), s.Region.Name, s.Off, s.Len)
	}
	fmt.Fprintf(b, "  bytes %d\n", total)
}

func accessText(a kernels.Access) string {
	return [...]string{"?", "r", "w", "rw"}[a&kernels.ReadWrite]
}

// bytes is what the op moves through argument i: what it says it touches, else the whole range, twice where it
// is both read and written.
func (op *Op) bytes(i int) int64 {
	if op.Touch != nil && op.Touch[i] > 0 {
		return op.Touch[i]
	}
	if op.Kernel.Args[i].Access == kernels.ReadWrite {
		return 2 * op.Args[i].Len
	}
	return op.Args[i].Len
}

// Facts are the costs that a program shows without being run.
type Facts struct {
	Dispatches int
	Stages     int
	Bytes      int64         // moved in one replay
	Regions    []RegionBytes // in order of first use
}

// RegionBytes is what one replay moves through a region.
type RegionBytes struct {
	Region *Region
	Bytes  int64
}

// Facts counts dispatches, stages and the bytes that one replay moves.
func (p *Program) Facts() Facts {
	f := Facts{Dispatches: len(p.Ops)}
	at := map[*Region]int{}
	for _, s := range p.Stages() {
		f.Stages = max(f.Stages, s)
	}
	for i := range p.Ops {
		op := &p.Ops[i]
		for j, s := range op.Args {
			if s.Region == nil {
				continue
			}
			k, ok := at[s.Region]
			if !ok {
				k = len(f.Regions)
				at[s.Region] = k
				f.Regions = append(f.Regions, RegionBytes{Region: s.Region})
			}
			n := op.bytes(j)
			f.Regions[k].Bytes += n
			f.Bytes += n
		}
	}
	return f
}
