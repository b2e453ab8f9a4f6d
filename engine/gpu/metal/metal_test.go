//go:build linux && amd64

package metal_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"sotto/engine/gpu"
	"sotto/engine/gpu/gputest"
	"sotto/engine/gpu/host"
	"sotto/engine/gpu/metal"
	"sotto/engine/gpu/metal/sim"
)

// systems are the versions of macOS that the driver tells apart.
func systems() []metal.System {
	return []metal.System{
		{Major: 14, Minor: 0, Build: "23A344"},
		{Major: 15, Minor: 6, Build: "24G84"},
		{Major: 26, Minor: 1, Build: "25B78"},
		{Major: 26, Minor: 2, Build: "25C56"},
	}
}

func TestConformance(t *testing.T) {
	gputest.Run(t, func(t *testing.T) gpu.Device { return openSim(t, sim.Options{}, metal.Options{}) })
}

// TestConformanceOldest takes the paths without residency sets and math modes.
func TestConformanceOldest(t *testing.T) {
	gputest.Run(t, func(t *testing.T) gpu.Device {
		return openSim(t, sim.Options{OS: systems()[0], GPU: sim.M1}, metal.Options{})
	})
}

func TestNoGarbage(t *testing.T) {
	if raceEnabled {
		t.Skip("pools lose what is put into them under the race detector")
	}
	d := openSim(t, sim.Options{}, metal.Options{})
	metal.Built(d.Device)
	gputest.RunNoAlloc(t, d)
}

// TestKernelsThin runs one suite of each kind of access: plain ranges, chosen rows, the step record written.
func TestKernelsThin(t *testing.T) {
	d := openSim(t, sim.Options{}, metal.Options{})
	for _, s := range gputest.Suites() {
		if s.Name == "norm" || s.Name == "head" || s.Name == "route" {
			t.Run(s.Name, func(t *testing.T) { s.Run(t, d) })
		}
	}
}

// TestCaps opens every GPU on every system.
func TestCaps(t *testing.T) {
	for _, os := range systems() {
		for _, g := range sim.Profiles() {
			t.Run(g.Name+" "+os.String(), func(t *testing.T) {
				c := openSim(t, sim.Options{OS: os, GPU: g}, metal.Options{}).Caps()
				tier := "simdgroup"
				if g.Family == 10 && os.Major == 26 && os.Minor == 2 {
					tier = "tensor"
				}
				if c.Driver != "metal" || c.Name != g.Name || c.Tier != tier || c.TierReason == "" || c.SIMD != 32 ||
					c.MemoryLimit != g.WorkingSet {
					t.Errorf("got %+v, want tier %s of %+v", c, tier, g)
				}
			})
		}
	}
}

// TestEqualToHost compares what the driver leaves in memory with what the host driver does, byte for byte.
func TestEqualToHost(t *testing.T) {
	h, err := host.Open(host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	devices := []gpu.Device{h, openSim(t, sim.Options{}, metal.Options{})}
	var left [2][]byte
	for i, d := range devices {
		b := newBench(t, d)
		x, step := b.compile(b.mixed()), b.step(benchRows)
		for range 3 {
			b.run(x, step)
		}
		left[i] = bytes.Clone(b.buffers[b.act].Bytes())
	}
	if !bytes.Equal(left[0], left[1]) {
		t.Error("the two drivers leave different bytes")
	}
	if len(slices.Compact(left[0])) < 2 {
		t.Error("the program did nothing")
	}
}

// TestRefused opens devices that will not do. Nothing may be left of them.
func TestRefused(t *testing.T) {
	old := sim.M1
	old.Name, old.Family = "Apple A12Z", 6
	for _, c := range []struct {
		name    string
		options sim.Options
		fail    []rule
		want    error
		text    string
	}{
		{name: "no device", options: sim.Options{Inject: []sim.Fault{{Kind: sim.NoDevice}}}, want: metal.ErrNoDevice},
		{name: "old system", options: sim.Options{OS: metal.System{Major: 13, Minor: 6}}, want: metal.ErrOldSystem},
		{name: "old GPU", options: sim.Options{GPU: old}, want: metal.ErrOldDevice, text: "Apple A12Z"},
		{name: "no queue", options: sim.Options{Inject: []sim.Fault{{Kind: sim.QueueFails}}}, text: "command queue"},
		{name: "no event", fail: []rule{{selector: "newSharedEvent"}}, text: "event"},
		{name: "no fence", fail: []rule{{selector: "newFence"}}, text: "fence"},
		{
			name: "no memory", options: sim.Options{Inject: []sim.Fault{{Kind: sim.AllocationFails}}},
			want: gpu.ErrOutOfMemory,
		},
		{name: "no class", fail: []rule{{class: "MTLCompileOptions"}}, text: "MTLCompileOptions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRuntime(t, c.options)
			d, err := metal.Open(metal.Options{Messenger: &meddler{Messenger: r, runtime: r, rules: c.fail}})
			if err == nil {
				_ = d.Close() // the test has failed
				t.Fatal("opened")
			}
			var ge *gpu.Error
			if !errors.As(err, &ge) || ge.Op != "open metal" || c.want != nil && !errors.Is(err, c.want) ||
				!strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %v with %q", err, c.want, c.text)
			}
		})
	}
}

// TestNameless opens a device that does not say its name.
func TestNameless(t *testing.T) {
	for _, selector := range []string{"name", "UTF8String"} {
		d := openOn(t, newRuntime(t, sim.Options{}), metal.Options{}, rule{selector: selector})
		if c := d.Caps(); c.Name != "" || c.Chunk < 16 {
			t.Errorf("got %+v", c)
		}
	}
}

// TestSystemRuntime opens the real runtime, which only macOS has.
func TestSystemRuntime(t *testing.T) {
	if _, err := metal.Open(metal.Options{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v, want %v", err, errors.ErrUnsupported)
	}
}

// TestProbeFails opens an M5 on which tensor operations do not work: it serves with the lower tier.
func TestProbeFails(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules []rule
		fault sim.Fault
	}{
		{name: "source", rules: []rule{{selector: "newLibraryWithSource:options:error:", text: "probe_tensor"}}},
		{name: "pipeline", fault: sim.Fault{Kind: sim.PipelineFails, On: "probe_tensor"}},
		{name: "run", fault: sim.Fault{Kind: sim.CommandFails, Code: 3}},
		{name: "memory of a matrix", fault: sim.Fault{Kind: sim.AllocationFails, After: 2}},
		{name: "memory of the step", fault: sim.Fault{Kind: sim.AllocationFails, After: 4}},
		{name: "queue", fault: sim.Fault{Kind: sim.QueueFails}},
		{name: "command buffer", rules: []rule{{selector: "commandBufferWithUnretainedReferences", times: 1}}},
		{name: "product", rules: []rule{{selector: "dispatchThreadgroups:threadsPerThreadgroup:", times: 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRuntime(t, sim.Options{GPU: sim.M5})
			if c.fault.Kind != 0 {
				r.Inject(c.fault)
			}
			d := openOn(t, r, metal.Options{}, c.rules...)
			if got := d.Caps(); got.Tier != "simdgroup" || !strings.Contains(got.TierReason, "probe") {
				t.Errorf("got tier %s: %s", got.Tier, got.TierReason)
			}
			b := newBench(t, d)
			if n := b.submit(b.compile(b.chain(1)), b.step(benchRows)); n != 1 {
				t.Errorf("the first submission is number %d", n)
			}
		})
	}
}
