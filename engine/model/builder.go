package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"sotto/engine/weights"
)

// quantization is what config.json says about the formats of matrices.
type quantization struct {
	present bool
	bits    int
	modules map[string]int // overrides by module path; 0: not quantised
}

// parseQuantization reads "quantization", or "quantization_config" where that is absent. Only groups of 64 and
// the affine mode are supported.
func parseQuantization(root *object) quantization {
	o := root.child("quantization")
	if o == nil {
		o = root.child("quantization_config")
	}
	if o == nil {
		return quantization{}
	}
	q := quantization{present: true, bits: o.scheme(), modules: map[string]int{}}
	for _, module := range slices.Sorted(maps.Keys(o.fields)) {
		r := o.fields[module]
		switch {
		case len(r) > 0 && r[0] == '{':
			if c := o.child(module); c != nil {
				q.modules[module] = c.scheme()
			}
		case string(r) == "false":
			q.modules[module] = 0
		}
	}
	return q
}

// scheme reads group_size, mode and bits.
func (o *object) scheme() int {
	if n := o.integer("group_size", 1, 1<<20); n != weights.Group {
		o.fail("group_size", "%d is not supported, only %d", n, weights.Group)
	}
	o.must("mode", `"affine"`)
	bits := o.integer("bits", 1, 32)
	if formatOf(bits) == weights.B16 {
		o.fail("bits", "%d is not supported, only 4 and 8", bits)
	}
	return bits
}

// formatOf maps a width to the format; widths without one yield B16.
func formatOf(bits int) weights.Format {
	switch bits {
	case 4:
		return weights.Q4
	case 8:
		return weights.Q8
	}
	return weights.B16
}

// builder makes the items of a Spec; their formats come from the checkpoint, if there is one. It keeps the first
// error.
type builder struct {
	quant quantization
	ckpt  *weights.Checkpoint
	err   error
}

func (b *builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// matrix stacks the sources into one matrix of cols inputs. Neighbours of the same format become one part.
func (b *builder) matrix(name string, cols int, sources ...weights.Source) Matrix {
	m := Matrix{Cols: cols}
	for _, src := range sources {
		f := b.format(src, cols)
		if n := len(m.Parts); n > 0 && m.Parts[n-1].Format == f {
			p := &m.Parts[n-1]
			p.Sources = append(p.Sources, src)
			p.Rows += src.Rows
		} else {
			it := weights.Item{Name: name, Sources: []weights.Source{src}, Rows: src.Rows, Cols: cols, Format: f}
			if n > 0 {
				it.Name = fmt.Sprintf("%s.%d", name, n)
			}
			m.Parts = append(m.Parts, Part{Item: it, First: m.Rows})
		}
		m.Rows += src.Rows
	}
	return m
}

// pairs interleaves the rows of gate and up; experts is 0 for a plain matrix.
func (b *builder) pairs(name string, experts, cols int, gate, up weights.Source) Matrix {
	f, g := b.format(gate, cols), b.format(up, cols)
	if f != g {
		b.fail(fmt.Errorf("%s is stored as %v and %s as %v: both must have the same bits", gate.Name, f, up.Name, g))
	}
	it := weights.Item{
		Name: name, Sources: []weights.Source{gate, up}, Interleave: true, Experts: experts,
		Rows: gate.Rows + up.Rows, Cols: cols, Format: f,
	}
	return Matrix{Rows: it.Rows, Cols: cols, Parts: []Part{{Item: it}}}
}

// experts is a matrix with a leading dimension of experts.
func (b *builder) experts(name string, experts, cols int, src weights.Source) Matrix {
	it := weights.Item{
		Name: name, Sources: []weights.Source{src}, Experts: experts, Rows: src.Rows, Cols: cols,
		Format: b.format(src, cols),
	}
	return Matrix{Rows: it.Rows, Cols: cols, Parts: []Part{{Item: it}}}
}

// neurons is a matrix whose columns are read one by one, those of neurons that are not 0: it is stored by column.
// experts is 0 for a plain matrix.
func (b *builder) neurons(name string, experts, cols int, src weights.Source) Matrix {
	m := b.only4(b.experts(name, experts, cols, src))
	m.Parts[0].Format = weights.NM
	return m
}

// only4 refuses a matrix that is not in 4 bits.
func (b *builder) only4(m Matrix) Matrix {
	for _, p := range m.Parts {
		if p.Format != weights.Q4 {
			b.fail(fmt.Errorf("%s is stored as %v, only 4 bits are supported here", p.Sources[0].Name, p.Format))
		}
	}
	return m
}

// vector is a tensor without quantisation, held as dtype.
func (b *builder) vector(name, tensor string, rows, cols int, dtype weights.Dtype) weights.Item {
	return weights.Item{
		Name: name, Sources: []weights.Source{{Name: tensor, Rows: rows}}, Rows: rows, Cols: cols,
		Format: weights.Vector, Dtype: dtype,
	}
}

// format decides how a module's weight is stored.
func (b *builder) format(src weights.Source, cols int) weights.Format {
	said, named := b.quant.modules[src.Name]
	if !named {
		said = b.quant.bits
	}
	if b.ckpt == nil {
		if cols%weights.Group != 0 {
			return weights.B16
		}
		return formatOf(said)
	}
	bits, err := b.ckpt.Bits(src.Name, cols)
	if err != nil {
		b.fail(err)
		return weights.B16
	}
	f := formatOf(bits)
	if bits != 0 && (f == weights.B16 || b.quant.present && said != bits) {
		b.fail(b.misfit(src.Name, cols, bits, said))
	}
	return f
}

// misfit says why codes do not have the bits that they should. Their scales tell how many inputs they are for: with
// another number in the config it only seems that the bits are wrong.
func (b *builder) misfit(module string, cols, bits, said int) error {
	scales, err := b.ckpt.Tensor(module + ".scales")
	if err == nil && len(scales.Shape) > 0 {
		if groups := scales.Shape[len(scales.Shape)-1]; groups != int64(cols)/weights.Group {
			return fmt.Errorf("%s: its weights are for %d inputs, by the sizes in %s it has %d",
				module, groups*weights.Group, configFile, cols)
		}
	}
	if formatOf(bits) == weights.B16 {
		return fmt.Errorf("%s: %d bits are not supported, only 4 and 8", module, bits)
	}
	return fmt.Errorf("%s: the shapes say %d bits, %s says %d", module, bits, configFile, said)
}

// words decodes a list of strings.
func words(list []json.RawMessage) ([]string, error) {
	out := make([]string, len(list))
	for i, r := range list {
		if err := json.Unmarshal(r, &out[i]); err != nil {
			return nil, fmt.Errorf("want a list of strings, element %d is %.40s", i, r)
		}
	}
	return out, nil
}
