package nn

import (
	"strings"

	"sotto/engine/gpu"
)

// Part is a run of a pass's ops that belong together: a layer, or what comes before the first and after the last.
type Part struct {
	Name string // "layer 3", or the label of its first op
	*gpu.Program
}

// Parts cuts the program into programs that do the same one after another.
func (p *Pass) Parts() []Part {
	var parts []Part
	last := ""
	for i, op := range p.Ops {
		layer, _, ok := strings.Cut(op.Label, ": ")
		if !ok {
			layer = ""
		}
		if i == 0 || layer != last {
			name := layer
			if name == "" {
				name = op.Label
			}
			parts = append(parts, Part{name, &gpu.Program{Name: p.Name + ", " + name, Rows: p.Rows, Serial: p.Serial}})
		}
		part := parts[len(parts)-1]
		part.Ops = append(part.Ops, op)
		last = layer
	}
	return parts
}
