//go:build linux && amd64

package metal_test

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"sotto/engine/gpu"
	"sotto/engine/gpu/metal"
	"sotto/engine/model"
	"sotto/engine/nn"
	"sotto/engine/state"
	"sotto/engine/weights"
	"sotto/kernels"
)

// stub answers every message with success and does nothing, so that what the driver itself costs can be measured, at
// sizes that no machine for tests has.
type stub struct {
	t    testing.TB
	next atomic.Uintptr
	name []byte

	mu    sync.Mutex
	names []string
	sels  map[string]metal.Sel
	sizes map[metal.ID]uintptr // of buffers

	messages atomic.Uint64 // pools not counted
}

func newStub(t testing.TB) *stub {
	s := &stub{
		t: t, name: []byte("Apple M4 Max\x00"), names: []string{""}, sels: map[string]metal.Sel{},
		sizes: map[metal.ID]uintptr{},
	}
	s.next.Store(1 << 20)
	return s
}

func (s *stub) System() metal.System    { return metal.System{Major: 26, Minor: 2, Build: "25C56"} }
func (s *stub) Class(string) metal.ID   { return s.object() }
func (s *stub) DefaultDevice() metal.ID { return s.object() }
func (s *stub) PushPool() uintptr       { return 1 }
func (s *stub) PopPool(uintptr)         {}
func (s *stub) object() metal.ID        { return metal.ID(s.next.Add(16)) }

func (s *stub) Selector(name string) metal.Sel {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sels[name] == 0 {
		s.sels[name] = metal.Sel(len(s.names))
		s.names = append(s.names, name)
	}
	return s.sels[name]
}

func (s *stub) SendAll(ms []metal.Message) {
	for i := range ms {
		s.Send(&ms[i])
	}
}

func (s *stub) Send(m *metal.Message) uintptr {
	s.messages.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.names[m.Sel] {
	case "UTF8String":
		return uintptr(unsafe.Pointer(&s.name[0]))
	case "supportsFamily:":
		if m.Args[0] <= 1009 {
			return 1
		}
		return 0
	case "recommendedMaxWorkingSetSize", "maxBufferLength":
		return 1 << 40
	case "newBufferWithLength:options:":
		id := s.object()
		s.sizes[id] = m.Args[0]
		return uintptr(id)
	case "contents":
		return s.memory(s.sizes[m.To])
	case "threadExecutionWidth":
		return 32
	case "maxTotalThreadsPerThreadgroup":
		return 1024
	case "functionConstantsDictionary":
		return 0
	case "waitUntilSignaledValue:timeoutMS:":
		return 1
	case "status":
		return 4
	}
	return uintptr(s.object())
}

func (s *stub) memory(size uintptr) uintptr {
	return uintptr(unsafe.Pointer(unsafe.SliceData(pages(s.t, int(size)))))
}

// pages is address space from a page of Apple silicon on, of which memory is only there where it is touched.
func pages(t testing.TB, size int) []byte {
	t.Helper()
	mem, err := unix.Mmap(-1, 0, size+gpu.Page, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		t.Error(err)
		return nil
	}
	t.Cleanup(func() {
		if err := unix.Munmap(mem); err != nil {
			t.Error(err)
		}
	})
	skip := int(-uintptr(unsafe.Pointer(&mem[0])) % gpu.Page)
	return mem[skip : skip+size : skip+size]
}

// fullSize compiles the greedy decode program of a model of full size over a stub.
func fullSize(t testing.TB, config string) (*stub, gpu.Device, gpu.Exec, gpu.Buffer) {
	t.Helper()
	text, err := os.ReadFile("../../model/testdata/" + config + ".json")
	if err != nil {
		t.Fatal(err)
	}
	spec, _, err := model.SpecFromConfig(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	layout, err := weights.Plan(spec.Recipe())
	if err != nil {
		t.Fatal(err)
	}
	st, err := state.Plan(spec, state.Config{Slots: 1})
	if err != nil {
		t.Fatal(err)
	}
	pass, err := nn.Record(nn.Model{Spec: spec, Weights: layout, State: st},
		nn.Options{Rows: 1, Logits: nn.LastLogits, Sampler: nn.Greedy})
	if err != nil {
		t.Fatal(err)
	}
	s := newStub(t)
	d, err := metal.Open(metal.Options{Messenger: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	metal.Built(d)
	alloc := func(n int64) gpu.Buffer {
		b, err := d.Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	pack, err := d.Map(pages(t, int(layout.Size())))
	if err != nil {
		t.Fatal(err)
	}
	arenas := map[*gpu.Region]gpu.Buffer{}
	for _, r := range st.Regions() {
		arenas[r] = alloc(r.Size)
	}
	x, err := d.Compile(t.Context(), pass.Program, pass.Bind(pack, alloc(pass.Scratch.Size), arenas))
	if err != nil {
		t.Fatal(err)
	}
	if n := metal.Pieces(pack); n < int(layout.Size()/metal.PieceSize) || n > 40 {
		t.Errorf("%d bytes of weights lie in %d pieces", layout.Size(), n)
	}
	return s, d, x, alloc(kernels.StepBytes)
}

// TestMessagesPerToken holds what a token costs: 1,750 messages stay below 0.3 ms if one takes no more than 170 ns, as
// BenchmarkMessage tells. Nothing is allocated.
func TestMessagesPerToken(t *testing.T) {
	for config, most := range map[string]uint64{"qwen36_35b_a3b": 1750, "nemotron35_lightning": 1201} {
		t.Run(config, func(t *testing.T) { testMessages(t, config, most) })
	}
}

func testMessages(t *testing.T, config string, most uint64) {
	s, d, x, step := fullSize(t, config)
	token := func() {
		n, err := d.Submit(x, step)
		if err == nil {
			err = d.Wait(context.Background(), n)
		}
		if err != nil {
			t.Error(err)
		}
	}
	token()
	before := s.messages.Load()
	token()
	if got := s.messages.Load() - before; got > most {
		t.Errorf("%d messages a token, %d of them of the program, want at most %d", got, metal.TapeLength(x), most)
	} else {
		t.Logf("%d messages a token", got)
	}
	if n := testing.AllocsPerRun(100, token); n != 0 && !raceEnabled {
		t.Errorf("%v allocations a token", n)
	}
}

// BenchmarkToken measures what the driver adds to the messages of a token.
func BenchmarkToken(b *testing.B) {
	_, d, x, step := fullSize(b, "qwen36_35b_a3b")
	for b.Loop() {
		n, err := d.Submit(x, step)
		if err == nil {
			err = d.Wait(context.Background(), n)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(metal.TapeLength(x)), "messages/token")
}
