//go:build linux && amd64

package metal_test

import (
	"encoding/binary"
	"math"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"sotto/engine/gpu"
	"sotto/engine/gpu/metal"
	"sotto/engine/gpu/metal/sim"
	"sotto/kernels"
)

// openSim opens the driver in a simulator that reports every mistake when it closes.
func openSim(t testing.TB, o sim.Options, m metal.Options) *sim.Device {
	t.Helper()
	d, err := sim.Open(o, m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// newRuntime makes a simulated runtime, whose closing reports every mistake and whatever is left of objects.
func newRuntime(t testing.TB, o sim.Options) *sim.Runtime {
	t.Helper()
	r, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// openOn opens the driver on a runtime that a meddler stands before.
func openOn(t testing.TB, r *sim.Runtime, o metal.Options, rules ...rule) gpu.Device {
	t.Helper()
	o.Messenger = &meddler{Messenger: r, runtime: r, rules: rules}
	d, err := metal.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// rule says which messages do not reach the runtime, and what is answered instead.
type rule struct {
	class    string // instead of messages: this class does not exist
	selector string
	text     string // only where the first argument is a string with this in it
	after    int    // that many get through before
	times    int    // how many do not; 0: all
	answer   uintptr
	hook     func(m *metal.Message) // called first; the runtime answers, unless this takes the receiver away
}

// meddler lets some messages fail that a simulator has no fault for.
type meddler struct {
	metal.Messenger
	runtime *sim.Runtime

	mu    sync.Mutex
	rules []rule
	names map[metal.Sel]string
}

func (m *meddler) Class(name string) metal.ID {
	for _, r := range m.rules {
		if r.class == name {
			return 0
		}
	}
	return m.Messenger.Class(name)
}

func (m *meddler) Selector(name string) metal.Sel {
	s := m.Messenger.Selector(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.names == nil {
		m.names = map[metal.Sel]string{}
	}
	m.names[s] = name
	return s
}

// meddle finds the rule that a message falls under.
func (m *meddler) meddle(msg *metal.Message) *rule {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.rules {
		r := &m.rules[i]
		switch {
		case r.selector == "" || r.selector != m.names[msg.Sel]:
		case r.text != "" && !strings.Contains(m.string(metal.ID(msg.Args[0])), r.text):
		case r.after > 0:
			r.after--
		case r.times < 0:
		default:
			if r.times > 0 {
				if r.times--; r.times == 0 {
					r.times = -1
				}
			}
			found := *r
			return &found
		}
	}
	return nil
}

// string reads an NSString.
func (m *meddler) string(s metal.ID) string {
	p := m.Messenger.Send(&metal.Message{To: s, Sel: m.Messenger.Selector("UTF8String")})
	var text []byte
	for at := *(*unsafe.Pointer)(unsafe.Pointer(&p)); *(*byte)(at) != 0; at = unsafe.Add(at, 1) {
		text = append(text, *(*byte)(at))
	}
	return string(text)
}

func (m *meddler) Send(msg *metal.Message) uintptr {
	r := m.meddle(msg)
	switch {
	case r == nil:
		return m.Messenger.Send(msg)
	case r.hook != nil:
		changed := *msg
		if r.hook(&changed); changed.To != 0 {
			return m.Messenger.Send(&changed)
		}
	}
	return r.answer
}

func (m *meddler) SendAll(ms []metal.Message) {
	for i := range ms {
		m.Send(&ms[i])
	}
}

// The programs of these tests are norms of a few rows.
const (
	benchRows  = 4
	benchDim   = 64
	benchBytes = benchRows * benchDim * 4
	benchSlots = 16
)

// bench is a device with a norm's weights and rows of activations, slot 0 filled.
type bench struct {
	t       testing.TB
	dev     gpu.Device
	w, act  *gpu.Region
	buffers map[*gpu.Region]gpu.Buffer
}

func newBench(t testing.TB, d gpu.Device) *bench {
	t.Helper()
	b := &bench{
		t: t, dev: d, buffers: map[*gpu.Region]gpu.Buffer{},
		w:   &gpu.Region{Name: "weights", Size: benchDim * 2},
		act: &gpu.Region{Name: "activations", Size: benchSlots * benchBytes},
	}
	b.buffers[b.w], b.buffers[b.act] = b.alloc(b.w.Size), b.alloc(b.act.Size)
	for i := range benchDim {
		binary.LittleEndian.PutUint16(b.buffers[b.w].Bytes()[2*i:], uint16(math.Float32bits(1+float32(i)/8)>>16))
	}
	b.reset()
	return b
}

func (b *bench) reset() {
	mem := b.buffers[b.act].Bytes()
	clear(mem)
	for i := range benchRows * benchDim {
		binary.LittleEndian.PutUint32(mem[4*i:], math.Float32bits(float32(i%17)-8.25))
	}
}

func (b *bench) alloc(n int64) gpu.Buffer {
	b.t.Helper()
	x, err := b.dev.Alloc(n)
	if err != nil {
		b.t.Fatal(err)
	}
	return x
}

// norm is slot y = RMSNorm(slot x).
func (b *bench) norm(x, y int) gpu.Op {
	b.t.Helper()
	l, err := kernels.RMSNorm{DType: kernels.F32, Rows: benchRows, D: benchDim, Eps: 1e-5}.Launch()
	if err != nil {
		b.t.Fatal(err)
	}
	slot := func(i int) gpu.Slice { return gpu.Slice{Region: b.act, Off: int64(i) * benchBytes, Len: benchBytes} }
	return gpu.Op{Launch: l, Label: "norm", Args: []gpu.Slice{
		{Region: gpu.Step, Len: kernels.RingOffset}, slot(x), {Region: b.w, Len: b.w.Size}, slot(y),
	}}
}

// chain norms slot 0 into slot 1, slot 1 into slot 2, and so on.
func (b *bench) chain(n int) *gpu.Program {
	p := &gpu.Program{Name: "chain", Rows: benchRows}
	for i := range n {
		p.Ops = append(p.Ops, b.norm(i, i+1))
	}
	return p
}

// mixed has stages of several ops, and one that is listed late but runs early.
func (b *bench) mixed() *gpu.Program {
	return &gpu.Program{Name: "mixed", Rows: benchRows, Ops: []gpu.Op{
		b.norm(0, 1), b.norm(0, 2), b.norm(1, 3), b.norm(2, 4), b.norm(3, 5), b.norm(0, 6), b.norm(6, 0),
	}}
}

func (b *bench) compile(p *gpu.Program) gpu.Exec {
	b.t.Helper()
	x, err := b.dev.Compile(b.t.Context(), p, b.buffers)
	if err != nil {
		b.t.Fatal(err)
	}
	return x
}

// step is a new step buffer with so many live rows.
func (b *bench) step(rows uint32) gpu.Buffer {
	b.t.Helper()
	s := b.alloc(kernels.StepBytes)
	p := (*kernels.StepParams)(unsafe.Pointer(&s.Bytes()[kernels.StepOffset]))
	p.Rows, p.Active = rows, 1
	return s
}

func (b *bench) submit(x gpu.Exec, step gpu.Buffer) uint64 {
	b.t.Helper()
	n, err := b.dev.Submit(x, step)
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

func (b *bench) run(x gpu.Exec, step gpu.Buffer) {
	b.t.Helper()
	if err := b.dev.Wait(b.t.Context(), b.submit(x, step)); err != nil {
		b.t.Fatal(err)
	}
}
