//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"errors"
	"flag"
	"testing"

	"sotto/engine/gpu"
	"sotto/engine/gpu/cuda"
	"sotto/engine/gpu/gputest"
	"sotto/engine/gpu/vectors"
)

var ptx = flag.String("ptx", "", "folder of the kernels as .cubin or .ptx files")

// open skips where there is no GPU; with one, a missing folder is an error.
func open(t testing.TB) gpu.Device {
	t.Helper()
	dev, err := cuda.Open(cuda.Options{Dir: *ptx})
	if errors.Is(err, cuda.ErrNoDriver) {
		t.Skip("no NVIDIA driver on this machine")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	if *ptx == "" {
		t.Fatal("say where the kernels are: -ptx DIR")
	}
	return dev
}

func TestKernels(t *testing.T) {
	dev := open(t)
	for _, s := range gputest.Suites() {
		t.Run(s.Name, func(t *testing.T) { s.Run(t, dev) })
	}
}

func TestOpenWithoutDriver(t *testing.T) {
	dev, err := cuda.Open(cuda.Options{})
	if err == nil {
		if err := dev.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
	var ge *gpu.Error
	if !errors.As(err, &ge) || ge.Op != "open cuda" {
		t.Errorf("got %v, want an error of opening", err)
	}
}

func TestConformance(t *testing.T) {
	gputest.Run(t, func(t *testing.T) gpu.Device { return open(t) })
}

// BenchmarkNeuron reads 240 experts in turns, 1.3 GB; this driver waits after each launch of 80 of them.
func BenchmarkNeuron(b *testing.B) { gputest.BenchNeuron(b, open(b), 240, 20) }

// TestVectors compares every kernel with recorded results, as sotto doctor does.
func TestVectors(t *testing.T) {
	dev := open(t)
	equal, worst := 0, 0.0
	err := vectors.Check(t.Context(), dev, func(_, _ int, r vectors.Result) {
		if r.Err != nil {
			t.Errorf("%v: %v", r.Kernels, r.Err)
		}
		if r.Equal {
			equal++
		}
		worst = max(worst, r.Worst)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d vectors are equal in every bit, the others differ by %.2g of the largest number at most", equal, worst)
}
