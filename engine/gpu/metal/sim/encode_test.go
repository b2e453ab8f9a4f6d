//go:build linux && amd64

package sim_test

import (
	"testing"
	"unsafe"

	"sotto/engine/gpu/gputest"
	"sotto/engine/gpu/metal"
	"sotto/engine/gpu/metal/sim"
)

// TestEncoding encodes one mistake each into a command buffer that is else right.
func TestEncoding(t *testing.T) {
	const encoder, buffer = "MTLComputeCommandEncoder", "MTLCommandBuffer"
	const dispatch = "dispatchThreadgroups:threadsPerThreadgroup:"
	kernel := norm.Kernel.Name
	for _, tt := range []struct {
		name                    string
		encode                  func(s *scene)
		class, selector, reason string
	}{
		{"all is well", func(s *scene) { s.dispatch() }, "", "", ""},
		{"no pipeline", func(s *scene) {
			s.end()
			s.enc = s.get(s.cmd, "computeCommandEncoder")
			s.bind(0, 1)
			s.dispatch()
		}, encoder, dispatch, "no pipeline"},
		{"unbound argument", func(s *scene) {
			s.send(s.enc, "setBuffer:offset:atIndex:", 0, 0, 3)
			s.dispatch()
		}, encoder, dispatch, kernel + ": argument w (index 3) is not bound"},
		{"unbound parameters", func(s *scene) {
			s.send(s.enc, "setBuffer:offset:atIndex:", 0, 0, 0)
			s.dispatch()
		}, encoder, dispatch, kernel + ": parameters are not bound"},
		{"nothing bound", func(s *scene) {
			s.end()
			s.encoder()
			s.dispatch()
		}, encoder, dispatch, "parameters are not bound"},
		{"offset beyond the buffer", func(s *scene) {
			s.send(s.enc, "setBuffer:offset:atIndex:", uintptr(s.data), 8*slotBytes, 2)
		}, encoder, "setBuffer:offset:atIndex:", "offset 2048 at index 2 is beyond the 2048 bytes"},
		{"parameters beyond the buffer", func(s *scene) {
			s.send(s.enc, "setBuffer:offset:atIndex:", uintptr(s.params), 4096-4, 0)
			s.dispatch()
		}, encoder, dispatch, "bytes of parameters at 4092 are beyond the 4096 bytes"},
		{"parameters not aligned", func(s *scene) {
			s.send(s.enc, "setBuffer:offset:atIndex:", uintptr(s.params), 2, 0)
			s.dispatch()
		}, encoder, dispatch, "parameters at offset 2, not a multiple of 4"},
		{"argument not aligned", func(s *scene) {
			s.send(s.enc, "setBuffer:offset:atIndex:", uintptr(s.data), 8, 2)
			s.dispatch()
		}, encoder, dispatch, "argument x at offset 8, not a multiple of 16"},
		{"step buffer not at its start", func(s *scene) {
			s.send(s.enc, "setBuffer:offset:atIndex:", uintptr(s.step), 16, 1)
			s.dispatch()
		}, encoder, dispatch, "the step buffer at offset 16"},
		{"index beyond the table", func(s *scene) {
			s.send(s.enc, "setBuffer:offset:atIndex:", uintptr(s.data), 0, 31)
		}, encoder, "setBuffer:offset:atIndex:", "index 31"},
		{"range beyond the table", func(s *scene) {
			s.send(s.enc, "setBuffers:offsets:withRange:", keep(s.client, s.data), keep(s.client, uintptr(0)), 31, 1)
		}, encoder, "setBuffers:offsets:withRange:", "range 31+1"},
		{"buffers of NULL", func(s *scene) {
			s.send(s.enc, "setBuffers:offsets:withRange:", 0, 0, 0, 1)
		}, encoder, "setBuffers:offsets:withRange:", "NULL"},
		{"a queue as a buffer", func(s *scene) {
			s.send(s.enc, "setBuffers:offsets:withRange:", keep(s.client, s.queue), keep(s.client, uintptr(0)), 0, 1)
		}, encoder, "setBuffers:offsets:withRange:", "is no buffer"},
		{"memory for reading is written", func(s *scene) {
			n := uintptr(1 << 16)
			b := s.noCopy(pages(s.client, int(n)), n, 0)
			s.send(s.enc, "setBuffer:offset:atIndex:", uintptr(b), 0, 4)
			s.dispatch()
		}, encoder, dispatch, "argument y is written"},
		{"empty grid", func(s *scene) {
			s.send(s.enc, dispatch, s.size(1, 0, 1), s.size(32, 1, 1))
		}, encoder, dispatch, "grid [1 0 1]"},
		{
			"size of NULL", func(s *scene) { s.send(s.enc, dispatch, s.size(1, 1, 1), 0) },
			encoder, dispatch, "goes by its address",
		},
		{"flat threadgroup", func(s *scene) {
			s.send(s.enc, dispatch, s.size(1, 1, 1), s.size(16, 2, 1))
		}, encoder, dispatch, "want rows of threads"},
		{"part of a simdgroup", func(s *scene) {
			s.send(s.enc, dispatch, s.size(1, 1, 1), s.size(33, 1, 1))
		}, encoder, dispatch, "no multiple of 32"},
		{"large threadgroup", func(s *scene) {
			s.send(s.enc, dispatch, s.size(1, 1, 1), s.size(1056, 1, 1))
		}, encoder, dispatch, "1056 threads a threadgroup, at most 1024"},
		{
			"barrier of nothing", func(s *scene) { s.send(s.enc, "memoryBarrierWithScope:", 0) },
			encoder, "memoryBarrierWithScope:", "no MTLBarrierScope",
		},

		{"missing barrier: read after write", func(s *scene) {
			s.dispatch()
			s.bind(1, 2)
			s.dispatch()
		}, encoder, dispatch, "(reads x) and " + kernel + " (writes y) use the same memory with no barrier"},
		{"missing barrier: write after read", func(s *scene) {
			s.dispatch()
			s.bind(2, 0)
			s.dispatch()
		}, encoder, dispatch, "(writes y) and " + kernel + " (reads x) use the same memory with no barrier"},
		{"missing barrier: write after write", func(s *scene) {
			s.dispatch()
			s.dispatch()
		}, encoder, dispatch, "(writes y) and " + kernel + " (writes y) use the same memory with no barrier"},
		{"barrier", func(s *scene) {
			s.dispatch()
			s.barrier()
			s.bind(1, 2)
			s.dispatch()
			s.bind(3, 4) // beside it
			s.dispatch()
		}, "", "", ""},
		{"serial encoder", func(s *scene) {
			s.end()
			s.enc = s.get(s.cmd, "computeCommandEncoder")
			s.send(s.enc, "setComputePipelineState:", uintptr(s.pipe))
			for range 2 {
				s.bind(0, 1)
				s.dispatch()
			}
		}, "", "", ""},

		{"no fence between encoders", func(s *scene) {
			s.dispatch()
			s.end()
			s.encoder()
			s.bind(1, 2)
			s.dispatch()
			s.end()
			s.run(1)
		}, buffer, "commit", "no fence or event orders them"},
		{"fence between encoders", func(s *scene) {
			s.dispatch()
			s.send(s.enc, "updateFence:", uintptr(s.fence))
			s.end()
			s.encoder()
			s.send(s.enc, "waitForFence:", uintptr(s.fence))
			s.bind(1, 2)
			s.dispatch()
			s.end()
			s.run(1)
		}, "", "", ""},
		{"no order between command buffers", func(s *scene) {
			s.dispatch()
			s.end()
			s.send(s.cmd, "commit")
			s.command()
			s.bind(1, 2)
			s.dispatch()
			s.end()
			s.run(1)
		}, buffer, "commit", "no fence or event orders them"},
		{"event between command buffers", func(s *scene) {
			s.dispatch()
			s.end()
			s.send(s.cmd, "encodeSignalEvent:value:", uintptr(s.event), 1)
			s.send(s.cmd, "commit")
			s.cmd = s.get(s.queue, "commandBufferWithUnretainedReferences")
			s.send(s.cmd, "encodeWaitForEvent:value:", uintptr(s.event), 1)
			s.encoder()
			s.bind(1, 2)
			s.dispatch()
			s.end()
			s.run(2)
		}, "", "", ""},
		{"the program waits between command buffers", func(s *scene) {
			s.dispatch()
			s.end()
			s.run(1)
			s.command()
			s.bind(1, 2)
			s.dispatch()
			s.end()
			s.run(2)
		}, "", "", ""},
		{"the program looks at the status", func(s *scene) {
			s.dispatch()
			s.end()
			s.send(s.cmd, "commit")
			s.send(s.cmd, "waitUntilCompleted")
			s.command()
			s.bind(1, 2)
			s.dispatch()
			s.end()
			s.run(2)
		}, "", "", ""},

		{"dispatch after the end", func(s *scene) {
			s.end()
			s.dispatch()
		}, encoder, dispatch, "sent after endEncoding"},
		{"end twice", func(s *scene) {
			s.end()
			s.end()
		}, encoder, "endEncoding", "sent after endEncoding"},
		{"commit without an end", func(s *scene) { s.send(s.cmd, "commit") }, buffer, "commit", "encoder is open"},
		{"commit twice", func(s *scene) {
			s.end()
			s.send(s.cmd, "commit")
			s.send(s.cmd, "commit")
			s.send(s.cmd, "waitUntilCompleted")
		}, buffer, "commit", "committed twice"},
		{"encode after commit", func(s *scene) {
			s.end()
			s.send(s.cmd, "commit")
			s.send(s.cmd, "computeCommandEncoder")
			s.send(s.cmd, "waitUntilCompleted")
		}, buffer, "computeCommandEncoder", "encoded after commit"},
		{
			"two encoders", func(s *scene) { s.send(s.cmd, "computeCommandEncoder") },
			buffer, "computeCommandEncoder", "an encoder is still open",
		},
		{"dispatch type that is none", func(s *scene) {
			s.end()
			s.send(s.cmd, "computeCommandEncoderWithDispatchType:", 2)
		}, buffer, "computeCommandEncoderWithDispatchType:", "no MTLDispatchType"},
		{"signal beside an encoder", func(s *scene) {
			s.send(s.cmd, "encodeSignalEvent:value:", uintptr(s.event), 1)
		}, buffer, "encodeSignalEvent:value:", "an encoder is still open"},
		{"event that goes down", func(s *scene) {
			s.end()
			s.send(s.cmd, "encodeSignalEvent:value:", uintptr(s.event), 2)
			s.send(s.cmd, "encodeSignalEvent:value:", uintptr(s.event), 2)
		}, buffer, "encodeSignalEvent:value:", "value 2 does not go up"},
		{"event that the program sets down", func(s *scene) {
			s.send(s.event, "setSignaledValue:", 5)
			s.send(s.event, "setSignaledValue:", 4)
		}, "MTLSharedEvent", "setSignaledValue:", "value 4 goes down"},
		{
			"wait for what is not committed", func(s *scene) { s.send(s.cmd, "waitUntilCompleted") },
			buffer, "waitUntilCompleted", "not committed",
		},
		{"more command buffers than the queue takes", func(s *scene) {
			for range 4 {
				s.send(s.queue, "commandBuffer")
			}
		}, "MTLCommandQueue", "commandBuffer", "this waits for ever"},
		{"buffer released too early", func(s *scene) {
			s.dispatch()
			s.send(s.data, "release")
		}, "MTLBuffer", "release", "while a command buffer in flight uses it"},
		{"buffer that the command buffer retains", func(s *scene) {
			s.end()
			s.commandOf("commandBuffer")
			s.bind(0, 1)
			b := s.buffer(slotBytes, untracked)
			s.send(s.enc, "setBuffer:offset:atIndex:", uintptr(b), 0, 4)
			s.dispatch()
			s.send(b, "release")
			s.end()
			s.run(1)
		}, "", "", ""},
		{"encoder without an end", func(s *scene) {
			s.end()
			p := s.r.PushPool()
			s.get(s.cmd, "computeCommandEncoder")
			s.r.PopPool(p)
		}, "", "", "was released without endEncoding"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t, sim.Options{})
			s.command()
			s.bind(0, 1)
			tt.encode(s)
			if tt.reason == "" {
				s.right()
			} else {
				s.wrong(tt.class, tt.selector, tt.reason)
			}
			s.finish()
		})
	}
}

// finish ends what a test left open.
func (s *scene) finish() {
	s.end()
	s.violations()
}

// pages is page-aligned memory of n bytes.
func pages(c *client, n int) uintptr {
	b := make([]byte, n+1<<14)
	c.kept = append(c.kept, b)
	p := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return (p + 1<<14 - 1) >> 14 << 14
}

// TestExecution runs a chain of three norms in one command buffer and compares with the driver for the host.
func TestExecution(t *testing.T) {
	s := newScene(t, sim.Options{})
	mem := s.bytes(s.data)
	x := gputest.Normal(gputest.Rand(t.Name()), 1, 64)
	copy(mem, gputest.F32Bytes(x))
	s.command()
	for i := range uintptr(3) {
		if i > 0 {
			s.barrier()
		}
		s.bind(i, i+1)
		s.dispatch()
	}
	s.end()
	if !s.run(1) {
		t.Fatal("no signal")
	}
	if got := s.send(s.cmd, "status"); got != 4 {
		t.Errorf("got status %d, want completed", got)
	}
	if id := s.send(s.cmd, "error"); id != 0 {
		t.Errorf("got an error %#x", id)
	}
	if got := s.send(s.event, "signaledValue"); got != 1 {
		t.Errorf("got value %d", got)
	}
	sum := 0.0
	for _, v := range gputest.ToF32(mem[slotBytes : 2*slotBytes]) {
		sum += float64(v) * float64(v)
	}
	if sum < 63 || sum > 65 {
		t.Errorf("the squares of a norm of 64 values add up to %v", sum)
	}
	first := string(mem[slotBytes : 2*slotBytes])
	if string(mem[3*slotBytes:4*slotBytes]) == string(make([]byte, slotBytes)) {
		t.Error("the third norm did not run")
	}
	if st := s.r.Stats(); st.Dispatches != 3 || st.Barriers != 2 || st.CommandBuffers != 1 || st.Programs != 1 {
		t.Errorf("got %+v", st)
	}
	// The same again is not compiled again; other parameters are.
	for range 2 {
		s.command()
		s.bind(0, 1)
		s.dispatch()
		s.end()
		s.send(s.cmd, "commit")
		s.send(s.cmd, "waitUntilCompleted")
	}
	if got := s.r.Stats().Programs; got != 2 {
		t.Errorf("got %d programs, want 2", got)
	}
	if string(mem[slotBytes:2*slotBytes]) != first {
		t.Error("the same norm has another result")
	}
	s.right()
}

// TestStepBuffers lets one command buffer serve two step buffers.
func TestStepBuffers(t *testing.T) {
	s := newScene(t, sim.Options{})
	other := s.buffer(uintptr(len(s.bytes(s.step))), untracked) // no live rows
	s.command()
	for i, step := range []metal.ID{s.step, other, s.step} {
		s.bind(0, uintptr(1+i))
		s.send(s.enc, "setBuffer:offset:atIndex:", uintptr(step), 0, 1)
		s.dispatch()
	}
	s.end()
	s.run(1)
	for i, want := range []bool{true, false, true} {
		mem := s.bytes(s.data)[(1+i)*slotBytes:][:4]
		if got := string(mem) != "\x00\x00\x00\x00"; got != want {
			t.Errorf("dispatch %d: wrote %v, want %v", i, got, want)
		}
	}
	if got := s.r.Stats().Programs; got != 3 {
		t.Errorf("got %d programs, want 3: one a run of one step buffer", got)
	}
	s.right()
}
