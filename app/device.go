package app

import (
	"fmt"
	"path/filepath"
	"sync"

	"sotto/engine"
	"sotto/engine/gpu"
	"sotto/engine/gpu/host"
	"sotto/engine/gpu/metal"
)

// Drivers that can be asked for by name.
const (
	DriverHost  = "host"  // kernels built for this processor, on 64-bit x86 Linux
	DriverMetal = "metal" // the GPU of a Mac
	DriverSim   = "sim"   // the Metal driver on a simulated runtime, on Linux, to find mistakes in it
)

// Drivers lists their names.
func Drivers() []string { return []string{DriverHost, DriverMetal, DriverSim} }

// openDevice opens the device of this machine, or of the driver that was asked for. Progress goes to the options'
// own function, from threads of the driver; see [progress].
func openDevice(o Options) (gpu.Device, error) {
	if o.Driver == "" {
		o.Driver = defaultDriver
	}
	switch o.Driver {
	case DriverHost:
		return host.Open(host.Options{Threads: o.Threads})
	case DriverMetal:
		return metal.Open(metalOptions(o))
	case DriverSim:
		return openSimulated(o)
	}
	return nil, fmt.Errorf("driver %q is unknown", o.Driver)
}

func metalOptions(o Options) metal.Options {
	m := metal.Options{ArchiveDir: filepath.Join(UserFolders().Cache, "pipelines")}
	if o.Progress != nil {
		m.Progress = func(done, total int) {
			o.Progress(engine.Loading{Stage: engine.StageCompiling, Done: int64(done), Total: int64(total)})
		}
	}
	return m
}

// progress passes on what several threads tell, one call at a time, until it is ended: kernels may still be compiled
// when a model answers already. While weights are packed or verified, nothing is told of the kernels that are compiled
// meanwhile: the two would take turns.
type progress struct {
	mu      sync.Mutex
	tell    func(engine.Loading) // nil: ended
	weights bool                 // a stage of theirs is not finished
}

func (p *progress) loading(l engine.Loading) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kernels := l.Stage == engine.StageCompiling
	if p.tell == nil || kernels && p.weights {
		return
	}
	p.weights = !kernels && l.Done < l.Total
	p.tell(l)
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tell = nil
}
