package gputest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// checkOrder lets two programs hand a value to and fro without waiting in between.
func checkOrder(t *testing.T, dev gpu.Device) {
	b := newBench(t, dev)
	step := b.step(StepRecord{}.live(benchRows))
	there := b.compile(&gpu.Program{Name: "there", Rows: benchRows, Ops: []gpu.Op{b.norm(b.slot(0), b.slot(1))}})
	back := b.compile(&gpu.Program{Name: "back", Rows: benchRows, Ops: []gpu.Op{b.norm(b.slot(1), b.slot(0))}})
	const n = 2*gpu.MaxInFlight + 1
	var last uint64
	for range n {
		b.submit(there, step)
		last = b.submit(back, step)
	}
	b.wait(last)
	b.check("there and back", b.slot(0), b.reference(2*n))
}

func checkInFlight(t *testing.T, dev gpu.Device) {
	b := newBench(t, dev)
	step := b.step(StepRecord{}.live(benchRows))
	x := b.compile(b.chain(2))
	var numbers []uint64
	for range 3 * gpu.MaxInFlight {
		numbers = append(numbers, b.submit(x, step))
	}
	for i, n := range numbers {
		if n != uint64(i+1) {
			t.Errorf("got number %d, want %d", n, i+1)
		}
	}
	slices.Reverse(numbers) // a later one first: the earlier ones have finished then
	for _, n := range numbers {
		b.wait(n)
	}
	b.check("two norms", b.slot(2), b.reference(2))
}

func checkCancel(t *testing.T, dev gpu.Device) {
	b := newBench(t, dev)
	step := b.step(StepRecord{}.live(benchRows))
	x := b.compile(b.chain(benchSlots - 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var last uint64
	for range gpu.MaxInFlight {
		last = b.submit(x, step)
		if err := dev.Wait(ctx, last); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want nothing or %v", err, context.Canceled)
		}
	}
	b.wait(last)
	if err := dev.Wait(ctx, last); err != nil {
		t.Errorf("got %v for a submission that has finished, want none", err)
	}
	b.check("the last norm", b.slot(benchSlots-1), b.reference(benchSlots-1))
}

func checkWaitUnknown(t *testing.T, dev gpu.Device) {
	if err := dev.Wait(t.Context(), 1); err == nil {
		t.Error("waited for a submission that does not exist")
	}
}

func checkCompileRefused(t *testing.T, dev gpu.Device) {
	b := newBench(t, dev)
	stranger := &gpu.Region{Name: "stranger", Size: benchBytes}
	for _, c := range []struct {
		name   string
		spoil  func(p *gpu.Program)
		kernel string
	}{
		{"kernel that does not exist", func(p *gpu.Program) {
			k := *p.Ops[0].Kernel
			k.Name = "no_such_kernel"
			p.Ops[0].Kernel = &k
		}, "no_such_kernel"},
		{"region without a buffer", func(p *gpu.Program) {
			p.Ops[0].Args[1] = gpu.Slice{Region: stranger, Len: 16}
		}, ""},
		{"range outside its region", func(p *gpu.Program) { p.Ops[0].Args[1].Off = b.act.Size }, ""},
		{"missing argument", func(p *gpu.Program) { p.Ops[0].Args = p.Ops[0].Args[:2] }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := b.chain(2)
			c.spoil(p)
			x, err := dev.Compile(t.Context(), p, b.buffers)
			var ge *gpu.Error
			if !errors.As(err, &ge) || ge.Op != "compile" || ge.Kernel != c.kernel {
				t.Errorf("got %v, want an error of compiling that blames %q", err, c.kernel)
			}
			if err == nil {
				x.Free()
			}
		})
	}
	t.Run("two regions in one buffer", func(t *testing.T) {
		p := b.chain(1)
		p.Ops[0].Args[1].Region = stranger
		bind := map[*gpu.Region]gpu.Buffer{b.w: b.buffers[b.w], b.act: b.buffers[b.act], stranger: b.buffers[b.act]}
		if _, err := dev.Compile(t.Context(), p, bind); err == nil {
			t.Error("compiled, though stages cannot know of the overlap")
		}
	})
	t.Run("buffer that is too small", func(t *testing.T) {
		p := b.chain(1)
		bind := map[*gpu.Region]gpu.Buffer{b.w: b.buffers[b.w], b.act: b.alloc(b.act.Size - 1)}
		if _, err := dev.Compile(t.Context(), p, bind); err == nil {
			t.Error("compiled against a buffer that is smaller than its region")
		}
	})
}

func checkSubmitRefused(t *testing.T, dev gpu.Device) {
	b := newBench(t, dev)
	step := b.step(StepRecord{}.live(benchRows))
	freedExec := b.compile(b.chain(1))
	freedExec.Free()
	freedStep := b.step(StepRecord{})
	freedStep.Free()
	good := b.compile(b.chain(1))
	for _, c := range []struct {
		name string
		x    gpu.Exec
		step gpu.Buffer
	}{
		{"no program", nil, step},
		{"freed program", freedExec, step},
		{"no step buffer", good, nil},
		{"freed step buffer", good, freedStep},
		{"small step buffer", good, b.alloc(kernels.StepBytes - 1)},
	} {
		if n, err := dev.Submit(c.x, c.step); err == nil {
			t.Errorf("%s: got submission %d, want an error", c.name, n)
		}
	}
	b.buffers[b.act].Free()
	if n, err := dev.Submit(good, step); err == nil {
		t.Errorf("freed buffer: got submission %d, want an error", n)
	}
}

func checkClosed(t *testing.T, dev gpu.Device) {
	b := newBench(t, dev)
	step := b.step(StepRecord{}.live(benchRows))
	x := b.compile(b.chain(benchSlots - 1))
	n := b.submit(x, step) // in flight when the device closes
	if err := dev.Close(); err != nil {
		t.Fatal(err)
	}
	if err := dev.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if err := dev.Wait(t.Context(), n); err != nil {
		t.Errorf("wait for what was in flight: %v", err)
	}
	_, alloc := dev.Alloc(16)
	_, mapped := dev.Map(page(pageBytes))
	_, compile := dev.Compile(t.Context(), b.chain(1), b.buffers)
	_, submit := dev.Submit(x, step)
	for name, err := range map[string]error{"alloc": alloc, "map": mapped, "compile": compile, "submit": submit} {
		if !errors.Is(err, gpu.ErrClosed) {
			t.Errorf("%s: got %v, want %v", name, err, gpu.ErrClosed)
		}
	}
	x.Free()
	step.Free()
	if b.buffers[b.act].Bytes() != nil {
		t.Error("a buffer outlives its device")
	}
}
