//go:build linux && amd64

package sim_test

import (
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"sotto/engine/gpu/gputest"
	"sotto/engine/gpu/metal"
	"sotto/engine/gpu/metal/sim"
	"sotto/kernels"
)

// client sends raw messages to a runtime, as a careless program would.
type client struct {
	t    testing.TB
	r    *sim.Runtime
	dev  metal.ID
	pool uintptr
	kept []any // memory that messages point to
}

// begin opens a runtime, takes the device and pushes a pool. By the end the test must have taken all violations.
func begin(t testing.TB, o sim.Options) *client {
	t.Helper()
	runtime.LockOSThread()
	r, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, r: r, pool: r.PushPool(), dev: r.DefaultDevice()}
	t.Cleanup(func() {
		r.PopPool(c.pool)
		if c.dev != 0 {
			c.send(c.dev, "release")
		}
		if v := r.TakeViolations(); len(v) > 0 {
			t.Errorf("got violations %v", v)
		}
		r.TakeViolations()
		_ = r.Close() // what tests leave behind is in the error
		runtime.UnlockOSThread()
	})
	return c
}

// send sends a message and returns the result.
func (c *client) send(to metal.ID, selector string, args ...uintptr) uintptr {
	m := metal.Message{To: to, Sel: c.r.Selector(selector), Count: len(args)}
	copy(m.Args[:], args)
	return c.r.Send(&m)
}

func (c *client) get(to metal.ID, selector string, args ...uintptr) metal.ID {
	return metal.ID(c.send(to, selector, args...))
}

func (c *client) class(name string) metal.ID { return c.r.Class(name) }

// keep keeps memory where it is until the test ends and returns its address.
func keep[T any](c *client, values ...T) uintptr {
	c.kept = append(c.kept, values)
	return uintptr(unsafe.Pointer(unsafe.SliceData(values)))
}

func (c *client) str(s string) metal.ID {
	return c.get(c.class("NSString"), "stringWithUTF8String:", keep(c, append([]byte(s), 0)...))
}

// text reads an NSString.
func (c *client) text(id metal.ID) string {
	p := c.send(id, "UTF8String")
	if p == 0 {
		return ""
	}
	var b []byte
	for q := *(*unsafe.Pointer)(unsafe.Pointer(&p)); *(*byte)(q) != 0; q = unsafe.Add(q, 1) {
		b = append(b, *(*byte)(q))
	}
	return string(b)
}

// violations takes what was wrong so far.
func (c *client) violations() []sim.Violation { return c.r.TakeViolations() }

// wrong checks that there is one violation, by the receiver and selector, with the reason.
func (c *client) wrong(class, selector, reason string) {
	c.t.Helper()
	v := c.violations()
	if len(v) != 1 || v[0].Class != class || v[0].Selector != selector || !strings.Contains(v[0].Reason, reason) {
		c.t.Errorf("got violations %v, want one of [%s %s] with %q", v, class, selector, reason)
	}
}

// right checks that nothing was wrong.
func (c *client) right() {
	c.t.Helper()
	if v := c.violations(); len(v) > 0 {
		c.t.Errorf("got violations %v, want none", v)
	}
}

// failed calls f with room for an NSError and returns its code and text.
func (c *client) failed(f func(e uintptr)) (code int, text string) {
	room := make([]metal.ID, 1)
	c.kept = append(c.kept, room)
	f(uintptr(unsafe.Pointer(&room[0])))
	id := room[0]
	if id == 0 {
		return 0, ""
	}
	return int(c.send(id, "code")), c.text(c.get(id, "localizedDescription"))
}

// norm is the kernel of these tests: step, x, w, y.
var norm = func() kernels.Launch {
	l, err := kernels.RMSNorm{DType: kernels.F32, Rows: 1, D: 64, Eps: 1e-5}.Launch()
	if err != nil {
		panic(err)
	}
	return l
}()

// options returns compile options as they should be.
func (c *client) options() metal.ID {
	o := c.get(c.class("MTLCompileOptions"), "new")
	c.send(o, "setLanguageVersion:", 3<<16|1)
	c.send(o, "setFastMathEnabled:", 0)
	return o
}

func (c *client) library(text string, e uintptr) metal.ID {
	return c.get(c.dev, "newLibraryWithSource:options:error:", uintptr(c.str(text)), uintptr(c.options()), e)
}

// pipeline builds the kernel.
func (c *client) pipeline(name string) metal.ID {
	c.t.Helper()
	lib := c.library("kernel void "+name+"() {}", 0)
	f := c.get(lib, "newFunctionWithName:", uintptr(c.str(name)))
	return c.get(c.dev, "newComputePipelineStateWithFunction:error:", uintptr(f), 0)
}

const untracked = 0x100

func (c *client) buffer(n, options uintptr) metal.ID {
	return c.get(c.dev, "newBufferWithLength:options:", n, options)
}

func (c *client) noCopy(from, n, block uintptr) metal.ID {
	return c.get(c.dev, "newBufferWithBytesNoCopy:length:options:deallocator:", from, n, untracked, block)
}

// bytes is the memory of a buffer.
func (c *client) bytes(b metal.ID) []byte {
	p, n := c.send(b, "contents"), c.send(b, "length")
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&p))), n)
}

// scene is everything that a dispatch needs.
type scene struct {
	*client
	queue, pipe, params, step, data, event, fence metal.ID
	cmd, enc                                      metal.ID
}

const slotBytes = 256 // of data, a row of 64

func newScene(t testing.TB, o sim.Options) *scene {
	t.Helper()
	c := begin(t, o)
	s := &scene{client: c}
	s.queue = c.get(c.dev, "newCommandQueueWithMaxCommandBufferCount:", 4)
	s.pipe = c.pipeline(norm.Kernel.Name)
	s.params = c.buffer(4096, untracked)
	copy(c.bytes(s.params), norm.Params)
	s.step = c.buffer(kernels.StepBytes, untracked)
	copy(c.bytes(s.step), gputest.U32Bytes([]uint32{0, 1, 1}))
	s.data = c.buffer(8*slotBytes, untracked)
	for i := range 64 {
		c.bytes(s.data)[4*i+3] = 0x3f                       // x is 0.5
		copy(c.bytes(s.data)[7*slotBytes+2*i:], "\x80\x3f") // weights are 1
	}
	s.event = c.get(c.dev, "newSharedEvent")
	s.fence = c.get(c.dev, "newFence")
	c.right()
	return s
}

// command makes a command buffer with an open concurrent encoder.
func (s *scene) command() { s.commandOf("commandBufferWithUnretainedReferences") }

func (s *scene) commandOf(selector string) {
	s.cmd = s.get(s.queue, selector)
	s.encoder()
}

func (s *scene) encoder() {
	s.enc = s.get(s.cmd, "computeCommandEncoderWithDispatchType:", 1)
	s.send(s.enc, "setComputePipelineState:", uintptr(s.pipe))
}

// bind binds the arguments for a norm from one slot of data to another, weights being zero in slot 7.
func (s *scene) bind(from, to uintptr) {
	ids := keep(s.client, s.params, s.step, s.data, s.data, s.data)
	offs := keep(s.client, uintptr(0), 0, from*slotBytes, 7*slotBytes, to*slotBytes)
	s.send(s.enc, "setBuffers:offsets:withRange:", ids, offs, 0, 5)
}

func (s *scene) size(x, y, z uintptr) uintptr { return keep(s.client, x, y, z) }

func (s *scene) dispatch() {
	s.send(s.enc, "dispatchThreadgroups:threadsPerThreadgroup:", s.size(1, 1, 1), s.size(32, 1, 1))
}

func (s *scene) barrier() { s.send(s.enc, "memoryBarrierWithScope:", 1) }

func (s *scene) end() { s.send(s.enc, "endEncoding") }

// run commits and waits for the event value.
func (s *scene) run(value uintptr) bool {
	s.send(s.cmd, "encodeSignalEvent:value:", uintptr(s.event), value)
	s.send(s.cmd, "commit")
	return s.send(s.event, "waitUntilSignaledValue:timeoutMS:", value, 5000) == 1
}
