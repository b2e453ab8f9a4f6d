//go:build linux && amd64

package sim_test

import (
	"bytes"
	"context"
	"testing"

	"sotto/engine/gpu"
	"sotto/engine/gpu/gputest"
	"sotto/engine/gpu/host"
	"sotto/engine/gpu/metal/sim"
)

// twin runs everything on the simulated device and on the host driver too, and compares all memory bit by bit. Its
// user sees the simulated device's memory. One submission is in flight at a time.
type twin struct {
	gpu.Device // simulated
	t          testing.TB
	other      gpu.Device
	buffers    map[*twinBuffer]struct{}
	compared   int
}

type twinBuffer struct {
	gpu.Buffer
	other gpu.Buffer
	dev   *twin
}

type twinExec struct {
	gpu.Exec
	other gpu.Exec
}

func (x twinExec) Free() {
	x.Exec.Free()
	x.other.Free()
}

func (b *twinBuffer) Free() {
	delete(b.dev.buffers, b)
	b.Buffer.Free()
	b.other.Free()
}

func newTwin(t *testing.T) *twin {
	other, err := host.Open(host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	})
	return &twin{open(t, sim.Options{}), t, other, map[*twinBuffer]struct{}{}, 0}
}

func (d *twin) Alloc(size int64) (gpu.Buffer, error) {
	a, err := d.Device.Alloc(size)
	if err != nil {
		return nil, err
	}
	b, err := d.other.Alloc(size)
	if err != nil {
		d.t.Fatal(err)
	}
	n := &twinBuffer{a, b, d}
	d.buffers[n] = struct{}{}
	return n, nil
}

func (d *twin) Compile(ctx context.Context, p *gpu.Program, bind map[*gpu.Region]gpu.Buffer) (gpu.Exec, error) {
	a, b := map[*gpu.Region]gpu.Buffer{}, map[*gpu.Region]gpu.Buffer{}
	for r, x := range bind {
		a[r], b[r] = x.(*twinBuffer).Buffer, x.(*twinBuffer).other
	}
	x, err := d.Device.Compile(ctx, p, a)
	if err != nil {
		return nil, err
	}
	y, err := d.other.Compile(ctx, p, b)
	if err != nil {
		d.t.Fatal(err)
	}
	return twinExec{x, y}, nil
}

func (d *twin) Submit(x gpu.Exec, step gpu.Buffer) (uint64, error) {
	for b := range d.buffers {
		copy(b.other.Bytes(), b.Bytes())
	}
	n, err := d.Device.Submit(x.(twinExec).Exec, step.(*twinBuffer).Buffer)
	if err != nil {
		return 0, err
	}
	m, err := d.other.Submit(x.(twinExec).other, step.(*twinBuffer).other)
	if err != nil || n != m {
		d.t.Fatalf("got submissions %d and %d (%v)", n, m, err)
	}
	return n, nil
}

func (d *twin) Wait(ctx context.Context, n uint64) error {
	if err := d.Device.Wait(ctx, n); err != nil {
		return err
	}
	if err := d.other.Wait(ctx, n); err != nil {
		d.t.Fatal(err)
	}
	for b := range d.buffers {
		if d.compared++; !bytes.Equal(b.Bytes(), b.other.Bytes()) {
			d.t.Fatalf("submission %d: %d bytes differ from what the host driver wrote", n, b.Size())
		}
	}
	return nil
}

// TestSuites runs kernel suites on both: results are in tolerance, and the same bit by bit. With -all it is every
// suite, else a thin slice.
func TestSuites(t *testing.T) {
	for _, s := range gputest.Suites() {
		if !*all && s.Name != "norm" && s.Name != "route" {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			d := newTwin(t)
			s.Run(t, d)
			if d.compared == 0 {
				t.Error("nothing was compared")
			}
		})
	}
}
