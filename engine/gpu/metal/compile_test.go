//go:build linux && amd64

package metal_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"sotto/engine/gpu"
	"sotto/engine/gpu/metal"
	"sotto/engine/gpu/metal/sim"
	"sotto/kernels"
)

// TestCompileFails lets each message fail on which a kernel depends. The error names the kernel; kernels of other
// sources work.
func TestCompileFails(t *testing.T) {
	const kernel = "rms_norm_f32"
	for _, c := range []struct {
		name  string
		fault sim.Fault
		rule  rule
		want  string
	}{
		{
			name: "source", fault: sim.Fault{Kind: sim.LibraryFails, Times: -1, Reason: "program_source:7: error"},
			want: "compile norm.metal: program_source:7: error",
		},
		{name: "no options", rule: rule{selector: "new"}, want: "no compile options"},
		{name: "no function", rule: rule{selector: "newFunctionWithName:", text: kernel}, want: "no such kernel"},
		{
			name: "pipeline", fault: sim.Fault{Kind: sim.PipelineFails, On: kernel, Reason: "too many registers"},
			want: "too many registers",
		},
		{
			name: "pipeline without a reason", want: "no reason was given",
			rule: rule{selector: "newComputePipelineStateWithDescriptor:options:reflection:error:"},
		},
		{name: "function constants", rule: rule{selector: "count", answer: 1}, want: "function constants"},
		{name: "another width", rule: rule{selector: "threadExecutionWidth", answer: 16}, want: "16 lanes"},
		{
			name: "few threads", rule: rule{selector: "maxTotalThreadsPerThreadgroup", answer: 16},
			want: "threads a threadgroup, at most 16",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRuntime(t, sim.Options{})
			if c.fault.Kind != 0 {
				r.Inject(c.fault)
			}
			d := openOn(t, r, metal.Options{}, c.rule)
			b := newBench(t, d)
			x, err := d.Compile(t.Context(), b.chain(1), b.buffers)
			var ge *gpu.Error
			if !errors.As(err, &ge) || ge.Op != "compile" || ge.Kernel != kernel ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want that %s is to blame: %s", err, kernel, c.want)
			}
			if err == nil {
				x.Free()
			}
		})
	}
}

// TestNoDescriptor lets the second object that is made by new fail, a pipeline's descriptor or some options.
func TestNoDescriptor(t *testing.T) {
	r := newRuntime(t, sim.Options{})
	d := openOn(t, r, metal.Options{}, rule{selector: "new", after: 100, times: 1})
	metal.Built(d)
	failed := 0
	for _, k := range kernels.All() {
		if _, err := metal.Need(d, k.Name); err != nil {
			failed++
			if !strings.Contains(err.Error(), "no pipeline descriptor") {
				t.Errorf("got %v", err)
			}
		}
	}
	if failed != 1 {
		t.Errorf("%d kernels fail, want 1", failed)
	}
}

// TestCompileMemory lets memory run out where a program needs some.
func TestCompileMemory(t *testing.T) {
	r := newRuntime(t, sim.Options{})
	d := openOn(t, r, metal.Options{})
	b := newBench(t, d)
	r.Inject(sim.Fault{Kind: sim.AllocationFails})
	if x, err := d.Compile(t.Context(), b.chain(1), b.buffers); !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("parameters: got %v, %v, want %v", x, err, gpu.ErrOutOfMemory)
	}
	b.buffers[b.w] = b.mapped(1 << 16)
	r.Inject(sim.Fault{Kind: sim.AllocationFails})
	if x, err := d.Compile(t.Context(), b.chain(1), b.buffers); !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("mapped memory: got %v, %v, want %v", x, err, gpu.ErrOutOfMemory)
	}
	b.compile(b.chain(1))
}

// mapped is memory of the caller's with the weights at its start.
func (b *bench) mapped(size int) gpu.Buffer {
	b.t.Helper()
	mem := pages(b.t, size)
	copy(mem, b.buffers[b.w].Bytes())
	m, err := b.dev.Map(mem)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(m.Free) // before the memory goes
	return m
}

// TestPieces binds mapped memory that is larger than a buffer may be: it is cut where programs allow.
func TestPieces(t *testing.T) {
	g := sim.M1
	g.MaxBuffer = 1 << 20
	d := openSim(t, sim.Options{GPU: g}, metal.Options{})
	b := newBench(t, d)
	const size = 3 << 20
	m := b.mapped(size)
	b.buffers[b.w] = m
	b.w.Size = size
	copy(m.Bytes()[size-benchDim*2:], m.Bytes()[:benchDim*2])
	at := func(off, n int64) *gpu.Program {
		p := b.chain(1)
		p.Ops[0].Args[2] = gpu.Slice{Region: b.w, Off: off, Len: n}
		return p
	}
	step := b.step(benchRows)
	for i, c := range []struct {
		off, n int64
		pieces int
	}{
		{0, benchDim * 2, 1},
		{size - benchDim*2, benchDim * 2, 2},
		{16, 64, 2},
		{1<<20 - 32, 128, 3}, // across the border of two pages that the others left out
	} {
		x := b.compile(at(c.off, c.n))
		if got := metal.Pieces(m); got != c.pieces {
			t.Errorf("program %d: got %d pieces, want %d", i, got, c.pieces)
		}
		b.run(x, step)
	}
	if x, err := d.Compile(t.Context(), at(0, 1<<20+1), b.buffers); err == nil {
		x.Free()
		t.Error("bound a range that no buffer can hold")
	}
	if _, err := d.Alloc(1<<20 + 1); !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("got %v for more than a buffer can hold, want %v", err, gpu.ErrOutOfMemory)
	}
	whole := b.compile(&gpu.Program{Name: "all", Rows: benchRows, Ops: at(0, 1<<20).Ops})
	b.run(whole, step)
}

// TestAllocFails lets the system refuse memory.
func TestAllocFails(t *testing.T) {
	g := sim.M1
	g.WorkingSet = 4 << 20
	r := newRuntime(t, sim.Options{GPU: g})
	d := openOn(t, r, metal.Options{}, rule{selector: "contents", after: 1, times: 1})
	r.Inject(sim.Fault{Kind: sim.AllocationFails})
	if _, err := d.Alloc(100); !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("got %v, want %v", err, gpu.ErrOutOfMemory)
	}
	first, err := d.Alloc(100)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Alloc(100); err == nil || !strings.Contains(err.Error(), "cannot see") {
		t.Errorf("got %v for memory without contents", err)
	}
	if _, err := d.Alloc(4<<20 - 50); !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("got %v beyond the working set, want %v", err, gpu.ErrOutOfMemory)
	}
	first.Free()
	mem := make([]byte, 6<<20)
	skip := -int(uintptr(unsafe.Pointer(&mem[0]))) & (1<<14 - 1)
	if _, err := d.Map(mem[skip : skip+5<<20]); !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("got %v for mapped memory beyond the working set, want %v", err, gpu.ErrOutOfMemory)
	}
}

// TestResidency fills several sets, and lives without any.
func TestResidency(t *testing.T) {
	t.Run("fails", func(t *testing.T) {
		r := newRuntime(t, sim.Options{})
		r.Inject(sim.Fault{Kind: sim.ResidencyFails})
		b := newBench(t, openOn(t, r, metal.Options{}))
		b.run(b.compile(b.chain(1)), b.step(benchRows))
		if n := r.Sent()["MTLResidencySet addAllocation:"]; n != 0 {
			t.Errorf("%d buffers were added", n)
		}
	})
	t.Run("no descriptor", func(t *testing.T) {
		r := newRuntime(t, sim.Options{})
		d := openOn(t, r, metal.Options{}, rule{selector: "newResidencySetWithDescriptor:error:"})
		newBench(t, d)
	})
	t.Run("several", func(t *testing.T) {
		s := newStub(t)
		d, err := metal.Open(metal.Options{Messenger: s})
		if err != nil {
			t.Fatal(err)
		}
		var all []gpu.Buffer
		for range metal.MaxSets + 5 {
			b, err := d.Alloc(30 << 30)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b)
		}
		if n := metal.Sets(d); n != metal.MaxSets {
			t.Errorf("got %d sets, want %d", n, metal.MaxSets)
		}
		all[3].Free()
		if _, err := d.Alloc(20 << 30); err != nil {
			t.Fatal(err)
		}
		if n := metal.Sets(d); n != metal.MaxSets {
			t.Errorf("got %d sets, want %d", n, metal.MaxSets)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestProgress counts what the driver tells while it builds.
func TestProgress(t *testing.T) {
	var mu sync.Mutex
	var seen []int
	d := openSim(t, sim.Options{}, metal.Options{Progress: func(done, total int) {
		mu.Lock()
		defer mu.Unlock()
		if total != len(kernels.All()) {
			t.Errorf("%d pipelines in all, want %d", total, len(kernels.All()))
		}
		seen = append(seen, done)
	}})
	metal.Built(d.Device)
	mu.Lock()
	defer mu.Unlock()
	for i, n := range seen {
		if n != i+1 {
			t.Fatalf("call %d said %d", i, n)
		}
	}
	if len(seen) != len(kernels.All()) {
		t.Errorf("%d calls, want %d", len(seen), len(kernels.All()))
	}
}

// TestCloseWhileBuilding closes a device that has not built its kernels: what is under way ends, the rest is not begun,
// and what was put into the archive is there the next time.
func TestCloseWhileBuilding(t *testing.T) {
	r := newRuntime(t, sim.Options{})
	begun := make(chan struct{})
	var once sync.Once
	opened := make(chan gpu.Device, 1)
	dir := t.TempDir()
	const some = 20
	d, err := metal.Open(metal.Options{Messenger: r, ArchiveDir: dir, Progress: func(done, _ int) {
		if done < some {
			return
		}
		once.Do(func() {
			close(begun)
			d := <-opened
			eventually(t, func() bool { return metal.Stopping(d) })
		})
	}})
	if err != nil {
		t.Fatal(err)
	}
	opened <- d
	<-begun
	all := kernels.All()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	refused := 0
	for i := range all {
		if _, err := metal.Need(d, all[i].Name); errors.Is(err, gpu.ErrClosed) {
			refused++
		}
	}
	kept := int(r.Sent()[addMessage])
	if n := r.Sent()[writeMessage]; refused == 0 || kept < some/2 || n != 1 {
		t.Errorf("%d kernels were not built, %d are in the archive, which was written %d times", refused, kept, n)
	}
	if added, written := session(t, sim.Options{}, dir); added != len(all)-kept || written != 1 {
		t.Errorf("the next time %d pipelines were added, want %d, and written %d times", added, len(all)-kept, written)
	}
	if added, written := session(t, sim.Options{}, dir); added != 0 || written != 0 {
		t.Errorf("then %d pipelines were added, and written %d times", added, written)
	}
}

// TestCloseWhileSaving closes a device that is filling its archive: what is in it is written.
func TestCloseWhileSaving(t *testing.T) {
	r := newRuntime(t, sim.Options{})
	begun := make(chan struct{})
	opened := make(chan gpu.Device, 1)
	m := &meddler{Messenger: r, runtime: r, rules: []rule{{
		selector: "addComputePipelineFunctionsWithDescriptor:error:", times: 1, hook: func(*metal.Message) {
			close(begun)
			d := <-opened
			eventually(t, func() bool { return metal.Stopping(d) })
		},
	}}}
	d, err := metal.Open(metal.Options{Messenger: m, ArchiveDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	opened <- d
	<-begun
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if n := r.Sent()[addMessage]; n != 1 || r.Sent()[writeMessage] != 1 {
		t.Errorf("%d pipelines were added, want 1, and the archive written", n)
	}
}
