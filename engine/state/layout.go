// Package state holds what sessions keep on the device from token to token: recurrent states and convolution tails
// in slots, keys and values in pages of 256, and the step buffer that drives a session's passes.
//
// [Plan] computes where everything lies for a model, from sizes alone; [New] allocates it; an [Arena] hands out
// [Session]s. A slot's state of one block is contiguous, and a page holds the same 256 positions in every attention
// block, so that both can be copied as a whole. What a submitted pass uses must not be touched here until the pass
// has finished. The package runs no kernel and knows no tokens.
package state

import (
	"fmt"
	"math/bits"

	"sotto/engine/gpu"
	"sotto/engine/model"
	"sotto/kernels"
)

// MaxWindow is the largest number of positions of a session: what its page table can map.
const MaxWindow = kernels.MaxPages * kernels.KeyBlock

// Bounds of a layout: no device holds more, and no product of them overflows.
const (
	maxSlots  = 1 << 16
	maxPages  = 1 << 24
	maxRegion = 1 << 46 // bytes
)

// align is the start of every range in bytes.
const align = 256

// Config says how much state there is.
type Config struct {
	DType  kernels.DType // of keys, values and convolution tails
	Slots  int           // sessions at a time
	Window int           // positions a session; 0: the model's, at most MaxWindow
	Pages  int           // pages in all; 0: enough for every session to fill its window
}

// Layout is where the state of a model lies. It is constant after [Plan].
type Layout struct {
	Config
	Recurrent *gpu.Region // f32
	Conv      *gpu.Region // T
	KV        *gpu.Region // T
	Blocks    []Block     // one for each block of the Spec
}

// Block is the state of one block; the fields of other kinds of blocks are empty.
type Block struct {
	// S is the recurrent state, f32: [slots][value heads][value dim][key dim] of a gated delta net,
	// [slots][heads][dim][state] of a Mamba-2.
	S    gpu.Slice
	Conv gpu.Slice // beside S: T [slots][2][taps-1][channels], halves by StepParams.Parity
	K, V gpu.Slice // attention: T [pages][kv heads][256][dim]

	tapRows int // rows of a half of Conv
}

// Plan lays out the state for a model. Sizes that no memory could hold are refused.
func Plan(spec *model.Spec, c Config) (*Layout, error) {
	if c.Window == 0 || c.Window > spec.Window {
		c.Window = spec.Window
	}
	c.Window = min(c.Window, MaxWindow)
	if c.Slots < 1 || c.Slots > maxSlots || c.Window < 1 {
		return nil, fmt.Errorf("state of %d sessions of %d positions", c.Slots, c.Window)
	}
	if c.Pages == 0 {
		c.Pages = c.Slots * pagesFor(c.Window)
	}
	if c.Pages < 1 || c.Pages > maxPages {
		return nil, fmt.Errorf("state of %d pages", c.Pages)
	}
	l := &Layout{
		Config:    c,
		Recurrent: &gpu.Region{Name: "recurrent"},
		Conv:      &gpu.Region{Name: "conv"},
		KV:        &gpu.Region{Name: "kv"},
		Blocks:    make([]Block, len(spec.Blocks)),
	}
	p := planner{}
	for i, b := range spec.Blocks {
		to := &l.Blocks[i]
		switch m := b.Mixer.(type) {
		case *model.GatedDelta:
			to.tapRows = m.Conv - 1
			to.S = p.place(l.Recurrent, 4, c.Slots, m.ValueHeads, m.ValueDim, m.KeyDim)
			to.Conv = p.place(l.Conv, c.DType.Size(), c.Slots, 2, to.tapRows, m.Channels())
		case *model.Mamba2:
			to.tapRows = m.Conv - 1
			to.S = p.place(l.Recurrent, 4, c.Slots, m.Heads, m.Dim, m.State)
			to.Conv = p.place(l.Conv, c.DType.Size(), c.Slots, 2, to.tapRows, m.Channels())
		case *model.Attention:
			to.K = p.place(l.KV, c.DType.Size(), c.Pages, m.KVHeads, kernels.KeyBlock, m.Dim)
			to.V = p.place(l.KV, c.DType.Size(), c.Pages, m.KVHeads, kernels.KeyBlock, m.Dim)
		case *model.MoE, *model.SparseMoE: // keep nothing
		default:
			return nil, fmt.Errorf("block %d: what a %T keeps is not known here", i, m)
		}
	}
	if p.overflow {
		return nil, fmt.Errorf("state of %d sessions, %d pages: more than %d bytes", c.Slots, c.Pages, int64(maxRegion))
	}
	return l, nil
}

type planner struct{ overflow bool }

// place appends a range of the given dimensions to a region.
func (p *planner) place(r *gpu.Region, size int64, dims ...int) gpu.Slice {
	n := uint64(size)
	for _, d := range dims {
		hi, lo := bits.Mul64(n, uint64(d))
		if n = lo; hi != 0 || lo > maxRegion {
			p.overflow = true
			return gpu.Slice{}
		}
	}
	off := (r.Size + align - 1) / align * align
	if off+int64(n) > maxRegion {
		p.overflow = true
		return gpu.Slice{}
	}
	r.Size = off + int64(n)
	return gpu.Slice{Region: r, Off: off, Len: int64(n)}
}

// Regions are the regions that hold state, those of no bytes left out.
func (l *Layout) Regions() []*gpu.Region {
	var out []*gpu.Region
	for _, r := range []*gpu.Region{l.Recurrent, l.Conv, l.KV} {
		if r.Size > 0 {
			out = append(out, r)
		}
	}
	return out
}

// Footprint is what one session takes in bytes.
type Footprint struct {
	Recurrent int64 // recurrent states
	Conv      int64 // convolution tails, one half; memory holds two
	Token     int64 // keys and values of one position
}

// Footprint adds up what one session takes.
func (l *Layout) Footprint() Footprint {
	f := Footprint{}
	for _, b := range l.Blocks {
		f.Recurrent += b.S.Len / int64(l.Slots)
		f.Conv += b.Conv.Len / int64(2*l.Slots)
		f.Token += (b.K.Len + b.V.Len) / int64(l.Pages*kernels.KeyBlock)
	}
	return f
}

// pagesFor is the number of key blocks that n positions need.
func pagesFor(n int) int { return (n + kernels.KeyBlock - 1) / kernels.KeyBlock }
