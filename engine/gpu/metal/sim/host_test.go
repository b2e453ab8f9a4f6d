//go:build linux && amd64

package sim_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sotto/engine/gpu"
	"sotto/engine/gpu/host"
	"sotto/engine/gpu/metal"
	"sotto/engine/gpu/metal/sim"
)

// frail is a device for execution that fails once it is told to.
type frail struct {
	gpu.Device
	err error
}

func (f *frail) Wait(ctx context.Context, n uint64) error {
	return errors.Join(f.Device.Wait(ctx, n), f.err)
}

// TestExecutionFails has the device that executes fail: the command buffer does too.
func TestExecutionFails(t *testing.T) {
	dev, err := host.Open(host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := &frail{dev, errors.New("lanes part")}
	s := newScene(t, sim.Options{Host: f})
	s.command()
	s.bind(0, 1)
	s.dispatch()
	s.end()
	s.send(s.cmd, "commit")
	s.send(s.cmd, "waitUntilCompleted")
	s.wrong("MTLCommandBuffer", "", "execution failed: lanes part")
	e := s.get(s.cmd, "error")
	if code, text := s.send(e, "code"), s.text(s.get(e, "localizedDescription")); code != 1 || text != "lanes part" {
		t.Errorf("got error %d, %q", code, text)
	}
	if err := s.r.Close(); err == nil {
		t.Error("closed with objects left")
	}
	if _, err := dev.Alloc(16); err != nil {
		t.Errorf("a device that was lent was closed: %v", err)
	}
	if err := dev.Close(); err != nil {
		t.Error(err)
	}
}

// TestManyPrograms encodes more different work than is kept compiled.
func TestManyPrograms(t *testing.T) {
	s := newScene(t, sim.Options{})
	run := func(groups uintptr) {
		p := s.r.PushPool()
		defer s.r.PopPool(p)
		s.kept = nil
		s.command()
		s.bind(0, 1)
		s.send(s.enc, "dispatchThreadgroups:threadsPerThreadgroup:", s.size(groups, 1, 1), s.size(32, 1, 1))
		s.end()
		s.send(s.cmd, "commit")
		s.send(s.cmd, "waitUntilCompleted")
	}
	for i := range uintptr(300) {
		run(1 + i)
	}
	run(300)
	if got := s.r.Stats().Programs; got != 300 {
		t.Errorf("got %d programs, want 300: the last is kept", got)
	}
	run(1)
	if got := s.r.Stats().Programs; got != 301 {
		t.Errorf("got %d programs, want 301: the first is not kept", got)
	}
	s.right()
}

// TestProperties reads and writes what else can be asked.
func TestProperties(t *testing.T) {
	s := newScene(t, sim.Options{})
	s.command()
	for _, o := range []metal.ID{s.queue, s.data, s.cmd, s.enc, s.event, s.fence} {
		s.send(o, "setLabel:", uintptr(s.str("mine")))
		if got := s.text(s.get(o, "label")); got != "mine" {
			t.Errorf("got label %q", got)
		}
	}
	set := s.residencySet()
	if s.send(set, "containsAllocation:", uintptr(s.data)) != 0 || s.send(set, "allocationCount") != 0 {
		t.Error("a new set is not empty")
	}
	s.send(set, "addAllocation:", uintptr(s.data))
	if s.send(set, "containsAllocation:", uintptr(s.data)) != 1 || s.send(set, "allocationCount") != 1 {
		t.Error("a set does not have what was added")
	}
	o := s.options()
	tracked := s.buffer(16, 0)
	for _, tt := range []struct {
		to       metal.ID
		selector string
		want     uintptr
	}{
		{s.data, "hazardTrackingMode", 1},
		{tracked, "hazardTrackingMode", 0},
		{s.data, "storageMode", 0},
		{tracked, "allocatedSize", 16 << 10},
		{s.cmd, "retainedReferences", 0},
		{s.cmd, "commandQueue", uintptr(s.queue)},
		{s.cmd, "status", 0},
		{s.enc, "dispatchType", 1},
		{o, "languageVersion", 3<<16 | 1},
		{o, "fastMathEnabled", 0},
		{o, "retainCount", 1},
		{o, "self", uintptr(o)},
		{s.get(s.class("NSArray"), "arrayWithObjects:count:", 0, 0), "count", 0},
	} {
		if got := s.send(tt.to, tt.selector); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.selector, got, tt.want)
		}
	}
	e := s.get(s.class("MTLCompileOptions"), "alloc")
	if got := s.get(e, "init"); got != e {
		t.Errorf("init of %#x gave %#x", e, got)
	}
	s.right()
	s.wrongName("MTLCommandBuffer", s.cmd)
	s.end()
}

// wrongName checks that a violation names an object by its label.
func (s *scene) wrongName(class string, o metal.ID) {
	s.t.Helper()
	s.send(o, "retain")
	s.send(o, "release")
	s.send(o, "release")
	v := s.violations()
	if len(v) != 1 || !strings.Contains(v[0].Error(), class) || !strings.Contains(v[0].Error(), "(mine)") {
		s.t.Errorf("got %v", v)
	}
}

// TestInjectLater injects a failure into a runtime that runs.
func TestInjectLater(t *testing.T) {
	c := begin(t, sim.Options{})
	if c.buffer(16, 0) == 0 {
		t.Error("no buffer")
	}
	c.r.Inject(sim.Fault{Kind: sim.AllocationFails})
	if c.buffer(16, 0) != 0 {
		t.Error("a buffer in spite of the fault")
	}
	c.right()
}
