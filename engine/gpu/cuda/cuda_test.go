//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"errors"
	"flag"
	"testing"

	"sotto/engine/gpu"
	"sotto/engine/gpu/cuda"
	"sotto/engine/gpu/gputest"
)

var ptx = flag.String("ptx", "", "folder of the kernels as .cubin or .ptx files")

// open skips where there is no GPU; with one, a missing folder is an error.
func open(t *testing.T) gpu.Device {
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
	gputest.Run(t, open)
}
