//go:build linux && amd64

package sim_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sotto/engine/gpu"
	"sotto/engine/gpu/metal"
	"sotto/engine/gpu/metal/sim"
)

// TestFaults injects each failure and looks at what the program sees of it.
func TestFaults(t *testing.T) {
	t.Run("no device", func(t *testing.T) {
		c := begin(t, sim.Options{Inject: []sim.Fault{{Kind: sim.NoDevice}}})
		if c.dev != 0 {
			t.Errorf("got device %#x", c.dev)
		}
		if c.dev = c.r.DefaultDevice(); c.dev == 0 {
			t.Error("a fault that strikes once strikes twice")
		}
	})
	t.Run("allocation", func(t *testing.T) {
		c := begin(t, sim.Options{Inject: []sim.Fault{{Kind: sim.AllocationFails, After: 1, Times: 2}}})
		for i, want := range []bool{true, false, false, true} {
			if got := c.buffer(16, 0) != 0; got != want {
				t.Errorf("allocation %d: got %v, want %v", i, got, want)
			}
		}
		c.right()
	})
	t.Run("library", func(t *testing.T) {
		c := begin(t, sim.Options{Inject: []sim.Fault{{Kind: sim.LibraryFails, Reason: "no", Times: -1}}})
		for range 2 {
			code, text := c.failed(func(e uintptr) {
				if id := c.library("kernel void f() {}", e); id != 0 {
					t.Errorf("got library %#x", id)
				}
			})
			if code != 3 || text != "no" {
				t.Errorf("got error %d, %q", code, text)
			}
		}
		c.right()
	})
	t.Run("pipeline", func(t *testing.T) {
		c := begin(t, sim.Options{Inject: []sim.Fault{{Kind: sim.PipelineFails, On: norm.Kernel.Name}}})
		if id := c.pipeline(norm.Kernel.Name); id != 0 {
			t.Errorf("got pipeline %#x", id)
		}
		if id := c.pipeline(norm.Kernel.Name); id == 0 {
			t.Error("got no pipeline the second time")
		}
		c.right()
	})
	t.Run("residency set", func(t *testing.T) {
		c := begin(t, sim.Options{Inject: []sim.Fault{{Kind: sim.ResidencyFails}}})
		if id := c.residencySet(); id != 0 {
			t.Errorf("got set %#x", id)
		}
		c.right()
	})
	t.Run("queue", func(t *testing.T) {
		c := begin(t, sim.Options{Inject: []sim.Fault{{Kind: sim.QueueFails}}})
		if id := c.send(c.dev, "newCommandQueue"); id != 0 {
			t.Errorf("got queue %#x", id)
		}
		c.right()
	})
}

// TestCommandFaults fails command buffers.
func TestCommandFaults(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fault  sim.Fault
		code   int
		text   string
		signal bool
	}{
		{"internal", sim.Fault{Kind: sim.CommandFails, Code: 1}, 1, "Internal Error", false},
		{"time-out", sim.Fault{Kind: sim.CommandFails, Code: 2}, 2, "GPU Timeout", false},
		{"page fault", sim.Fault{Kind: sim.CommandFails, Code: 3}, 3, "Address Fault", false},
		{"access revoked", sim.Fault{Kind: sim.CommandFails, Code: 4}, 4, "SubmissionsIgnored", false},
		{"not permitted", sim.Fault{Kind: sim.CommandFails, Code: 7}, 7, "Permission", false},
		{"out of memory", sim.Fault{Kind: sim.CommandFails, Code: 8}, 8, "Insufficient Memory", false},
		{"invalid resource", sim.Fault{Kind: sim.CommandFails, Code: 9}, 9, "Invalid Resource", false},
		{"memoryless", sim.Fault{Kind: sim.CommandFails, Code: 10}, 10, "Memoryless", false},
		{"stack overflow", sim.Fault{Kind: sim.CommandFails, Code: 12}, 12, "Stack Overflow", false},
		{"in other words", sim.Fault{Kind: sim.CommandFails, Code: 3, Reason: "oh"}, 3, "oh", false},
		{"signalled all the same", sim.Fault{Kind: sim.CommandFails, Code: 3, Signals: true}, 3, "Fault", true},
		{"device removed", sim.Fault{Kind: sim.DeviceRemoved}, 11, "removed", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t, sim.Options{Inject: []sim.Fault{tt.fault}})
			s.command()
			s.bind(0, 1)
			s.dispatch()
			s.end()
			s.send(s.cmd, "encodeSignalEvent:value:", uintptr(s.event), 1)
			s.send(s.cmd, "commit")
			s.send(s.cmd, "waitUntilCompleted")
			if got := s.send(s.cmd, "status"); got != 5 {
				t.Errorf("got status %d, want error", got)
			}
			e := s.get(s.cmd, "error")
			if got := s.text(s.get(e, "domain")); got != "MTLCommandBufferErrorDomain" {
				t.Errorf("got domain %q", got)
			}
			code, text := int(s.send(e, "code")), s.text(s.get(e, "localizedDescription"))
			if code != tt.code || !strings.Contains(text, tt.text) {
				t.Errorf("got error %d, %q, want %d, %q", code, text, tt.code, tt.text)
			}
			if got := s.send(s.event, "waitUntilSignaledValue:timeoutMS:", 1, 1) == 1; got != tt.signal {
				t.Errorf("the event was signalled: %v, want %v", got, tt.signal)
			}
			if got := s.bytes(s.data)[slotBytes]; got != 0 {
				t.Error("the dispatch ran")
			}
			if removed := tt.fault.Kind == sim.DeviceRemoved; (s.buffer(16, 0) == 0) != removed ||
				(s.send(s.queue, "commandBuffer") == 0) != removed {
				t.Errorf("the device serves on: %v, want %v", removed, !removed)
			}
			s.right()
		})
	}
}

// TestLossWithWorkBehind closes a device that was lost while the command buffer behind the one that failed still runs:
// its memory must stay until that is over.
func TestLossWithWorkBehind(t *testing.T) {
	for _, code := range []int{4, 11} {
		dev, err := sim.Open(sim.Options{Inject: []sim.Fault{
			{Kind: sim.Slow, Times: 2, Delay: 100 * time.Millisecond},
			{Kind: sim.CommandFails, Code: code, Signals: true},
		}}, metal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		x, step := normProgram(t, dev)
		var n [2]uint64
		for i := range n {
			if n[i], err = dev.Submit(x, step); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range n {
			if err := dev.Wait(t.Context(), n); !errors.Is(err, gpu.ErrLost) {
				t.Errorf("code %d: got %v, want ErrLost", code, err)
			}
		}
		x.Free()
		step.Free()
		if err := dev.Close(); err != nil {
			t.Errorf("code %d: close: %v", code, err)
		}
	}
}

// TestOvercommitted allocates more than the working set.
func TestOvercommitted(t *testing.T) {
	s := newScene(t, sim.Options{GPU: sim.Profile{Name: "small", Family: 7, WorkingSet: 1 << 20, MaxBuffer: 1 << 20}})
	b := s.buffer(1<<20, untracked)
	s.command()
	s.bind(0, 1)
	s.dispatch()
	s.end()
	s.send(s.cmd, "commit")
	s.send(s.cmd, "waitUntilCompleted")
	if got := s.send(s.get(s.cmd, "error"), "code"); got != 8 {
		t.Errorf("got error %d, want out of memory", got)
	}
	if s.buffer(1<<20, untracked) != 0 {
		t.Error("got more than there is")
	}
	s.send(b, "release")
	if got := s.send(s.dev, "currentAllocatedSize"); got > 1<<17 {
		t.Errorf("got %d bytes in use", got)
	}
	s.right()
}

// TestHang lets a command buffer never end.
func TestHang(t *testing.T) {
	s := newScene(t, sim.Options{Inject: []sim.Fault{{Kind: sim.Hang, After: 1}}})
	for i := range uintptr(2) {
		s.command()
		s.bind(2*i, 2*i+1)
		s.dispatch()
		s.end()
		s.send(s.cmd, "encodeSignalEvent:value:", uintptr(s.event), 1+i)
		s.send(s.cmd, "commit")
		if got := s.send(s.event, "waitUntilSignaledValue:timeoutMS:", 1+i, 200); got != 1-i {
			t.Errorf("command buffer %d: got a signal %d", i, got)
		}
	}
	if got := s.send(s.cmd, "status"); got != 3 {
		t.Errorf("got status %d, want scheduled", got)
	}
	s.send(s.data, "release") // it is over with the device
	s.right()
}

// TestDriver sees the failures through the driver.
func TestDriver(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault sim.Fault
		want  error
	}{
		{"out of memory", sim.Fault{Kind: sim.CommandFails, Code: 8}, gpu.ErrOutOfMemory},
		{"device removed", sim.Fault{Kind: sim.DeviceRemoved}, gpu.ErrLost},
		{"hang", sim.Fault{Kind: sim.Hang}, gpu.ErrLost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := metal.Options{Timeout: 100 * time.Millisecond}
			dev, err := sim.Open(sim.Options{Inject: []sim.Fault{tt.fault}}, o)
			if err != nil {
				t.Fatal(err)
			}
			x, step := normProgram(t, dev)
			n, err := dev.Submit(x, step)
			if err == nil {
				err = dev.Wait(t.Context(), n)
			}
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if err := dev.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	t.Run("no device", func(t *testing.T) {
		_, err := sim.Open(sim.Options{Inject: []sim.Fault{{Kind: sim.NoDevice}}}, metal.Options{})
		if !errors.Is(err, metal.ErrNoDevice) {
			t.Errorf("got %v", err)
		}
	})
}

// TestTier opens the driver on each GPU and system.
func TestTier(t *testing.T) {
	macOS26 := metal.System{Major: 26, Minor: 1, Build: "25B1"}
	for _, tt := range []struct {
		name   string
		os     metal.System
		gpu    sim.Profile
		inject []sim.Fault
		want   string
	}{
		{"M1", macOS14, sim.M1, nil, "simdgroup"},
		{"M2", macOS14, sim.M2, nil, "simdgroup"},
		{"M3", macOS26, sim.M3, nil, "simdgroup"},
		{"M4", metal.System{}, sim.M4, nil, "simdgroup"},
		{"M5 before 26.2", macOS26, sim.M5, nil, "simdgroup"},
		{"M5", metal.System{}, sim.M5, nil, "tensor"},
		{"M5 that computes wrongly", metal.System{}, sim.M5, []sim.Fault{{Kind: sim.WrongResult}}, "simdgroup"},
		{
			"M5 without the headers",
			metal.System{},
			sim.M5,
			[]sim.Fault{{Kind: sim.PipelineFails, On: "probe_tensor"}},
			"simdgroup",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dev := open(t, sim.Options{OS: tt.os, GPU: tt.gpu, Inject: tt.inject})
			got := dev.Caps()
			if got.Tier != tt.want || got.Name != tt.gpu.Name || got.MemoryLimit != tt.gpu.WorkingSet {
				t.Errorf("got %+v, want tier %s", got, tt.want)
			}
		})
	}
	if n := len(sim.Profiles()); n != 5 {
		t.Errorf("got %d profiles", n)
	}
}

// TestArchives writes an archive and reads it again, damaged and on another system too.
func TestArchives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.metalarchive")
	text := "kernel void " + norm.Kernel.Name + "() {}"
	const build = "newComputePipelineStateWithDescriptor:options:reflection:error:"
	// archive reads the file, or begins a new one, and returns it with a pipeline's descriptor.
	archive := func(c *client, read bool, e uintptr) (id, descriptor metal.ID) {
		d := c.get(c.class("MTLBinaryArchiveDescriptor"), "new")
		if read {
			url := c.get(c.class("NSURL"), "fileURLWithPath:", uintptr(c.str(path)))
			c.send(d, "setUrl:", uintptr(url))
		}
		id = c.get(c.dev, "newBinaryArchiveWithDescriptor:error:", uintptr(d), e)
		if id == 0 {
			return 0, 0
		}
		f := c.get(c.library(text, 0), "newFunctionWithName:", uintptr(c.str(norm.Kernel.Name)))
		descriptor = c.get(c.class("MTLComputePipelineDescriptor"), "new")
		c.send(descriptor, "setComputeFunction:", uintptr(f))
		list := c.get(c.class("NSArray"), "arrayWithObject:", uintptr(id))
		c.send(descriptor, "setBinaryArchives:", uintptr(list))
		return id, descriptor
	}
	url := func(c *client) uintptr {
		return uintptr(c.get(c.class("NSURL"), "fileURLWithPath:isDirectory:", uintptr(c.str(path)), 0))
	}
	t.Run("write", func(t *testing.T) {
		c := begin(t, sim.Options{})
		a, d := archive(c, false, 0)
		if code, _ := c.failed(func(e uintptr) { c.send(a, "serializeToURL:error:", url(c), e) }); code == 0 {
			t.Error("an empty archive was written")
		}
		if code, text := c.failed(func(e uintptr) { c.send(c.dev, build, uintptr(d), 4, 0, e) }); code == 0 {
			t.Errorf("an empty archive has the pipeline: %q", text)
		}
		if c.send(a, "addComputePipelineFunctionsWithDescriptor:error:", uintptr(d), 0) != 1 ||
			c.send(a, "serializeToURL:error:", url(c), 0) != 1 {
			t.Error("the archive was not written")
		}
		if c.send(c.dev, build, uintptr(d), 4, 0, 0) == 0 {
			t.Error("the archive does not have the pipeline")
		}
		c.right()
	})
	t.Run("read", func(t *testing.T) {
		c := begin(t, sim.Options{})
		if _, d := archive(c, true, 0); c.send(c.dev, build, uintptr(d), 4, 0, 0) == 0 {
			t.Error("the archive does not have the pipeline")
		}
		c.right()
	})
	t.Run("of another system", func(t *testing.T) {
		c := begin(t, sim.Options{OS: macOS14})
		if _, d := archive(c, true, 0); c.send(c.dev, build, uintptr(d), 4, 0, 0) != 0 {
			t.Error("took another system's pipeline")
		}
		c.right()
	})
	for _, on := range []string{"read", "add", "write"} {
		t.Run("fails to "+on, func(t *testing.T) {
			c := begin(t, sim.Options{Inject: []sim.Fault{{Kind: sim.ArchiveFails, On: on, Reason: on}}})
			_, text := c.failed(func(e uintptr) {
				a, d := archive(c, on == "read", e)
				if a == 0 {
					return
				}
				if c.send(a, "addComputePipelineFunctionsWithDescriptor:error:", uintptr(d), e) == 1 {
					c.send(a, "serializeToURL:error:", url(c), e)
				}
			})
			if text != on {
				t.Errorf("got %q", text)
			}
			c.right()
		})
	}
	t.Run("damaged", func(t *testing.T) {
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		c := begin(t, sim.Options{})
		if code, text := c.failed(func(e uintptr) { archive(c, true, e) }); code != 1 || text == "" {
			t.Errorf("got error %d, %q", code, text)
		}
		c.right()
	})
}
