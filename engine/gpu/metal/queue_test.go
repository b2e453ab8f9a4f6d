//go:build linux && amd64

package metal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"sotto/engine/gpu"
	"sotto/engine/gpu/metal"
	"sotto/engine/gpu/metal/sim"
)

// TestCommandErrors lets a command buffer fail in every way. The request fails, with the reason; the device goes on,
// unless it is lost.
func TestCommandErrors(t *testing.T) {
	for _, c := range []struct {
		code      int
		text      string
		oom, lost bool
	}{
		{code: 1, text: "internal"},
		{code: 2, text: "too long"},
		{code: 3, text: "page fault"},
		{code: 4, text: "revoked", lost: true},
		{code: 7, text: "not permitted"},
		{code: 8, text: "out of memory", oom: true},
		{code: 9, text: "resource"},
		{code: 10, text: "tile memory"},
		{code: 11, text: "removed", lost: true},
		{code: 12, text: "stack overflow"},
	} {
		for _, signals := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %v", c.text, signals), func(t *testing.T) {
				d := openSim(t, sim.Options{}, metal.Options{})
				b := newBench(t, d)
				x, step := b.compile(b.chain(3)), b.step(benchRows)
				b.run(x, step)
				d.Runtime().Inject(sim.Fault{
					Kind: sim.CommandFails, Code: c.code, Reason: "as injected", Signals: signals,
					Delay: 20 * time.Millisecond,
				})
				n := b.submit(x, step)
				err := d.Wait(t.Context(), n)
				var ge *gpu.Error
				var ce *metal.CommandError
				if !errors.As(err, &ge) || ge.Op != "run" || !errors.As(err, &ce) || ce.Code != c.code ||
					!strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), "as injected") {
					t.Fatalf("got %v, want code %d, %s", err, c.code, c.text)
				}
				if errors.Is(err, gpu.ErrOutOfMemory) != c.oom || errors.Is(err, gpu.ErrLost) != c.lost {
					t.Errorf("got %v, want out of memory %v, lost %v", err, c.oom, c.lost)
				}
				if again := d.Wait(t.Context(), n); !errors.Is(again, err) {
					t.Errorf("asked again: %v, want %v", again, err)
				}
				if err := d.Wait(t.Context(), n-1); err != nil {
					t.Errorf("the submission before: %v", err)
				}
				if c.lost {
					checkLost(t, b, x, step)
					return
				}
				b.run(x, step)
			})
		}
	}
}

// checkLost holds that a lost device refuses everything and can be closed.
func checkLost(t *testing.T, b *bench, x gpu.Exec, step gpu.Buffer) {
	t.Helper()
	_, alloc := b.dev.Alloc(16)
	_, mapped := b.dev.Map(make([]byte, 16))
	_, compile := b.dev.Compile(t.Context(), b.chain(1), b.buffers)
	_, submit := b.dev.Submit(x, step)
	for name, err := range map[string]error{"alloc": alloc, "map": mapped, "compile": compile, "submit": submit} {
		if !errors.Is(err, gpu.ErrLost) {
			t.Errorf("%s: got %v, want %v", name, err, gpu.ErrLost)
		}
	}
	x.Free()
	step.Free()
}

// TestFailureReach submits several before the first of them fails: all of them fail, what comes later does not.
func TestFailureReach(t *testing.T) {
	d := openSim(t, sim.Options{}, metal.Options{})
	b := newBench(t, d)
	x, step := b.compile(b.chain(2)), b.step(benchRows)
	b.run(x, step)
	d.Runtime().Inject(sim.Fault{Kind: sim.Slow, Delay: 500 * time.Millisecond})
	d.Runtime().Inject(sim.Fault{Kind: sim.CommandFails, Code: 3})
	var last uint64
	for range gpu.MaxInFlight {
		last = b.submit(x, step)
	}
	for n := last; n > last-gpu.MaxInFlight; n-- {
		if err := d.Wait(t.Context(), n); err == nil {
			t.Errorf("submission %d did not fail", n)
		}
	}
	if err := d.Wait(t.Context(), 1); err != nil {
		t.Errorf("the one before: %v", err)
	}
	b.reset()
	b.run(x, step)
}

// TestFailureIsTold lets a submission fail that nobody waits for: the next call says so, the one after that works.
func TestFailureIsTold(t *testing.T) {
	for _, c := range []struct {
		name string
		tell func(b *bench, x gpu.Exec, step gpu.Buffer) error
	}{
		{"by submit", func(b *bench, x gpu.Exec, step gpu.Buffer) error {
			_, err := b.dev.Submit(x, step)
			return err
		}},
		{"by wait", func(b *bench, _ gpu.Exec, _ gpu.Buffer) error { return b.dev.Wait(context.Background(), 1) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := openSim(t, sim.Options{}, metal.Options{})
			b := newBench(t, d)
			x, step := b.compile(b.chain(2)), b.step(benchRows)
			d.Runtime().Inject(sim.Fault{Kind: sim.CommandFails, Code: 8})
			b.submit(x, step)
			eventually(t, func() bool { return metal.Failed(d.Device) })
			if err := c.tell(b, x, step); !errors.Is(err, gpu.ErrOutOfMemory) {
				t.Errorf("got %v, want %v", err, gpu.ErrOutOfMemory)
			}
			b.run(x, step)
		})
	}
}

func eventually(t *testing.T, f func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never happens")
		}
	}
}

// TestTwoFailures lets two command buffers fail one after the other.
func TestTwoFailures(t *testing.T) {
	d := openSim(t, sim.Options{}, metal.Options{})
	b := newBench(t, d)
	x, step := b.compile(b.chain(2)), b.step(benchRows)
	for _, code := range []int{3, 9} {
		d.Runtime().Inject(sim.Fault{Kind: sim.CommandFails, Code: code})
		n := b.submit(x, step)
		var ce *metal.CommandError
		if err := d.Wait(t.Context(), n); !errors.As(err, &ce) || ce.Code != code {
			t.Errorf("got %v, want code %d", err, code)
		}
	}
	d.Runtime().Inject(sim.Fault{Kind: sim.Slow, Delay: 500 * time.Millisecond})
	d.Runtime().Inject(sim.Fault{Kind: sim.CommandFails, Code: 2, Times: 2}) // both that are in flight
	n := b.submit(x, step)
	b.submit(x, step)
	var ce *metal.CommandError
	if err := d.Wait(t.Context(), n+1); !errors.As(err, &ce) || ce.Code != 2 {
		t.Errorf("got %v, want code 2", err)
	}
	b.run(x, step)
}

// TestFailsWhileEncoding has a failure be seen between two messages of the next submission, which fails with it.
func TestFailsWhileEncoding(t *testing.T) {
	for _, code := range []int{3, 11} {
		r := newRuntime(t, sim.Options{})
		var d gpu.Device
		hook := func(*metal.Message) { eventually(t, func() bool { return metal.Failed(d) }) }
		d = openOn(t, r, metal.Options{}, rule{selector: "setComputePipelineState:", after: 1, times: 1, hook: hook})
		b := newBench(t, d)
		x, step := b.compile(b.chain(1)), b.step(benchRows)
		r.Inject(sim.Fault{Kind: sim.CommandFails, Code: code})
		b.submit(x, step)
		n := b.submit(x, step)
		var ce *metal.CommandError
		if err := d.Wait(t.Context(), n); !errors.As(err, &ce) || ce.Code != code {
			t.Errorf("got %v, want code %d", err, code)
		}
		if code == 11 {
			checkLost(t, b, x, step)
			continue
		}
		b.run(x, step)
	}
}

// TestFailsBeforeEncoding lets what encoding needs fail. Nothing counts as submitted then.
func TestFailsBeforeEncoding(t *testing.T) {
	for _, selector := range []string{
		"commandBufferWithUnretainedReferences", "computeCommandEncoderWithDispatchType:",
	} {
		t.Run(selector, func(t *testing.T) {
			d := openOn(t, newRuntime(t, sim.Options{}), metal.Options{}, rule{selector: selector, after: 1, times: 1})
			b := newBench(t, d)
			x, step := b.compile(b.chain(1)), b.step(benchRows)
			b.run(x, step)
			if n, err := d.Submit(x, step); err == nil {
				t.Errorf("got submission %d, want an error", n)
			}
			if n := b.submit(x, step); n != 2 {
				t.Errorf("got submission %d, want 2", n)
			}
			if err := d.Wait(t.Context(), 2); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWaitWhileEncodingFails has somebody wait for a submission whose command buffer is open while the next one cannot
// be encoded: what is open goes to the device all the same.
func TestWaitWhileEncodingFails(t *testing.T) {
	var d gpu.Device
	waited := make(chan error, 1)
	hook := func(m *metal.Message) {
		go func() { waited <- d.Wait(context.Background(), 2) }()
		eventually(t, func() bool { return metal.Finished(d) == 1 && metal.Wanted(d) == 2 })
		m.To = 0
	}
	r := newRuntime(t, sim.Options{})
	d = openOn(t, r, metal.Options{}, rule{
		selector: "computeCommandEncoderWithDispatchType:", after: 2, times: 1, hook: hook,
	})
	b := newBench(t, d)
	x, step := b.compile(b.chain(1)), b.step(benchRows)
	r.Inject(sim.Fault{Kind: sim.Slow, Delay: 200 * time.Millisecond})
	b.submit(x, step)
	b.submit(x, step)
	if n, err := d.Submit(x, step); err == nil {
		t.Errorf("got submission %d, want an error", n)
	}
	select {
	case err := <-waited:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the wait does not end")
	}
}

// TestHang has a command buffer never end. The device counts as lost after a while; all can be closed.
func TestHang(t *testing.T) {
	d := openSim(t, sim.Options{}, metal.Options{Timeout: 500 * time.Millisecond})
	b := newBench(t, d)
	x, step := b.compile(b.chain(2)), b.step(benchRows)
	b.run(x, step)
	d.Runtime().Inject(sim.Fault{Kind: sim.Hang})
	var last uint64
	for range gpu.MaxInFlight {
		last = b.submit(x, step)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := d.Wait(ctx, last); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that the context ends first", err)
	}
	if _, err := d.Submit(x, step); !errors.Is(err, gpu.ErrLost) { // waits for room
		t.Errorf("got %v, want %v", err, gpu.ErrLost)
	}
	if err := d.Wait(t.Context(), last); !errors.Is(err, gpu.ErrLost) || !strings.Contains(err.Error(), "no progress") {
		t.Errorf("got %v, want %v", err, gpu.ErrLost)
	}
	checkLost(t, b, x, step)
}

// TestCloseHangs closes a device that is stuck.
func TestCloseHangs(t *testing.T) {
	d := openSim(t, sim.Options{}, metal.Options{Timeout: 50 * time.Millisecond})
	b := newBench(t, d)
	x, step := b.compile(b.chain(2)), b.step(benchRows)
	d.Runtime().Inject(sim.Fault{Kind: sim.Hang})
	for range gpu.MaxInFlight {
		b.submit(x, step)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// TestSlow waits longer than a slice of the watch.
func TestSlow(t *testing.T) {
	d := openSim(t, sim.Options{}, metal.Options{})
	b := newBench(t, d)
	x, step := b.compile(b.chain(2)), b.step(benchRows)
	d.Runtime().Inject(sim.Fault{Kind: sim.Slow, Delay: 200 * time.Millisecond})
	b.run(x, step)
}

// TestRemoved takes the device away while it works.
func TestRemoved(t *testing.T) {
	d := openSim(t, sim.Options{}, metal.Options{})
	b := newBench(t, d)
	x, step := b.compile(b.chain(2)), b.step(benchRows)
	d.Runtime().Inject(sim.Fault{Kind: sim.DeviceRemoved, After: 1})
	b.run(x, step)
	var last uint64
	for range 3 {
		n, err := d.Submit(x, step)
		if err != nil {
			break
		}
		last = n
	}
	if err := d.Wait(t.Context(), last); !errors.Is(err, gpu.ErrLost) {
		t.Errorf("got %v, want %v", err, gpu.ErrLost)
	}
	checkLost(t, b, x, step)
}

// TestSharedIsNotDelayed has two submissions share a command buffer: the first is told of while the second runs.
func TestSharedIsNotDelayed(t *testing.T) {
	d := openSim(t, sim.Options{}, metal.Options{})
	b := newBench(t, d)
	x, step := b.compile(b.chain(2)), b.step(benchRows)
	b.run(x, step)
	d.Runtime().Inject(sim.Fault{Kind: sim.SlowPass, Delay: 300 * time.Millisecond, Times: -1})
	before := d.Runtime().Stats().CommandBuffers
	b.submit(x, step)
	n := b.submit(x, step)
	b.submit(x, step)
	if err := d.Wait(t.Context(), n); err != nil {
		t.Error(err)
	}
	if got := metal.Finished(d.Device); got != n {
		t.Errorf("submission %d has finished when %d was waited for", got, n)
	}
	if got := d.Runtime().Stats().CommandBuffers - before; got != 2 {
		t.Errorf("%d command buffers, want 2", got)
	}
}

// TestSharedFails fails a command buffer that two submissions share, after it has signalled the first: it is told of
// the second, and of the first from then on.
func TestSharedFails(t *testing.T) {
	d := openSim(t, sim.Options{}, metal.Options{})
	b := newBench(t, d)
	x, step := b.compile(b.chain(2)), b.step(benchRows)
	b.run(x, step)
	d.Runtime().Inject(sim.Fault{Kind: sim.Slow, Delay: 100 * time.Millisecond})
	d.Runtime().Inject(sim.Fault{
		Kind: sim.CommandFails, Code: 3, After: 1, Signals: true, Delay: 600 * time.Millisecond,
	})
	b.submit(x, step)
	n := b.submit(x, step)
	b.submit(x, step)
	if err := d.Wait(t.Context(), n); err != nil {
		t.Errorf("the first, signalled: %v", err)
	}
	for _, n := range []uint64{n + 1, n} {
		var ce *metal.CommandError
		if err := d.Wait(t.Context(), n); !errors.As(err, &ce) || ce.Code != 3 {
			t.Errorf("submission %d: got %v, want code 3", n, err)
		}
	}
	b.run(x, step)
}

// TestSharedCommandBuffer counts command buffers: one is committed at once, the next when it is full, the rest when
// somebody waits.
func TestSharedCommandBuffer(t *testing.T) {
	d := openSim(t, sim.Options{}, metal.Options{})
	b := newBench(t, d)
	x, step := b.compile(b.chain(2)), b.step(benchRows)
	metal.Built(d.Device)
	d.Runtime().Inject(sim.Fault{Kind: sim.Slow, Delay: 500 * time.Millisecond})
	var last uint64
	for range gpu.MaxInFlight {
		last = b.submit(x, step)
	}
	if n := d.Runtime().Stats().CommandBuffers; n != 2 {
		t.Errorf("%d command buffers were committed, want 2", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Wait(ctx, last); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if n := d.Runtime().Stats().CommandBuffers; n != 3 {
		t.Errorf("%d command buffers were committed once somebody waits, want 3", n)
	}
	if err := d.Wait(t.Context(), last); err != nil {
		t.Error(err)
	}
}

// TestWaiters waits from many goroutines while one submits.
func TestWaiters(t *testing.T) {
	d := openSim(t, sim.Options{}, metal.Options{})
	b := newBench(t, d)
	x, step := b.compile(b.chain(2)), b.step(benchRows)
	var wait sync.WaitGroup
	for range 50 {
		n := b.submit(x, step)
		wait.Go(func() {
			if err := d.Wait(context.Background(), n); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if n := metal.Finished(d.Device); n != 50 {
		t.Errorf("%d submissions finished, want 50", n)
	}
}

// TestGridsInFlight submits two replays with one step buffer, of which two rows of four are live. The grid of the first
// is cut to these; that of the second is whole, since the first may change the record before the second runs.
func TestGridsInFlight(t *testing.T) {
	r := newRuntime(t, sim.Options{})
	var grids [][3]uint
	d := openOn(t, r, metal.Options{}, rule{
		selector: "dispatchThreadgroups:threadsPerThreadgroup:",
		hook: func(m *metal.Message) {
			grids = append(grids, *(*[3]uint)(*(*unsafe.Pointer)(unsafe.Pointer(&m.Args[0]))))
		},
	})
	b := newBench(t, d)
	p := b.chain(1)
	if len(p.Ops[0].Limits) == 0 {
		t.Fatal("the kernel has no limit")
	}
	x, step := b.compile(p), b.step(2)
	r.Inject(sim.Fault{Kind: sim.Slow, Delay: 500 * time.Millisecond})
	b.submit(x, step)
	b.run(x, step)
	b.run(x, step)
	whole := [3]uint{uint(p.Ops[0].Grid[0]), uint(p.Ops[0].Grid[1]), uint(p.Ops[0].Grid[2])}
	if len(grids) != 3 || grids[0] == whole || grids[1] != whole || grids[2] != grids[0] {
		t.Errorf("grids %v, want the first and the last cut, the other %v", grids, whole)
	}
}

// TestFailuresAreForgotten lets many command buffers fail: only the last are remembered.
func TestFailuresAreForgotten(t *testing.T) {
	d := openSim(t, sim.Options{}, metal.Options{})
	b := newBench(t, d)
	x, step := b.compile(b.chain(1)), b.step(benchRows)
	d.Runtime().Inject(sim.Fault{Kind: sim.CommandFails, Code: 3, Times: 5 * metal.KeptFailures})
	for range 5 * metal.KeptFailures {
		n := b.submit(x, step)
		if err := d.Wait(t.Context(), n); err == nil {
			t.Fatalf("submission %d did not fail", n)
		}
		if err := d.Wait(t.Context(), n); err == nil { // asked again
			t.Fatalf("submission %d did not fail when it was asked again", n)
		}
	}
	if n := metal.Failures(d.Device); n != metal.KeptFailures {
		t.Errorf("%d failures are remembered, want %d", n, metal.KeptFailures)
	}
	b.run(x, step)
}

// TestSpoiltSizes lets the receiver of a dispatch change the sizes that it is given by address, as the calling
// convention allows: the next replay is not changed by it.
func TestSpoiltSizes(t *testing.T) {
	r := newRuntime(t, sim.Options{})
	var kept []*[2][3]uint // while messages point to them
	spoil := func(m *metal.Message) {
		sizes := &[2][3]uint{}
		for i := range sizes {
			at := (*[3]uint)(*(*unsafe.Pointer)(unsafe.Pointer(&m.Args[i])))
			sizes[i], *at = *at, [3]uint{1 << 40, 0, 7}
			m.Args[i] = uintptr(unsafe.Pointer(&sizes[i]))
		}
		kept = append(kept, sizes)
	}
	d := openOn(t, r, metal.Options{}, rule{selector: "dispatchThreadgroups:threadsPerThreadgroup:", hook: spoil})
	b := newBench(t, d)
	x, step := b.compile(b.mixed()), b.step(benchRows)
	b.run(x, step)
	first := bytes.Clone(b.buffers[b.act].Bytes())
	b.reset()
	b.run(x, step)
	if !bytes.Equal(first, b.buffers[b.act].Bytes()) {
		t.Error("the second replay differs")
	}
}
