package run

import (
	"context"
	"fmt"

	"sotto/engine/gpu"
	"sotto/engine/nn"
	"sotto/engine/state"
	"sotto/kernels"
)

// classes are the row classes that programs exist for. A pass runs in the smallest one that holds its rows; every
// row gets the same bits in any of them.
var classes = [...]int{1, 2, 3, 4, 5, 16, 64, 256, 1024, kernels.MaxRows}

// class is the row class of n rows.
func class(n int) int {
	for _, c := range classes {
		if n <= c {
			return c
		}
	}
	return kernels.MaxRows
}

// program names a compiled program.
type program struct {
	class   int
	sampler nn.Sampler
	masks   bool // see nn.Options.Masks
	parts   bool // compiled part by part too
}

// compiled is a program and the scratch memory that it is bound to.
type compiled struct {
	gpu.Exec
	pass    *nn.Pass
	scratch gpu.Buffer
	parts   []part
}

// part is a part of a program.
type part struct {
	gpu.Exec
	name string
}

// programs compiles what passes need, once. Passes run one after another, so all share the scratch memory.
type programs struct {
	device  gpu.Device
	model   nn.Model
	without nn.Ablation
	arena   *state.Arena
	pack    gpu.Buffer
	scratch []gpu.Buffer // the first serves all passes; with masks they may need more, the last is then the largest
	ready   map[program]compiled
}

func newPrograms(d gpu.Device, c Config, a *state.Arena, scratch int64) (*programs, error) {
	pack, err := d.Map(c.Pack)
	if err != nil {
		return nil, fmt.Errorf("weights of %d bytes: %w", len(c.Pack), err)
	}
	p := &programs{
		device: d, arena: a, pack: pack, ready: map[program]compiled{}, without: c.Without,
		model: nn.Model{Spec: c.Spec, Weights: c.Layout, State: a.Layout()},
	}
	if err := p.grow(scratch); err != nil {
		p.free()
		return nil, err
	}
	return p, nil
}

// grow sees to it that there is scratch memory of a size. What there was stays: programs are bound to it.
func (p *programs) grow(size int64) error {
	if n := len(p.scratch); n > 0 && p.scratch[n-1].Size() >= size {
		return nil
	}
	b, err := p.device.Alloc(size)
	if err != nil {
		return fmt.Errorf("scratch of %d bytes: %w", size, err)
	}
	p.scratch = append(p.scratch, b)
	return nil
}

// prepare compiles what requests need that ask for nothing special, while chunks have no more than so many rows.
func (p *programs) prepare(ctx context.Context, rows int) error {
	if _, err := p.exec(ctx, rows, program{sampler: nn.NoSampler}); err != nil {
		return err
	}
	for _, c := range classes {
		if c > class(rows) {
			break
		}
		for _, s := range []nn.Sampler{nn.Greedy, nn.Sampled} {
			if _, err := p.exec(ctx, c, program{sampler: s}); err != nil {
				return err
			}
		}
	}
	return nil
}

// exec returns the program for n rows. Where its kernels are still being built it waits for them, until ctx ends.
func (p *programs) exec(ctx context.Context, n int, key program) (compiled, error) {
	key.class = class(n)
	if x, ok := p.ready[key]; ok {
		return x, nil
	}
	x, err := p.compile(ctx, key)
	if err == nil {
		p.ready[key] = x
	}
	return x, err
}

func (p *programs) compile(ctx context.Context, key program) (compiled, error) {
	logits := nn.LastLogits
	if key.sampler == nn.NoSampler {
		logits = nn.NoLogits
	}
	pass, err := nn.Record(p.model, nn.Options{
		Rows: key.class, Sampler: key.sampler, Logits: logits, Masks: key.masks, Without: p.without,
	})
	if err != nil {
		return compiled{}, err
	}
	if err := p.grow(pass.Scratch.Size); err != nil {
		return compiled{}, fmt.Errorf("%s: %w", pass.Name, err)
	}
	scratch := p.scratch[len(p.scratch)-1]
	bind := pass.Bind(p.pack, scratch, p.arena.Buffers())
	c := compiled{pass: pass, scratch: scratch}
	if c.Exec, err = p.device.Compile(ctx, pass.Program, bind); err != nil || !key.parts {
		return c, err
	}
	for _, q := range pass.Parts() {
		x, err := p.device.Compile(ctx, q.Program, bind)
		if err != nil {
			c.free()
			return c, err
		}
		c.parts = append(c.parts, part{x, q.Name})
	}
	return c, nil
}

// free gives up the program and its parts.
func (c compiled) free() {
	c.Free()
	for _, p := range c.parts {
		p.Free()
	}
}

// trim frees what only diagnoses have needed, so that what was admitted stays enough for all else. Nothing may be in
// flight.
func (p *programs) trim() {
	for key, x := range p.ready {
		if key.masks || key.parts {
			x.free()
			delete(p.ready, key)
		}
	}
	for _, b := range p.scratch[1:] { // bound by programs with masks alone
		b.Free()
	}
	p.scratch = p.scratch[:1]
}

func (p *programs) free() {
	for _, x := range p.ready {
		x.free()
	}
	for _, b := range p.scratch {
		b.Free()
	}
	p.pack.Free()
}
