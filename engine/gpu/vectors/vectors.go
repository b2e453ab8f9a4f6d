// Package vectors checks the kernels of a device against recorded results. A vector is a small program with its
// memory before and after, taken from the kernel suites on the exact host build (32 lanes, every check on), whose
// results those suites compare with float64 references. Every entry point of the catalogue is in at least one, so
// that a machine on which nobody has run the suites can say for each kernel whether it computes the same.
//
// The file is made by go test -update in this folder. The package opens no device.
package vectors

import (
	"bytes"
	"compress/gzip"
	"crypto/subtle"
	_ "embed" // the recorded vectors
	"encoding/gob"
	"fmt"
	"sync"

	"sotto/engine/gpu"
	"sotto/kernels"
)

//go:embed vectors.gob.gz
var recorded []byte

// Element is how the words of an output are compared.
type Element uint8

// Elements. Word is uint32 or float32: equal words are, and two normal float32 numbers may be close to each other.
// Half is a pair of bfloat16 numbers.
const (
	Word Element = iota
	Half
)

// Set is all vectors and the memory they share.
type Set struct {
	Blobs   [][]byte // distinct contents
	Vectors []Vector
}

// Vector is one program.
type Vector struct {
	Covers []string // entry points that this vector is there for
	Ops    []Op     // in order; stages follow from Vars
	Vars   []Var
	Step   int // blob of the step buffer before the run, kernels.StepBytes long
	// StepAfter says what the run does to it, as [Var.After]; -1 if no op writes it.
	StepAfter int
}

// Op is one dispatch.
type Op struct {
	Kernel     string
	Params     []byte
	Grid       [3]uint32
	Simdgroups uint32
	Limits     []kernels.Limit
	Args       []int // index of Vars, or one of the constants below
}

// Arguments that are no variable.
const (
	Unbound = -1 // the kernel sees zeroes
	StepArg = -2
)

// Var is one piece of memory.
type Var struct {
	Before  int // blob
	After   int // blob that the content before is to be XORed with, or -1 if no op writes it
	Element Element
}

// Load decodes the embedded vectors, once.
var Load = sync.OnceValues(func() (*Set, error) {
	z, err := gzip.NewReader(bytes.NewReader(recorded))
	if err != nil {
		return nil, fmt.Errorf("recorded vectors: %w", err)
	}
	s := &Set{}
	if err := gob.NewDecoder(z).Decode(s); err != nil {
		return nil, fmt.Errorf("recorded vectors: %w", err)
	}
	return s, nil
})

// after is the content that a run leaves, of what has these blobs.
func (s *Set) after(before, change int) []byte {
	b := make([]byte, len(s.Blobs[before]))
	subtle.XORBytes(b, s.Blobs[before], s.Blobs[change])
	return b
}

// program turns v into a program over regions of its own.
func (s *Set) program(v *Vector) (*gpu.Program, []*gpu.Region, error) {
	p := &gpu.Program{Name: "vector of " + v.Covers[0], Rows: 1}
	regions := make([]*gpu.Region, len(v.Vars))
	for i, x := range v.Vars {
		regions[i] = &gpu.Region{Name: fmt.Sprintf("v%d", i), Size: int64(len(s.Blobs[x.Before]))}
	}
	for i, o := range v.Ops {
		k := kernels.Lookup(o.Kernel)
		if k == nil {
			return nil, nil, fmt.Errorf("kernel %s is not in the catalogue", o.Kernel)
		}
		if len(o.Args) != len(k.Args) {
			return nil, nil, fmt.Errorf("kernel %s has %d arguments, the vector %d", o.Kernel, len(k.Args), len(o.Args))
		}
		op := gpu.Op{
			Label: fmt.Sprintf("op %d", i),
			Launch: kernels.Launch{
				Kernel: k, Params: o.Params, Grid: o.Grid, Simdgroups: o.Simdgroups, Limits: o.Limits,
			},
		}
		for _, a := range o.Args {
			switch a {
			case Unbound:
				op.Args = append(op.Args, gpu.Slice{})
			case StepArg:
				op.Args = append(op.Args, gpu.Slice{Region: gpu.Step, Len: kernels.StepBytes})
			default:
				op.Args = append(op.Args, gpu.Slice{Region: regions[a], Len: regions[a].Size})
			}
		}
		p.Ops = append(p.Ops, op)
	}
	return p, regions, nil
}
