package vectors

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// Tolerances of numbers that are not equal, as shares of the largest number of the same output. Sums run in the same
// order everywhere; what differs from device to device is the last place of exp, log, rsqrt and division, and the order
// inside simd_sum. Half: two units in the last place. Word: a thousand units, a sum of cancelling terms included.
const (
	halfTolerance = 1.0 / 64
	wordTolerance = 1e-4
)

// Result is the outcome for one vector.
type Result struct {
	Kernels []string // entry points that it stands for
	Equal   bool     // every bit
	Worst   float64  // largest difference, as a share of the largest number of that output
	Err     error    // what is wrong; nil if all is within the tolerance
}

// Check runs every vector on the device and reports each as it is done. It ends early only when ctx does or the device
// is lost.
func Check(ctx context.Context, dev gpu.Device, report func(done, total int, r Result)) error {
	s, err := Load()
	if err != nil {
		return err
	}
	step, err := dev.Alloc(kernels.StepBytes)
	if err != nil {
		return err
	}
	defer step.Free()
	for i := range s.Vectors {
		if err := ctx.Err(); err != nil {
			return err
		}
		v := &s.Vectors[i]
		r := Result{Kernels: v.Covers}
		r.Equal, r.Worst, r.Err = s.check(ctx, dev, v, step)
		report(i+1, len(s.Vectors), r)
	}
	return nil
}

func (s *Set) check(ctx context.Context, dev gpu.Device, v *Vector, step gpu.Buffer) (bool, float64, error) {
	p, regions, err := s.program(v)
	if err != nil {
		return false, 0, err
	}
	bind := map[*gpu.Region]gpu.Buffer{}
	for i, x := range v.Vars {
		b, err := dev.Alloc(regions[i].Size)
		if err != nil {
			return false, 0, err
		}
		defer b.Free()
		copy(b.Bytes(), s.Blobs[x.Before])
		bind[regions[i]] = b
	}
	copy(step.Bytes(), s.Blobs[v.Step])
	x, err := dev.Compile(ctx, p, bind)
	if err != nil {
		return false, 0, err
	}
	defer x.Free()
	n, err := dev.Submit(x, step)
	if err == nil {
		err = dev.Wait(ctx, n)
	}
	if err != nil {
		return false, 0, err
	}
	c := comparison{equal: true}
	for i, x := range v.Vars {
		if x.After >= 0 {
			c.add(fmt.Sprintf("output %d", i), bind[regions[i]].Bytes(), s.after(x.Before, x.After), s.Blobs[x.Before],
				x.Element)
		}
	}
	if v.StepAfter >= 0 {
		c.add("step record", step.Bytes()[:kernels.StepBytes], s.after(v.Step, v.StepAfter), s.Blobs[v.Step], Word)
	}
	return c.equal, c.worst, c.err
}

// comparison gathers the differences of a vector's outputs.
type comparison struct {
	equal bool
	worst float64
	err   error // the first
}

// add compares what is there with what was recorded; before is what was there before the run.
func (c *comparison) add(name string, got, want, before []byte, e Element) {
	size, tolerance := 4, wordTolerance
	if e == Half {
		size, tolerance = 2, halfTolerance
	}
	scale := 0.0
	for i := 0; i+size <= len(want); i += size {
		if x, ok := number(want[i:], e); ok {
			scale = max(scale, math.Abs(x))
		}
	}
	for i := 0; i+size <= len(want); i += size {
		if string(got[i:i+size]) == string(want[i:i+size]) {
			continue
		}
		c.equal = false
		x, okX := number(got[i:], e)
		y, okY := number(want[i:], e)
		d := math.Abs(x-y) / scale
		switch {
		case okX && okY && d <= tolerance:
			c.worst = max(c.worst, d)
			continue
		case math.IsNaN(x) && math.IsNaN(y) && string(got[i:i+size]) != string(before[i:i+size]):
			continue // which NaN it is depends on the device
		}
		if c.err == nil {
			c.err = fmt.Errorf("%s, byte %d: got %x, want %x", name, i, got[i:i+size], want[i:i+size])
		}
	}
}

// number reads an element as a number. Words that are no normal float (small integers, NaN) are none.
func number(b []byte, e Element) (float64, bool) {
	var bits uint32
	if e == Half {
		bits = uint32(binary.LittleEndian.Uint16(b)) << 16
	} else {
		bits = binary.LittleEndian.Uint32(b)
	}
	exponent := bits >> 23 & 0xff
	return float64(math.Float32frombits(bits)), bits<<1 == 0 || exponent != 0 && exponent != 0xff
}
