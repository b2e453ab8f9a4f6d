//go:build linux && amd64

package host_test

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"syscall"
	"testing"

	"sotto/engine/gpu"
	"sotto/engine/gpu/gputest"
	"sotto/engine/gpu/host"
	"sotto/kernels"
)

// BenchmarkGemv measures the rate of dense matrices on the fast build: bytes of weights read (codes, scales and
// biases) and arithmetic, by the clock and by the processor time that was spent, which other work on the machine
// disturbs less. Each pass runs matrices of different weights, 8 MiB in all like those of the built-in model, in one
// stage. Decode of a model is to be held against the rate at one row: it cannot be faster than its weights at it.
func BenchmarkGemv(b *testing.B) {
	threads := []int{1}
	if n := runtime.NumCPU(); n > 1 {
		threads = append(threads, n)
	}
	for _, n := range threads {
		for _, f := range []kernels.Format{kernels.Q4, kernels.Q8, kernels.B16} {
			for _, k := range []int{256, 2048} {
				for _, rows := range []int{1, 2, 4, 64} {
					b.Run(fmt.Sprintf("threads=%d/%v/K=%d/rows=%d", n, f, k, rows), func(b *testing.B) {
						benchGemv(b, n, kernels.Gemv{Format: f, DType: kernels.BF16, Rows: rows, N: 2048, K: k})
					})
				}
			}
		}
	}
}

func benchGemv(b *testing.B, threads int, g kernels.Gemv) {
	const total = 8 << 20
	dev := open(b, host.Options{Library: *fastFlag, Threads: threads})
	l, err := g.Launch()
	if err != nil {
		b.Fatal(err)
	}
	// One matrix's random streams serve all: only their addresses matter.
	w := gputest.RandomWeights(gputest.Rand("bench"), g.Format, g.N, g.K)
	streams := [][]byte{w.Codes, w.Scales, w.Biases}
	if g.Format == kernels.B16 {
		streams = streams[:1]
	}
	matrix := 0
	for _, s := range streams {
		matrix += len(s)
	}
	count := max(1, total/matrix)
	arena := &benchArena{bind: map[*gpu.Region]gpu.Buffer{}, dev: dev}
	x := arena.add(b, "x", gputest.BF16Bytes(gputest.Normal(gputest.Rand("x"), g.DType, g.Rows*g.K)))
	p := &gpu.Program{Name: "gemv", Rows: g.Rows}
	for i := range count {
		args := []gpu.Slice{{Region: gpu.Step, Len: kernels.StepBytes}, x}
		for j, s := range streams {
			args = append(args, arena.add(b, fmt.Sprintf("w%d.%d", i, j), s))
		}
		args = append(args, arena.add(b, fmt.Sprintf("y%d", i), make([]byte, 2*g.Rows*g.N)))
		p.Ops = append(p.Ops, gpu.Op{Launch: l, Args: args})
	}
	exec, err := dev.Compile(b.Context(), p, arena.bind)
	if err != nil {
		b.Fatal(err)
	}
	step := arena.alloc(b, kernels.StepBytes)
	params := kernels.StepParams{Rows: uint32(g.Rows)}
	if _, err := binary.Encode(step.Bytes(), binary.LittleEndian, params); err != nil {
		b.Fatal(err)
	}
	spent := processorSeconds(b)
	for b.Loop() {
		n, err := dev.Submit(exec, step)
		if err == nil {
			err = dev.Wait(b.Context(), n)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	seconds := b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(float64(count*matrix)/seconds/1e9, "GB/s")
	work := 2 * float64(count*g.Rows*g.N*g.K) / 1e9
	b.ReportMetric(work/seconds, "GFLOP/s")
	b.ReportMetric(work*float64(b.N)/(processorSeconds(b)-spent), "GFLOP/cpu-s")
}

// processorSeconds is the user time of this process.
func processorSeconds(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Sec) + float64(u.Utime.Usec)/1e6
}

// benchArena makes regions with buffers of their own.
type benchArena struct {
	dev  gpu.Device
	bind map[*gpu.Region]gpu.Buffer
}

func (a *benchArena) alloc(b *testing.B, n int64) gpu.Buffer {
	b.Helper()
	buf, err := a.dev.Alloc(n)
	if err != nil {
		b.Fatal(err)
	}
	return buf
}

func (a *benchArena) add(b *testing.B, name string, data []byte) gpu.Slice {
	b.Helper()
	r := &gpu.Region{Name: name, Size: int64(len(data))}
	buf := a.alloc(b, r.Size)
	copy(buf.Bytes(), data)
	a.bind[r] = buf
	return gpu.Slice{Region: r, Len: r.Size}
}
