//go:build linux && amd64

package sim_test

import (
	"flag"
	"strings"
	"testing"
	"time"

	"sotto/engine/gpu"
	"sotto/engine/gpu/gputest"
	"sotto/engine/gpu/metal"
	"sotto/engine/gpu/metal/sim"
)

var all = flag.Bool("all", false, "run every kernel suite")

// open opens the Metal driver on a simulated runtime; whatever was wrong by the end fails the test.
func open(t testing.TB, o sim.Options) *sim.Device {
	t.Helper()
	return openDriver(t, o, metal.Options{})
}

// openBuilt is open when all kernels are built, so that nothing goes on in the background.
func openBuilt(t testing.TB, o sim.Options) *sim.Device {
	t.Helper()
	built := make(chan struct{})
	dev := openDriver(t, o, metal.Options{Progress: func(done, total int) {
		if done == total {
			close(built)
		}
	}})
	<-built
	for strings.Contains(strings.Join(dev.Runtime().Live(), " "), "MTLLibrary") { // given up at the very end
		time.Sleep(time.Millisecond)
	}
	return dev
}

func openDriver(t testing.TB, o sim.Options, driver metal.Options) *sim.Device {
	t.Helper()
	dev, err := sim.Open(o, driver)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return dev
}

func TestConformance(t *testing.T) {
	for _, s := range systems {
		t.Run(s.name, func(t *testing.T) {
			gputest.Run(t, func(t *testing.T) gpu.Device { return open(t, sim.Options{OS: s.os, GPU: s.gpu}) })
		})
	}
}

// systems are the oldest and newest that are played.
var systems = []struct {
	name string
	os   metal.System
	gpu  sim.Profile
}{
	{"macOS 14, M1", metal.System{Major: 14, Minor: 0, Build: "23A344"}, sim.M1},
	{"macOS 15, M4", metal.System{Major: 15, Minor: 6, Build: "24G84"}, sim.M4},
	{"macOS 26, M5", metal.System{Major: 26, Minor: 2, Build: "25C56"}, sim.M5},
}

func BenchmarkReplay(b *testing.B) { gputest.BenchReplay(b, openBuilt(b, sim.Options{})) }
