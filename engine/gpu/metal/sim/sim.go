// Package sim is an Objective-C runtime with Metal in it, made of Go: it lets the Metal driver run, whole and as it
// is, on a machine without Metal. It knows every class and selector from committed facts, plays one macOS version and
// one GPU, counts references, and executes kernels through the host driver, on memory that both share.
//
// Whatever Metal, its validation layer or the Objective-C runtime would not take is a [Violation]: it is recorded and
// the message answers 0. So are things that pass on a Mac but are mistakes in this driver: a message to nil, an object
// that is used without a reference to it, fast math, ranges of untracked buffers that two dispatches use without an
// order between them. What the facts know but no code here plays is a violation too, never a silent success.
//
// Sources are preprocessed to learn which kernels they declare (package source) but not compiled: kernels run as the
// host library has them. Times, and what a real GPU does with a mistake, are not simulated. Pages have 16 KiB, as on
// Apple silicon.
package sim

import (
	"errors"
	"sync"

	"sotto/engine/gpu"
	"sotto/engine/gpu/host"
	"sotto/engine/gpu/metal"
	"sotto/kernels"
)

// Options says what is simulated.
type Options struct {
	OS   metal.System // zero: macOS 26.2
	GPU  Profile      // zero: M4
	Host gpu.Device   // executes the kernels; nil: the host driver with its embedded library, closed with the runtime
	// Inject holds failures that are to come; see [Runtime.Inject] for more, later.
	Inject []Fault
}

// Runtime is the simulated runtime; it implements [metal.Messenger] for any number of threads.
type Runtime struct {
	os         metal.System
	gpu        Profile
	host       gpu.Device
	ownHost    bool
	facts      *facts
	played     []behaviours
	kernels    map[string]*kernels.Kernel
	emulations map[string]*emulation

	mu         sync.Mutex // guards all that follows
	slots      []slot
	free       []uint32 // slots without an object
	classes    map[string]*class
	selectors  map[string]metal.Sel
	names      []string // of selectors
	pools      map[int]*pools
	spare      spares
	now        call // the message that is being answered
	stats      Stats
	violations []Violation
	faults     []Fault
	device     *object
	allocated  int64 // bytes of all buffers
	removed    bool  // the device is gone
	libraries  map[string]*librarySource
	registry   registry
	programs   programs
	order      order
	noStep     gpu.Buffer // for dispatches that see no step buffer
	marks      uint64     // encoders that were made
	closed     bool
	progress   sync.Cond // work for a queue, an event that moved, a command buffer that ended
	executors  sync.WaitGroup
}

var _ metal.Messenger = (*Runtime)(nil)

// call is a message by name.
type call struct{ class, selector string }

// Stats counts what has been sent.
type Stats struct {
	Messages       uint64 // pools not counted
	Dispatches     uint64
	Barriers       uint64
	CommandBuffers uint64 // committed
	Programs       uint64 // compiled for the host driver
}

// New makes a runtime. It is to be closed.
func New(o Options) (*Runtime, error) {
	f, err := loadFacts()
	if err != nil {
		return nil, err
	}
	if o.OS == (metal.System{}) {
		o.OS = metal.System{Major: 26, Minor: 2, Build: "25C56"}
	}
	if o.GPU.Name == "" {
		o.GPU = M4
	}
	r := &Runtime{
		os: o.OS, gpu: o.GPU, host: o.Host, facts: f, played: played(),
		kernels: map[string]*kernels.Kernel{}, emulations: emulations(),
		slots: make([]slot, 1), classes: map[string]*class{}, selectors: map[string]metal.Sel{}, names: []string{""},
		pools: map[int]*pools{}, libraries: map[string]*librarySource{},
		faults: append([]Fault(nil), o.Inject...),
	}
	r.progress.L = &r.mu
	if r.host == nil {
		if r.host, err = host.Open(host.Options{}); err != nil {
			return nil, err
		}
		r.ownHost = true
	}
	if r.noStep, err = r.host.Alloc(kernels.StepBytes); err != nil {
		return nil, errors.Join(err, r.closeHost())
	}
	for _, k := range kernels.All() {
		r.kernels[k.Name] = &k
	}
	r.registry.init()
	r.programs.init()
	return r, nil
}

// Close ends what runs, gives the memory back and returns every violation, and the objects that are still held, as
// one error.
func (r *Runtime) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	err := r.verdict()
	r.progress.Broadcast()
	r.mu.Unlock()
	r.executors.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.programs.discard(nil)
	for i := range r.slots {
		if o := r.slots[i].object; o != nil && o.buffer != nil {
			o.buffer.memory.Free()
		}
	}
	r.noStep.Free()
	return errors.Join(err, r.closeHost())
}

// closeHost closes the host driver if it is the runtime's own.
func (r *Runtime) closeHost() error {
	if !r.ownHost {
		return nil
	}
	return r.host.Close()
}

// Stats returns what has been counted.
func (r *Runtime) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// System is the macOS that is played.
func (r *Runtime) System() metal.System { return r.os }

// Selector registers a name.
func (r *Runtime) Selector(name string) metal.Sel {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.selectors[name]
	if !ok {
		s = metal.Sel(len(r.names))
		r.names = append(r.names, name)
		r.selectors[name] = s
	}
	return s
}

// Class returns the class of that name, or 0 where the system that is played lacks it. A name that no system knows is
// a violation.
func (r *Runtime) Class(name string) metal.ID {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.facts.Types[name]
	if t == nil || t.Kind != "class" {
		r.now = call{class: name}
		r.violate("there is no class of that name")
		return 0
	}
	if !r.has(t.Since[""]) {
		return 0
	}
	c := r.class(name, true)
	if c.object == nil {
		c.object = r.add(c)
		c.object.refs = forever
	}
	return c.object.id
}

// Send answers one message.
func (r *Runtime) Send(m *metal.Message) uintptr {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.send(m, r.pooled())
}

// SendAll answers messages in order.
func (r *Runtime) SendAll(ms []metal.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pooled := r.pooled()
	for i := range ms {
		r.send(&ms[i], pooled)
	}
}

// DefaultDevice returns the GPU, retained, or 0 where a fault takes it away.
func (r *Runtime) DefaultDevice() metal.ID {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.strikes(NoDevice, "") != nil || r.removed {
		return 0
	}
	if r.device == nil {
		r.device = r.add(r.class("MTLDevice", false))
		r.device.inner = 1 // the system keeps it
	} else {
		r.device.refs++
	}
	return r.device.id
}
