//go:build linux && amd64

package metal_test

import (
	"strings"
	"sync"
	"testing"

	"sotto/engine/gpu"
	"sotto/engine/gpu/metal"
	"sotto/engine/gpu/metal/sim"
)

// spoiler changes messages on their way, as a mistake in the driver would.
type spoiler struct {
	*sim.Runtime
	selectors map[string]metal.Sel
	change    func(s *spoiler, m *metal.Message) (again bool) // again: sent twice
	drop      string
	leak      bool     // no autorelease pools
	commands  sync.Map // command buffers
}

func (s *spoiler) Selector(name string) metal.Sel {
	sel := s.Runtime.Selector(name)
	s.selectors[name] = sel
	return sel
}

func (s *spoiler) Send(m *metal.Message) uintptr {
	if s.drop != "" && m.Sel == s.selectors[s.drop] {
		return 0
	}
	changed := *m
	again := s.change != nil && s.change(s, &changed)
	r := s.Runtime.Send(&changed)
	if again {
		s.Runtime.Send(&changed)
	}
	if m.Sel == s.selectors["commandBufferWithUnretainedReferences"] {
		s.commands.Store(metal.ID(r), true)
	}
	return r
}

func (s *spoiler) PushPool() uintptr {
	if s.leak {
		return 0
	}
	return s.Runtime.PushPool()
}

func (s *spoiler) PopPool(pool uintptr) {
	if !s.leak {
		s.Runtime.PopPool(pool)
	}
}

func (s *spoiler) SendAll(ms []metal.Message) {
	for i := range ms {
		s.Send(&ms[i])
	}
}

// TestPlantedMistakes plants one mistake at a time: each is found.
func TestPlantedMistakes(t *testing.T) {
	become := func(from, to string) func(*spoiler, *metal.Message) bool {
		return func(s *spoiler, m *metal.Message) bool {
			if m.Sel == s.selectors[from] {
				m.Sel = s.Runtime.Selector(to)
			}
			return false
		}
	}
	for _, c := range []struct {
		name   string
		os     metal.System
		change func(s *spoiler, m *metal.Message) bool
		drop   string
		leak   bool
		want   string
	}{
		{name: "nothing"},
		{name: "wrong selector", change: become("endEncoding", "endEncodings"), want: "endEncodings"},
		{name: "wrong number of arguments", change: func(s *spoiler, m *metal.Message) bool {
			if m.Sel == s.selectors["memoryBarrierWithScope:"] {
				m.Count = 2
			}
			return false
		}, want: "memoryBarrierWithScope:"},
		{name: "no barrier", drop: "memoryBarrierWithScope:", want: "no barrier"},
		{name: "no fence waited for", drop: "waitForFence:", want: "order"},
		{name: "no fence updated", drop: "updateFence:", want: "order"},
		{name: "released twice", change: func(s *spoiler, m *metal.Message) bool {
			return m.Sel == s.selectors["release"]
		}, want: "release"},
		{name: "never released", drop: "release", want: "never released"},
		{
			name: "too new", os: metal.System{Major: 14, Minor: 0, Build: "23A344"},
			change: become("setFastMathEnabled:", "setMathMode:"), want: "exists since macOS 15",
		},
		{name: "fast math", change: func(s *spoiler, m *metal.Message) bool {
			if m.Sel == s.selectors["setMathMode:"] {
				m.Args[0] = 2
			}
			return false
		}, want: "fast math"},
		{name: "no language", drop: "setLanguageVersion:", want: "language"},
		{name: "an encoder left open", drop: "endEncoding", want: "without endEncoding"},
		{name: "committed twice", change: func(s *spoiler, m *metal.Message) bool {
			_, command := s.commands.Load(m.To)
			return command && m.Sel == s.selectors["commit"]
		}, want: "committed twice"},
		{name: "no pools", leak: true, want: "[MTLCommandBuffer commit]: sent with no autorelease pool"},
		{name: "residency not asked for", drop: "requestResidency", want: "not resident"},
		{name: "tracked memory unbound", drop: "setBuffers:offsets:withRange:", want: "not bound"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := mistakes(t, c.os, &spoiler{
				selectors: map[string]metal.Sel{}, change: c.change, drop: c.drop, leak: c.leak,
			})
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// mistakes runs two programs through a spoiler and returns what the runtime has against it.
func mistakes(t *testing.T, os metal.System, s *spoiler) string {
	t.Helper()
	r, err := sim.New(sim.Options{OS: os})
	if err != nil {
		t.Fatal(err)
	}
	s.Runtime = r
	d, err := metal.Open(metal.Options{Messenger: s})
	if err == nil {
		err = runTwice(t, d)
	}
	if err != nil {
		t.Log("the driver says: ", err)
	}
	if err := r.Close(); err != nil {
		return err.Error()
	}
	return ""
}

func runTwice(t *testing.T, d gpu.Device) error {
	t.Helper()
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	b := newBench(t, d)
	x, err := d.Compile(t.Context(), b.mixed(), b.buffers)
	if err != nil {
		return err
	}
	step := b.step(benchRows)
	var n uint64
	for range 3 { // the last two share a command buffer
		if n, err = d.Submit(x, step); err != nil {
			return err
		}
	}
	return d.Wait(t.Context(), n)
}

// TestNothingStays runs a thousand submissions and many programs and buffers, and counts objects.
func TestNothingStays(t *testing.T) {
	d := openSim(t, sim.Options{}, metal.Options{})
	metal.Built(d.Device)
	before, live, taken := len(metal.Held(d.Device)), len(d.Runtime().Live()), metal.Taken(d.Device)
	b := newBench(t, d)
	x, step := b.compile(b.mixed()), b.step(benchRows)
	var n uint64
	for i := range 1000 {
		n = b.submit(x, step)
		if i%50 == 0 {
			y := b.compile(b.chain(1 + i%7))
			extra := b.alloc(int64(1 + i))
			b.run(y, step)
			y.Free()
			extra.Free()
		}
	}
	if err := d.Wait(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	x.Free()
	step.Free()
	for _, buf := range b.buffers {
		buf.Free()
	}
	if got := metal.Taken(d.Device); got != taken || taken != gpu.ZeroBytes {
		t.Errorf("%d bytes are in use, %d before", got, taken)
	}
	sets := metal.Sets(d.Device) // made for the first buffer of each, and kept
	if got := len(metal.Held(d.Device)); got > before+sets {
		t.Errorf("%d objects are held, %d before: %v", got, before, metal.Held(d.Device)[before:])
	}
	if got := len(d.Runtime().Live()); got > live+sets {
		t.Errorf("%d objects live, %d before", got, live)
	}
}
