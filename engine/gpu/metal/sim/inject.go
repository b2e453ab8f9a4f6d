package sim

import "time"

// FaultKind says what fails.
type FaultKind int

// Faults.
const (
	NoDevice        FaultKind = iota + 1 // there is no device
	AllocationFails                      // no buffer
	LibraryFails                         // a text does not compile
	PipelineFails                        // a pipeline cannot be built; On names the kernel
	ArchiveFails                         // an archive; On says at what: "read", "add" or "write"
	ResidencyFails                       // no residency set
	QueueFails                           // no command queue
	CommandFails                         // a command buffer ends with Code
	Hang                                 // a command buffer never ends, nor do those behind it
	DeviceRemoved                        // the device goes away as a command buffer starts
	WrongResult                          // a kernel that is emulated computes something else; On names it
	Slow                                 // a command buffer takes Delay longer
	SlowPass                             // a compute encoder's work takes Delay longer
	SlowPipeline                         // a pipeline that no archive holds takes Delay; On names the kernel
)

// Fault is a failure that is to come.
type Fault struct {
	Kind    FaultKind
	On      string        // only there, see the kinds; "": anywhere
	After   int           // that many times all goes well before
	Times   int           // how often; 0 is once, less than 0 for ever
	Code    int           // of MTLCommandBufferError
	Reason  string        // localizedDescription; "": what Metal says
	Signals bool          // a command buffer that fails signals its events all the same
	Delay   time.Duration // of the slow ones; with Signals, from the signal to the end
}

func (f *Fault) reason(usual string) string {
	if f.Reason != "" {
		return f.Reason
	}
	return usual
}

// Inject adds a failure.
func (r *Runtime) Inject(f Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, f)
}

// strikes returns the fault that happens now, or nil.
func (r *Runtime) strikes(kind FaultKind, on string) *Fault {
	for i := range r.faults {
		f := &r.faults[i]
		if f.Kind != kind || f.On != "" && f.On != on {
			continue
		}
		if f.After > 0 {
			f.After--
			continue
		}
		if f.Times < 0 {
			return f
		}
		found := *f
		if f.Times--; f.Times <= 0 {
			r.faults = append(r.faults[:i], r.faults[i+1:]...)
		}
		return &found
	}
	return nil
}
