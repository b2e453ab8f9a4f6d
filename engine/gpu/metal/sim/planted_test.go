//go:build linux && amd64

package sim_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sotto/engine/gpu"
	"sotto/engine/gpu/gputest"
	"sotto/engine/gpu/metal"
	"sotto/engine/gpu/metal/sim"
	"sotto/kernels"
)

// spoiler changes messages of the driver on their way to the runtime.
type spoiler struct {
	*sim.Runtime
	spoil func(selector string, m *metal.Message) (times int)
	names sync.Map    // of selectors
	on    atomic.Bool // once the device is open
}

func (s *spoiler) Selector(name string) metal.Sel {
	sel := s.Runtime.Selector(name)
	s.names.Store(sel, name)
	return sel
}

func (s *spoiler) Send(m *metal.Message) uintptr {
	changed := *m
	r := uintptr(0)
	for range s.times(&changed) {
		r = s.Runtime.Send(&changed)
	}
	return r
}

func (s *spoiler) times(m *metal.Message) int {
	name, ok := s.names.Load(m.Sel)
	if !ok || !s.on.Load() {
		return 1
	}
	return s.spoil(name.(string), m)
}

func (s *spoiler) SendAll(ms []metal.Message) {
	for i := range ms {
		s.Send(&ms[i])
	}
}

// TestPlanted runs a chain of norms through the driver with one mistake planted into its messages: each is found.
func TestPlanted(t *testing.T) {
	const encode = "setBuffers:offsets:withRange:"
	for _, tt := range []struct {
		name  string
		os    metal.System
		spoil func(r *sim.Runtime, selector string, m *metal.Message) int
		want  string // "": nothing is wrong
	}{
		{"nothing", metal.System{}, func(*sim.Runtime, string, *metal.Message) int { return 1 }, ""},
		{"wrong selector", metal.System{}, func(r *sim.Runtime, selector string, m *metal.Message) int {
			if selector == encode {
				m.Sel = r.Selector("setBuffers:offset:withRange:")
			}
			return 1
		}, "unrecognized selector"},
		{"wrong argument count", metal.System{}, func(_ *sim.Runtime, selector string, m *metal.Message) int {
			if selector == encode {
				m.Count = 3
			}
			return 1
		}, "sent with 3 words of arguments, it takes 4"},
		{"missing barriers", metal.System{}, func(_ *sim.Runtime, selector string, _ *metal.Message) int {
			if selector == "memoryBarrierWithScope:" {
				return 0
			}
			return 1
		}, "with no barrier between them"},
		{"missing fence", metal.System{}, func(_ *sim.Runtime, selector string, _ *metal.Message) int {
			if selector == "waitForFence:" {
				return 0
			}
			return 1
		}, "no fence or event orders them"},
		{"fence waited for too late", metal.System{}, func(r *sim.Runtime, selector string, m *metal.Message) int {
			if selector == "updateFence:" {
				r.Send(m)
				m.Sel = r.Selector("waitForFence:")
			}
			return 1
		}, "cannot wait for it any more"},
		{"removal from a residency set not committed", metal.System{}, uncommitted(), "while it is in a residency set"},
		{"over-release", metal.System{}, func(_ *sim.Runtime, selector string, _ *metal.Message) int {
			if selector == "release" {
				return 2
			}
			return 1
		}, "release"},
		{"leak", metal.System{}, func(_ *sim.Runtime, selector string, _ *metal.Message) int {
			if selector == "release" {
				return 0
			}
			return 1
		}, "never released"},
		{"too new a selector", macOS14, func(r *sim.Runtime, selector string, m *metal.Message) int {
			if selector == "commit" {
				m.Sel, m.Count = r.Selector("useResidencySet:"), 1
			}
			return 1
		}, "exists since macOS 15.0, this is 14.7"},
		{"no end of encoding", metal.System{}, func(_ *sim.Runtime, selector string, _ *metal.Message) int {
			if selector == "endEncoding" {
				return 0
			}
			return 1
		}, "without endEncoding"},
		{"an argument left out", metal.System{}, func(_ *sim.Runtime, selector string, m *metal.Message) int {
			if selector == encode {
				m.Args[3]--
			}
			return 1
		}, "is not bound"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &spoiler{}
			s.spoil = func(selector string, m *metal.Message) int { return tt.spoil(s.Runtime, selector, m) }
			dev, err := sim.OpenThrough(sim.Options{OS: tt.os}, metal.Options{Timeout: 200e6},
				func(r *sim.Runtime) metal.Messenger {
					s.Runtime = r
					return s
				})
			if err != nil {
				t.Fatal(err)
			}
			s.on.Store(true)
			chain(t, dev)
			err = dev.Close()
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got %v, want no error", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// uncommitted leaves out the commit of a residency set after a removal.
func uncommitted() func(*sim.Runtime, string, *metal.Message) int {
	var set metal.ID
	return func(_ *sim.Runtime, selector string, m *metal.Message) int {
		switch {
		case selector == "removeAllocation:":
			set = m.To
		case selector == "commit" && m.To == set:
			return 0
		}
		return 1
	}
}

// chain frees a buffer and submits three norms, each of which reads what the one before wrote, four times without a
// wait between. Ranges begin at different places, so that a hazard is only seen by who knows where they end.
func chain(t *testing.T, dev gpu.Device) {
	t.Helper()
	l, err := kernels.RMSNorm{DType: kernels.F32, Rows: 4, D: 64, Eps: 1e-5}.Launch()
	if err != nil {
		t.Fatal(err)
	}
	const size = 4 * 64 * 4
	act, w := &gpu.Region{Name: "act", Size: 8 * size}, &gpu.Region{Name: "w", Size: 128}
	bind := map[*gpu.Region]gpu.Buffer{}
	for _, r := range []*gpu.Region{act, w} {
		if bind[r], err = dev.Alloc(r.Size); err != nil {
			t.Fatal(err)
		}
	}
	gone, err := dev.Alloc(size)
	if err != nil {
		t.Fatal(err)
	}
	gone.Free()
	step, err := dev.Alloc(kernels.StepBytes)
	if err != nil {
		t.Fatal(err)
	}
	copy(step.Bytes(), gputest.U32Bytes([]uint32{0, 4, 1}))
	p := &gpu.Program{Name: "chain", Rows: 4}
	for i := range int64(3) {
		// Each reads from the middle of what the one before wrote.
		p.Ops = append(p.Ops, gpu.Op{Launch: l, Label: "norm", Args: []gpu.Slice{
			{Region: gpu.Step, Len: kernels.RingOffset},
			{Region: act, Off: i * 3 * size / 2, Len: size},
			{Region: w, Len: 128},
			{Region: act, Off: i*3*size/2 + size, Len: size},
		}})
	}
	x, err := dev.Compile(t.Context(), p, bind)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5e9)
	defer cancel()
	for range 4 {
		n, err := dev.Submit(x, step)
		if err != nil {
			return // a planted mistake may be seen by the driver too
		}
		defer func() { _ = dev.Wait(ctx, n) }()
	}
}
