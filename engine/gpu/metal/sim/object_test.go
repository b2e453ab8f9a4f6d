//go:build linux && amd64

package sim_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"

	"sotto/engine/gpu"
	"sotto/engine/gpu/gputest"
	"sotto/engine/gpu/metal"
	"sotto/engine/gpu/metal/sim"
	"sotto/kernels"
)

func TestReferences(t *testing.T) {
	for _, tt := range []struct {
		name                    string
		send                    func(c *client)
		class, selector, reason string
	}{
		{"balanced", func(c *client) {
			o := c.options()
			c.send(o, "retain")
			c.send(o, "release")
			c.send(o, "release")
		}, "", "", ""},
		{"over-release", func(c *client) {
			b := c.buffer(16, 0)
			c.send(b, "release")
			c.send(b, "release")
		}, "", "release", "was used after its release (MTLBuffer"},
		{
			"release of what belongs to the pool", func(c *client) { c.send(c.str("a"), "release") },
			"NSString", "release", "released more often than it was retained",
		},
		{
			"autorelease of what belongs to the pool", func(c *client) { c.send(c.str("a"), "autorelease") },
			"NSString", "autorelease", "autoreleased more often",
		},
		{"use after release", func(c *client) {
			o := c.options()
			c.send(o, "release")
			c.options() // in the same place
			c.send(o, "languageVersion")
		}, "", "languageVersion", "was used after its release"},
		{"argument after release", func(c *client) {
			o := c.options()
			c.send(o, "release")
			c.send(c.dev, "newLibraryWithSource:options:error:", uintptr(c.str("")), uintptr(o), 0)
		}, "MTLDevice", "newLibraryWithSource:options:error:", "the argument"},
		{"use of what only others hold", func(c *client) {
			f := c.get(c.library("kernel void f() {}", 0), "newFunctionWithName:", uintptr(c.str("f")))
			d := c.get(c.class("MTLComputePipelineDescriptor"), "new")
			c.send(d, "setComputeFunction:", uintptr(f))
			c.send(f, "release")
			c.send(f, "name")
		}, "", "name", "after its last reference was given back"},
		{"use after the pool", func(c *client) {
			p := c.r.PushPool()
			s := c.str("a")
			c.r.PopPool(p)
			c.send(s, "length")
		}, "", "length", "was used after its release (NSString"},
		{"retained beyond the pool", func(c *client) {
			p := c.r.PushPool()
			s := c.get(c.str("a"), "retain")
			c.r.PopPool(p)
			c.send(s, "length")
			c.send(s, "release")
		}, "", "", ""},
		{"classes are not counted", func(c *client) {
			for range 3 {
				c.send(c.class("NSString"), "release")
			}
			c.send(c.class("NSString"), "retain")
		}, "", "", ""},
		{"pools out of order", func(c *client) {
			p := c.r.PushPool()
			q := c.r.PushPool()
			c.r.PopPool(p)
			c.r.PopPool(q)
			c.r.PopPool(p)
		}, "", "", "not closed in the order of opening"},
		{"no pool", func(c *client) {
			c.r.PopPool(c.pool)
			c.str("a")
			c.pool = c.r.PushPool()
		}, "NSString", "stringWithUTF8String:", "with no pool in place"},
		{"pool of another thread", func(c *client) {
			p := c.r.PushPool()
			done := make(chan struct{})
			go func() {
				runtime.LockOSThread()
				c.r.PopPool(p)
				close(done)
			}()
			<-done
			c.r.PopPool(p)
		}, "", "", "on another thread"},
		{"buffer in a resident set", func(c *client) {
			set, b := c.residencySet(), c.buffer(16, 0)
			c.send(set, "addAllocation:", uintptr(b))
			c.send(set, "commit")
			c.send(set, "requestResidency")
			c.send(b, "release")
		}, "MTLBuffer", "release", "in a residency set"},
		{"buffer taken out of its set", func(c *client) {
			set, b := c.residencySet(), c.buffer(16, 0)
			for _, selector := range []string{"addAllocation:", "removeAllocation:"} {
				c.send(set, selector, uintptr(b))
				c.send(set, "commit")
				c.send(set, "requestResidency")
			}
			c.send(b, "release")
			c.send(set, "endResidency")
			c.send(set, "release")
		}, "", "", ""},
		{"buffer twice in a set", func(c *client) {
			set, b := c.residencySet(), c.buffer(16, 0)
			c.send(set, "addAllocation:", uintptr(b))
			c.send(set, "addAllocation:", uintptr(b))
		}, "MTLResidencySet", "addAllocation:", "in the set already"},
		{"buffer that is not in the set", func(c *client) {
			c.send(c.residencySet(), "removeAllocation:", uintptr(c.buffer(16, 0)))
		}, "MTLResidencySet", "removeAllocation:", "not in the set"},
		{"set that is not committed", func(c *client) {
			set := c.residencySet()
			c.send(set, "addAllocation:", uintptr(c.buffer(16, 0)))
			c.send(set, "requestResidency")
		}, "MTLResidencySet", "requestResidency", "not committed"},
		{"set of a queue", func(c *client) {
			set, q := c.residencySet(), c.get(c.dev, "newCommandQueue")
			c.send(q, "addResidencySet:", uintptr(set))
			c.send(q, "addResidencySet:", uintptr(set))
		}, "MTLCommandQueue", "addResidencySet:", "already"},
		{"set that the queue does not have", func(c *client) {
			c.send(c.get(c.dev, "newCommandQueue"), "removeResidencySet:", uintptr(c.residencySet()))
		}, "MTLCommandQueue", "removeResidencySet:", "does not have"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := begin(t, sim.Options{})
			tt.send(c)
			if tt.reason == "" {
				c.right()
			} else {
				c.wrong(tt.class, tt.selector, tt.reason)
			}
		})
	}
}

func (c *client) residencySet() metal.ID {
	d := c.get(c.class("MTLResidencySetDescriptor"), "new")
	return c.get(c.dev, "newResidencySetWithDescriptor:error:", uintptr(d), 0)
}

// TestVerdict closes a runtime on which much is left.
func TestVerdict(t *testing.T) {
	r, err := sim.New(sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, r: r, dev: r.DefaultDevice()}
	if c.dev != r.DefaultDevice() {
		t.Error("got another device the second time")
	}
	c.buffer(16, 0)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r.PushPool()
	c.send(c.dev, "commit")
	if n := len(r.Live()); n != 2 {
		t.Errorf("got %d live objects, want the device and a buffer", n)
	}
	err = r.Close()
	for _, want := range []string{
		"[MTLDevice commit]: unrecognized selector", "never released: MTLBuffer", "MTLDevice", "held 2 times",
		"never popped",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	if err := r.Close(); err != nil {
		t.Errorf("got %v the second time", err)
	}
}

// TestNothingIsLeft submits a thousand times and looks what is there.
func TestNothingIsLeft(t *testing.T) {
	dev := openBuilt(t, sim.Options{})
	x, step := normProgram(t, dev)
	run := func(n int) {
		for i := range n {
			last, err := dev.Submit(x, step)
			if err != nil {
				t.Fatal(err)
			}
			if i%3 == 0 {
				if err := dev.Wait(t.Context(), last); err != nil {
					t.Fatal(err)
				}
			}
			if i == n-1 {
				if err := dev.Wait(t.Context(), last); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	run(10)
	before := len(dev.Runtime().Live())
	run(1000)
	if got := len(dev.Runtime().Live()); got != before {
		t.Errorf("got %d objects after 1,000 submissions, %d before", got, before)
	}
	if st := dev.Runtime().Stats(); st.Programs > 3 {
		t.Errorf("got %d programs for one", st.Programs)
	}
}

// normProgram compiles one norm.
func normProgram(t testing.TB, dev gpu.Device) (gpu.Exec, gpu.Buffer) {
	t.Helper()
	act, w := &gpu.Region{Name: "act", Size: 2 * slotBytes}, &gpu.Region{Name: "w", Size: slotBytes}
	bind := map[*gpu.Region]gpu.Buffer{}
	var err error
	for _, r := range []*gpu.Region{act, w} {
		if bind[r], err = dev.Alloc(r.Size); err != nil {
			t.Fatal(err)
		}
	}
	step, err := dev.Alloc(kernels.StepBytes)
	if err != nil {
		t.Fatal(err)
	}
	copy(step.Bytes(), gputest.U32Bytes([]uint32{0, 1, 1}))
	ctx := t.Context()
	x, err := dev.Compile(ctx, &gpu.Program{Name: "norm", Rows: 1, Ops: []gpu.Op{{Launch: norm, Args: []gpu.Slice{
		{Region: gpu.Step, Len: kernels.RingOffset},
		{Region: act, Len: slotBytes},
		{Region: w, Len: 128},
		{Region: act, Off: slotBytes, Len: slotBytes},
	}}}}, bind)
	if err != nil {
		t.Fatal(err)
	}
	return x, step
}

// TestThreads makes and gives back objects on many threads while work runs.
func TestThreads(t *testing.T) {
	s := newScene(t, sim.Options{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			c := &client{t: t, r: s.r, dev: s.dev}
			for range 50 {
				p := s.r.PushPool()
				b := c.buffer(4096, untracked)
				c.bytes(b)[7] = 1
				if got := c.text(c.get(c.dev, "name")); got != "Apple M4" {
					t.Errorf("got %q", got)
				}
				c.send(b, "release")
				s.r.PopPool(p)
			}
		})
	}
	for i := range uintptr(50) {
		p := s.r.PushPool()
		s.command()
		s.bind(0, 1)
		s.dispatch()
		s.end()
		if !s.run(1 + i) {
			t.Error("no signal")
		}
		s.r.PopPool(p)
	}
	all.Wait()
	s.right()
}

// TestWaits gives up waiting in time.
func TestWaits(t *testing.T) {
	s := newScene(t, sim.Options{Inject: []sim.Fault{{Kind: sim.Slow, Delay: 50e6}}})
	s.command()
	s.bind(0, 1)
	s.dispatch()
	s.end()
	s.send(s.cmd, "encodeSignalEvent:value:", uintptr(s.event), 3)
	if got := s.send(s.event, "waitUntilSignaledValue:timeoutMS:", 3, 0); got != 0 {
		t.Error("a value that nobody has signalled is there")
	}
	s.send(s.cmd, "commit")
	if got := s.send(s.event, "waitUntilSignaledValue:timeoutMS:", 3, 1); got != 0 {
		t.Error("a slow command buffer was fast")
	}
	var all sync.WaitGroup
	for v := range uintptr(4) {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			defer s.r.PopPool(s.r.PushPool())
			if got := s.send(s.event, "waitUntilSignaledValue:timeoutMS:", v, 1<<62); got != 1 {
				t.Errorf("value %d is not there", v)
			}
		})
	}
	all.Wait()
	s.send(s.event, "setSignaledValue:", 9)
	if got := s.send(s.event, "waitUntilSignaledValue:timeoutMS:", 9, 0); got != 1 {
		t.Error("a value that the program has set is not there")
	}
	s.send(s.cmd, "waitUntilCompleted")
	s.right()
}

// TestQueueIsFull waits for room in a queue.
func TestQueueIsFull(t *testing.T) {
	s := newScene(t, sim.Options{Inject: []sim.Fault{{Kind: sim.Slow, Delay: 20e6}}})
	for i := range uintptr(9) { // the queue takes 4
		s.command()
		s.bind(0, 1)
		s.dispatch()
		s.end()
		s.send(s.cmd, "encodeSignalEvent:value:", uintptr(s.event), i+1)
		s.send(s.cmd, "commit")
		if s.send(s.event, "waitUntilSignaledValue:timeoutMS:", i, 5000) != 1 {
			t.Fatal("no signal")
		}
		s.violations() // these norms all write the same without an order
	}
	if s.send(s.event, "waitUntilSignaledValue:timeoutMS:", 9, 5000) != 1 {
		t.Fatal("no signal")
	}
}

// TestContext ends a wait by its context while the device works on.
func TestContext(t *testing.T) {
	dev := open(t, sim.Options{Inject: []sim.Fault{{Kind: sim.Slow, Delay: 30e6}}})
	x, step := normProgram(t, dev)
	n, err := dev.Submit(x, step)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := dev.Wait(ctx, n); err == nil {
		t.Error("a wait without time got a result")
	}
	if err := dev.Wait(t.Context(), n); err != nil {
		t.Error(err)
	}
}

// TestRowClasses compiles one op for four rows and for one, whose ranges begin at the same places: each dispatch is
// known by its own.
func TestRowClasses(t *testing.T) {
	dev := open(t, sim.Options{})
	act, w := &gpu.Region{Name: "act", Size: 16 * slotBytes}, &gpu.Region{Name: "w", Size: slotBytes}
	bind := map[*gpu.Region]gpu.Buffer{}
	var err error
	for _, r := range []*gpu.Region{act, w} {
		if bind[r], err = dev.Alloc(r.Size); err != nil {
			t.Fatal(err)
		}
	}
	op := func(rows int, x, y int64) gpu.Op {
		l, err := kernels.RMSNorm{DType: kernels.F32, Rows: rows, D: 64, Eps: 1e-5}.Launch()
		if err != nil {
			t.Fatal(err)
		}
		return gpu.Op{Launch: l, Args: []gpu.Slice{
			{Region: gpu.Step, Len: kernels.RingOffset},
			{Region: act, Off: x * slotBytes, Len: int64(rows) * slotBytes},
			{Region: w, Len: 128},
			{Region: act, Off: y * slotBytes, Len: int64(rows) * slotBytes},
		}}
	}
	step, err := dev.Alloc(kernels.StepBytes)
	if err != nil {
		t.Fatal(err)
	}
	for live := range uint32(5) {
		copy(step.Bytes(), gputest.U32Bytes([]uint32{0, live, 1}))
		for _, p := range []*gpu.Program{
			{Name: "four", Rows: 4, Ops: []gpu.Op{op(4, 0, 4), op(4, 4, 8)}},
			{Name: "one", Rows: 1, Ops: []gpu.Op{op(1, 0, 4), op(1, 1, 5), op(1, 2, 6)}}, // side by side
		} {
			x, err := dev.Compile(t.Context(), p, bind)
			if err != nil {
				t.Fatal(err)
			}
			n, err := dev.Submit(x, step)
			if err == nil {
				err = dev.Wait(t.Context(), n)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if v := dev.Runtime().Violations(); len(v) > 0 {
		t.Errorf("got violations %v", v)
	}
}
