//go:build linux && amd64

package host_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"sotto/engine/gpu"
	"sotto/engine/gpu/gputest"
	"sotto/engine/gpu/host"
	"sotto/kernels"
)

// BenchmarkSample measures the end of a pass on one thread of the fast build: two launches of the sampler.
func BenchmarkSample(b *testing.B) {
	for _, n := range []int{4096, 248320} {
		for _, c := range []struct {
			name string
			p    kernels.StepParams
		}{
			{"greedy", kernels.StepParams{Greedy: 1}},
			{"temperature", kernels.StepParams{Temp: 0.7, TopP: 1}},
			{"top-k 20", kernels.StepParams{Temp: 0.7, TopK: 20, TopP: 0.8}},
			{"top-p", kernels.StepParams{Temp: 0.7, TopP: 0.95}},
			{"wide top-p", kernels.StepParams{Temp: 0.7, TopP: 0.9999}},
			{"alternatives", kernels.StepParams{Greedy: 1, Alts: 20, Logprobs: 1}},
		} {
			b.Run(fmt.Sprintf("N=%d/%s", n, c.name), func(b *testing.B) { benchSample(b, n, c.p) })
		}
	}
}

func benchSample(b *testing.B, n int, p kernels.StepParams) {
	dev := open(b, host.Options{Library: *fastFlag, Threads: 1})
	s := kernels.Sampler{N: n, Parts: 1}
	arena := &benchArena{bind: map[*gpu.Region]gpu.Buffer{}, dev: dev}
	l := gputest.Normal(gputest.Rand("logits"), kernels.F32, n)
	best := 0
	for i := range l {
		l[i] *= 3
		if l[i] > l[best] {
			best = i
		}
	}
	logits := arena.add(b, "logits", gputest.F32Bytes(l))
	part := arena.add(b, "part", append(gputest.F32Bytes(l[best:best+1]), gputest.U32Bytes([]uint32{uint32(best)})...))
	stats := arena.add(b, "stats", make([]byte, s.StatsBytes()))
	lists := arena.add(b, "lists", make([]byte, s.ListBytes()))
	step := gpu.Slice{Region: gpu.Step, Len: kernels.StepBytes}
	prog := &gpu.Program{Name: "sample", Rows: 1}
	add := func(launch func() (kernels.Launch, error), args ...gpu.Slice) {
		l, err := launch()
		if err != nil {
			b.Fatal(err)
		}
		prog.Ops = append(prog.Ops, gpu.Op{Launch: l, Args: args})
	}
	add(s.Process, step, logits, part, stats, lists)
	add(s.Final, step, logits, part, stats, lists)
	exec, err := dev.Compile(b.Context(), prog, arena.bind)
	if err != nil {
		b.Fatal(err)
	}
	p.Active, p.Rows, p.Limit = 1, 1, 1<<31
	buf := arena.alloc(b, kernels.StepBytes)
	if _, err := binary.Encode(buf.Bytes(), binary.LittleEndian, p); err != nil {
		b.Fatal(err)
	}
	spent := processorSeconds(b)
	for b.Loop() {
		n, err := dev.Submit(exec, buf)
		if err == nil {
			err = dev.Wait(b.Context(), n)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((processorSeconds(b)-spent)/float64(b.N)*1e6, "cpu-us/op")
}
