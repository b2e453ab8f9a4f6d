package sim

import (
	"slices"

	"sotto/engine/gpu/metal"
)

// encoder is an MTLComputeCommandEncoder.
type encoder struct {
	command *object
	open    bool
	serial  bool
	pipe    *object
	bound   [bufferSlots]binding
	fresh   []touch // since the last barrier
	pass    *pass
	mark    uint64 // tells encoders apart
}

// binding is a buffer at a place of the argument table.
type binding struct {
	object *object
	off    int64
}

const (
	bufferSlots        = 31
	dispatchSerial     = 0
	dispatchConcurrent = 1
	scopeBuffers       = 1
	scopeTextures      = 2
	constantAlign      = 4        // of offsets into the constant address space on Apple's GPUs
	zeroBytes          = 64 << 10 // what kernels may read behind an unbound argument
)

func newEncoder(r *Runtime, o *object, kind uintptr) uintptr {
	if kind > dispatchConcurrent {
		r.violate("%d is no MTLDispatchType", kind)
		return 0
	}
	if !r.encodes(o) {
		return 0
	}
	n := r.make("MTLComputeCommandEncoder")
	e := r.spare.encoder()
	e.command, e.open, e.serial = o.retain(), true, kind == dispatchSerial
	n.encoder = e
	c := o.command
	r.marks++
	e.mark = r.marks
	e.pass = r.spare.pass()
	e.pass.first, e.pass.last = len(c.work.dispatches), len(c.work.dispatches)
	c.items = append(c.items, item{kind: itemPass, pass: len(c.passes)})
	c.passes = append(c.passes, e.pass)
	c.encoder = n
	return r.autorelease(n)
}

// endEncoder gives an encoder's command buffer back.
func (r *Runtime) endEncoder(e *encoder) {
	if e.open {
		e.command.command.encoder = nil
	}
	r.release(e.command)
}

// encoding wraps a method that may only be sent until endEncoding.
func encoding(f func(r *Runtime, e *encoder, a *args)) behaviour {
	return func(r *Runtime, o *object, a *args) uintptr {
		if !o.encoder.open {
			r.violate("sent after endEncoding")
			return 0
		}
		f(r, o.encoder, a)
		return 0
	}
}

func encoderBehaviours() behaviours {
	common := labelled(map[string]behaviour{
		"-endEncoding": encoding(func(_ *Runtime, e *encoder, _ *args) {
			e.open = false
			c := e.command.command
			c.encoder = nil
			e.pass.last = len(c.work.dispatches)
		}),
	})
	return behaviours{
		"MTLCommandEncoder": common,
		"MTLComputeCommandEncoder": {
			"-dispatchType": func(_ *Runtime, o *object, _ *args) uintptr { return truth(!o.encoder.serial) },
			"-setComputePipelineState:": encoding(func(r *Runtime, e *encoder, a *args) {
				p := r.object(a[0], "the pipeline")
				if p == nil {
					return
				}
				if e.pipe = p; p.pipeline.mark != e.mark {
					p.pipeline.mark = e.mark
					r.use(e.command.command, p)
				}
			}),
			"-setBuffer:offset:atIndex:": encoding(func(r *Runtime, e *encoder, a *args) {
				r.bind(e, metal.ID(a[0]), a[1], a[2])
			}),
			"-setBuffers:offsets:withRange:":               encoding(setBuffers),
			"-dispatchThreadgroups:threadsPerThreadgroup:": encoding(dispatchGroups),
			"-memoryBarrierWithScope:": encoding(func(r *Runtime, e *encoder, a *args) {
				if a[0] == 0 || a[0]&^uintptr(scopeBuffers|scopeTextures) != 0 {
					r.violate("%d is no MTLBarrierScope of a compute encoder", a[0])
					return
				}
				r.stats.Barriers++
				if a[0]&scopeBuffers != 0 {
					e.fresh = e.fresh[:0]
				}
			}),
			"-waitForFence:": encoding(func(r *Runtime, e *encoder, a *args) {
				if f := r.object(a[0], "the fence"); f != nil {
					if slices.Contains(e.pass.updates, f.fence) {
						r.violate("this encoder updates %v, and so cannot wait for it any more", f)
						return
					}
					r.use(e.command.command, f)
					e.pass.waits = append(e.pass.waits, f.fence)
				}
			}),
			"-updateFence:": encoding(func(r *Runtime, e *encoder, a *args) {
				if f := r.object(a[0], "the fence"); f != nil {
					r.use(e.command.command, f)
					e.pass.updates = append(e.pass.updates, f.fence)
				}
			}),
		},
	}
}

// bind sets one place of the argument table.
func (r *Runtime) bind(e *encoder, id metal.ID, off, index uintptr) {
	if index >= bufferSlots {
		r.violate("index %d, there are %d", index, bufferSlots)
		return
	}
	b := &e.bound[index]
	if id == 0 {
		*b = binding{}
		return
	}
	o := r.alive(id, "buffer")
	switch {
	case o == nil:
		*b = binding{}
		return
	case o.buffer == nil:
		r.violate("%v at index %d is no buffer", o, index)
		*b = binding{}
		return
	case off >= uintptr(o.buffer.length()):
		r.violate("offset %d at index %d is beyond the %d bytes of %v", off, index, o.buffer.length(), o)
		*b = binding{}
		return
	}
	if o.buffer.mark != e.mark {
		o.buffer.mark = e.mark
		r.use(e.command.command, o)
	}
	*b = binding{o, int64(off)}
}

func setBuffers(r *Runtime, e *encoder, a *args) {
	at, n := a[2], a[3]
	switch {
	case n > bufferSlots || at > bufferSlots-n:
		r.violate("range %d+%d, there are %d", at, n, bufferSlots)
		return
	case a[0] == 0 || a[1] == 0:
		r.violate("the buffers or offsets are NULL")
		return
	case n == 0:
		return
	}
	ids, offs := words(a[0], int(n)), words(a[1], int(n))
	for i := range ids {
		r.bind(e, metal.ID(ids[i]), offs[i], at+uintptr(i))
	}
}

func dispatchGroups(r *Runtime, e *encoder, a *args) {
	if e.pipe == nil {
		r.violate("no pipeline was set")
		return
	}
	p := e.pipe.pipeline
	grid, group := words(a[0], 3), words(a[1], 3)
	d := dispatch{pipe: p}
	for i, n := range grid {
		if n == 0 || n > 1<<31 {
			r.violate("%s: grid %v", p.kernel.Name, grid)
			return
		}
		d.grid[i] = uint32(n)
	}
	threads := group[0] * group[1] * group[2]
	switch {
	case group[0] == 0 || group[1] != 1 || group[2] != 1:
		r.violate("%s: threadgroups of %v, want rows of threads", p.kernel.Name, group)
		return
	case group[0] > uintptr(p.threads):
		r.violate("%s: %d threads a threadgroup, at most %d", p.kernel.Name, threads, p.threads)
		return
	case threads%simdLanes != 0:
		r.violate("%s: %d threads a threadgroup are no multiple of %d", p.kernel.Name, threads, simdLanes)
		return
	}
	d.simdgroups = uint32(threads / simdLanes)
	if !r.bindings(e, &d) {
		return
	}
	r.stats.Dispatches++
	c := e.command.command
	r.hazards(e, &d)
	c.work.dispatches = append(c.work.dispatches, d)
}

// bindings checks that all arguments of a dispatch are bound, and records them.
func (r *Runtime) bindings(e *encoder, d *dispatch) bool {
	p, w := d.pipe, &e.command.command.work
	k := p.kernel
	d.first = len(w.bound)
	if b := e.bound[0]; p.params > 0 {
		switch {
		case b.object == nil:
			r.violate("%s: parameters are not bound", k.Name)
			return false
		case b.off%constantAlign != 0:
			r.violate("%s: parameters at offset %d, not a multiple of %d", k.Name, b.off, constantAlign)
			return false
		case p.params > b.object.buffer.length()-b.off:
			r.violate("%s: %d bytes of parameters at %d are beyond the %d bytes of %v", k.Name, p.params, b.off,
				b.object.buffer.length(), b.object)
			return false
		}
		d.params = b.object.buffer.bytes[b.off : b.off+p.params]
	}
	for i := range k.Args {
		b := e.bound[1+i]
		switch {
		case b.object == nil:
			r.violate("%s: argument %s (index %d) is not bound", k.Name, k.Args[i].Name, 1+i)
		case b.off%argumentAlign != 0:
			r.violate("%s: argument %s at offset %d, not a multiple of %d", k.Name, k.Args[i].Name, b.off,
				argumentAlign)
		case b.object.buffer.readOnly && writes(k.Args[i]):
			r.violate("%s: argument %s is written, but %v is memory for reading", k.Name, k.Args[i].Name, b.object)
		case i == p.step && b.off != 0:
			r.violate("%s: the step buffer at offset %d, want its start", k.Name, b.off)
		default:
			w.bound = append(w.bound, b)
			continue
		}
		w.bound = w.bound[:d.first]
		return false
	}
	d.known = r.registry.find(d, w.bound[d.first:])
	if !r.inRange(d, w.bound[d.first:]) {
		w.bound = w.bound[:d.first]
		return false
	}
	return true
}

// inRange checks that buffers hold what a dispatch uses of them, as far as that is known.
func (r *Runtime) inRange(d *dispatch, bound []binding) bool {
	k := d.pipe.kernel
	for i, b := range bound {
		if d.known != nil && d.length(i) == 0 && b.object.buffer.length()-b.off < zeroBytes {
			r.violate("%s: argument %s is unbound and sees %d bytes, want %d of zeroes", k.Name, k.Args[i].Name,
				b.object.buffer.length()-b.off, zeroBytes)
		}
		if d.length(i) > b.object.buffer.length()-b.off {
			r.violate("%s: argument %s has %d bytes at %d, beyond the %d bytes of %v", k.Name, k.Args[i].Name,
				d.length(i), b.off, b.object.buffer.length(), b.object)
			return false
		}
	}
	return true
}
