package host

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// trace is what devices of this process may leave behind.
type trace struct {
	workers     int // threads of libraries
	threads     int // of the process
	descriptors int
	images      int // mapped ranges of libraries
}

func traces(t *testing.T) trace {
	t.Helper()
	var tr trace
	names, err := filepath.Glob("/proc/self/task/*/comm")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		comm, err := os.ReadFile(name)
		if err != nil { // the thread has ended since
			continue
		}
		tr.threads++
		if strings.TrimSpace(string(comm)) == "sotto-worker" {
			tr.workers++
		}
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	tr.descriptors, tr.images = len(fds), bytes.Count(maps, []byte("sotto-kernels"))
	return tr
}

// TestCloseLeavesNothing opens and closes devices, some of them after a run that failed. The process's other threads
// come and go by themselves, so their number is compared with one device a thread in mind.
func TestCloseLeavesNothing(t *testing.T) {
	const devices, threads = 50, 3
	before := traces(t)
	for i := range devices {
		d, err := open(Options{Threads: threads})
		if err != nil {
			t.Fatal(err)
		}
		x, step := oneNorm(t, d)
		if i%5 == 4 {
			x.ops[0].tg[0] = 0 // the library refuses it
		}
		n, err := d.Submit(x, step)
		if err == nil {
			err = d.Wait(t.Context(), n)
		}
		if failed := err != nil; failed != (i%5 == 4) {
			t.Fatalf("device %d: run ends with %v", i, err)
		}
		if tr := traces(t); tr.images == 0 || tr.workers != threads-1 {
			t.Fatalf("device %d: %+v, want an image and %d workers", i, tr, threads-1)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal("closed again:", err)
		}
	}
	var after trace
	for range 100 { // a thread of the runtime takes a moment to end
		after = traces(t)
		if after.threads < before.threads+devices/2 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if after.workers != 0 || after.images != 0 || after.descriptors != before.descriptors ||
		after.threads >= before.threads+devices/2 {
		t.Errorf("%d devices leave %+v behind, was %+v before", devices, after, before)
	}
}

// oneNorm is a program of one op, ready to run.
func oneNorm(t *testing.T, d *Device) (*exec, gpu.Buffer) {
	t.Helper()
	const dim = 256
	l, err := kernels.RMSNorm{DType: kernels.F32, Rows: 1, D: dim, Eps: 1e-6}.Launch()
	if err != nil {
		t.Fatal(err)
	}
	all := &gpu.Region{Name: "all", Size: 4096}
	part := func(i int64) gpu.Slice { return gpu.Slice{Region: all, Off: 1024 * i, Len: 1024} }
	p := &gpu.Program{Name: "norm", Rows: 1, Ops: []gpu.Op{{
		Launch: l, Label: "norm",
		Args: []gpu.Slice{{Region: gpu.Step, Len: kernels.StepBytes}, part(0), part(1), part(2)},
	}}}
	buf, err := d.Alloc(all.Size)
	if err != nil {
		t.Fatal(err)
	}
	step, err := d.Alloc(kernels.StepBytes)
	if err != nil {
		t.Fatal(err)
	}
	x, err := d.Compile(t.Context(), p, map[*gpu.Region]gpu.Buffer{all: buf})
	if err != nil {
		t.Fatal(err)
	}
	return x.(*exec), step
}
