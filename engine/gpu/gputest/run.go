package gputest

import (
	"fmt"
	"testing"

	"sotto/engine/gpu"
)

// Run checks a driver against the contract of [gpu.Device]. The device that open returns has the kernels of the
// catalogue; open closes it when the test ends. What only some drivers promise has functions of its own:
// [RunNoAlloc].
func Run(t *testing.T, open func(t *testing.T) gpu.Device) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, dev gpu.Device)
	}{
		{"caps", checkCaps},
		{"alloc", checkAlloc},
		{"alloc refused", checkAllocRefused},
		{"map", checkMap},
		{"live bytes", checkLive},
		{"chain of dependent ops", checkChain},
		{"independent ops", checkIndependent},
		{"fork and join", checkForkJoin},
		{"optional argument", checkUnbound},
		{"order of submissions", checkOrder},
		{"many submissions in flight", checkInFlight},
		{"wait that is given up", checkCancel},
		{"wait for what does not exist", checkWaitUnknown},
		{"another step buffer", checkStep},
		{"limits save work only", checkLimits},
		{"compile refused", checkCompileRefused},
		{"submit refused", checkSubmitRefused},
		{"use after close", checkClosed},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

// RunNoAlloc checks that a replay makes no garbage.
func RunNoAlloc(t *testing.T, dev gpu.Device) {
	b := newBench(t, dev)
	x := b.compile(b.chain(3))
	step := b.step(StepRecord{}.live(benchRows))
	if n := testing.AllocsPerRun(200, func() {
		n, err := dev.Submit(x, step)
		if err == nil {
			err = dev.Wait(t.Context(), n)
		}
		if err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("got %v allocations for a submission and a wait, want none", n)
	}
}

// BenchReplay measures a submission and its wait: the fixed cost, and the cost of a stage, since every op of the
// longer program depends on the one before it.
func BenchReplay(b *testing.B, dev gpu.Device) {
	for _, ops := range []int{1, 300} {
		b.Run(fmt.Sprintf("ops=%d", ops), func(b *testing.B) {
			s := newBench(b, dev)
			p := &gpu.Program{Name: "to and fro", Rows: benchRows}
			for i := range ops {
				p.Ops = append(p.Ops, s.norm(s.slot(i%2), s.slot((i+1)%2)))
			}
			x, step := s.compile(p), s.step(StepRecord{}.live(1))
			defer x.Free()
			for b.Loop() {
				s.run(x, step)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*ops), "ns/stage")
		})
	}
}

func checkCaps(t *testing.T, dev gpu.Device) {
	c := dev.Caps()
	if c.Driver == "" || c.Name == "" || c.Tier == "" {
		t.Errorf("got %+v, want driver, name and tier", c)
	}
	if c.SIMD != 1 && c.SIMD != 32 {
		t.Errorf("got %d lanes, want 1 or 32", c.SIMD)
	}
	if c.MaxGroup < 8 || c.MaxGroup > gpu.MaxSimdgroups || c.Chunk < 16 || c.MemoryLimit < 0 {
		t.Errorf("got %+v, want 8 to %d simdgroups, a chunk and a limit", c, gpu.MaxSimdgroups)
	}
}
