package run

import (
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
}

// programs compiles what passes need, once. Passes run one after another, so all share the scratch memory.
type programs struct {
	device  gpu.Device
	model   nn.Model
	arena   *state.Arena
	pack    gpu.Buffer
	scratch []gpu.Buffer // the last one is the largest; earlier ones are still bound
	ready   map[program]gpu.Exec
}

func newPrograms(d gpu.Device, c Config, a *state.Arena) (*programs, error) {
	pack, err := d.Map(c.Pack)
	if err != nil {
		return nil, fmt.Errorf("weights of %d bytes: %w", len(c.Pack), err)
	}
	return &programs{
		device: d, arena: a, pack: pack, ready: map[program]gpu.Exec{},
		model: nn.Model{Spec: c.Spec, Weights: c.Layout, State: a.Layout()},
	}, nil
}

// exec returns the program for n rows.
func (p *programs) exec(n int, s nn.Sampler) (gpu.Exec, error) {
	key := program{class(n), s}
	if x, ok := p.ready[key]; ok {
		return x, nil
	}
	x, err := p.compile(key)
	if err == nil {
		p.ready[key] = x
	}
	return x, err
}

func (p *programs) compile(key program) (gpu.Exec, error) {
	logits := nn.LastLogits
	if key.sampler == nn.NoSampler {
		logits = nn.NoLogits
	}
	pass, err := nn.Record(p.model, nn.Options{Rows: key.class, Sampler: key.sampler, Logits: logits})
	if err != nil {
		return nil, err
	}
	if n := len(p.scratch); n == 0 || p.scratch[n-1].Size() < pass.Scratch.Size {
		b, err := p.device.Alloc(pass.Scratch.Size)
		if err != nil {
			return nil, fmt.Errorf("%s: scratch of %d bytes: %w", pass.Name, pass.Scratch.Size, err)
		}
		p.scratch = append(p.scratch, b)
	}
	return p.device.Compile(pass.Program, pass.Bind(p.pack, p.scratch[len(p.scratch)-1], p.arena.Buffers()))
}

func (p *programs) free() {
	for _, x := range p.ready {
		x.Free()
	}
	for _, b := range p.scratch {
		b.Free()
	}
	p.pack.Free()
}
