package sim

import (
	"fmt"
	"math"
	"slices"

	"sotto/engine/gpu/metal"
)

// forever is the count of objects that are not counted, classes.
const forever = math.MaxInt32 / 2

// slot is a place for an object. Its generation tells a new object from one that was there before.
type slot struct {
	object     *object
	generation uint32
	last       string // class of the object before
}

// An identifier is a slot and its generation, shifted so that it is aligned as a pointer is.
const slotBits, shift = 28, 4

func index(id metal.ID) int { return int(id >> shift & (1<<slotBits - 1)) }

// object is an object. refs are the references of the program, autorelease pools included; inner are those of other
// objects and of work in flight.
type object struct {
	id     metal.ID
	class  *class
	refs   int
	pooled int // those of refs that a pool holds
	inner  int
	label  string

	// One of these is what the object is.
	text     *text
	failure  *failure
	array    []*object
	path     string // NSURL
	buffer   *buffer
	options  *compileOptions
	library  *librarySource
	function *function
	descr    *descriptor
	pipeline *pipeline
	archive  *archive
	set      *residencySet
	queue    *queue
	command  *command
	encoder  *encoder
	event    *event
	fence    *fence
}

// String names the object for messages.
func (o *object) String() string {
	name := o.class.name
	if o.class.meta {
		name = "class " + name
	}
	if o.label != "" {
		return fmt.Sprintf("%s %#x (%s)", name, o.id, o.label)
	}
	return fmt.Sprintf("%s %#x", name, o.id)
}

// add makes an object with one reference.
func (r *Runtime) add(c *class) *object {
	var n uint32
	if last := len(r.free) - 1; last >= 0 {
		n, r.free = r.free[last], r.free[:last]
	} else {
		n = uint32(len(r.slots))
		r.slots = append(r.slots, slot{})
	}
	o := r.spare.object()
	s := &r.slots[n]
	s.generation++
	s.object = o
	o.id = metal.ID(s.generation)<<(slotBits+shift) | metal.ID(n)<<shift
	o.class, o.refs = c, 1
	return o
}

// make makes an object of a class or protocol that exists.
func (r *Runtime) make(name string) *object { return r.add(r.class(name, false)) }

// receiver returns the object that a message goes to.
func (r *Runtime) receiver(id metal.ID) *object {
	if id == 0 {
		r.violate("sent to nil")
		return nil
	}
	return r.alive(id, "receiver")
}

// alive returns an object that the program holds.
func (r *Runtime) alive(id metal.ID, what string) *object {
	n := index(id)
	if n == 0 || n >= len(r.slots) || uint32(id>>(slotBits+shift)) > r.slots[n].generation || id&(1<<shift-1) != 0 {
		r.violate("the %s %#x is no object", what, id)
		return nil
	}
	s := &r.slots[n]
	switch {
	case s.object == nil || s.object.id != id:
		r.violate("the %s %#x was used after its release (%s)", what, id, s.last)
		return nil
	case s.object.refs == 0:
		r.violate("the %s %v was used after its last reference was given back", what, s.object)
		return nil
	}
	return s.object
}

// retain takes a reference for another object or for work in flight.
func (o *object) retain() *object {
	o.inner++
	return o
}

// release gives back a reference of another object's.
func (r *Runtime) release(o *object) {
	if o == nil {
		return
	}
	o.inner--
	r.collect(o)
}

// drop gives back a reference of the program's.
func (r *Runtime) drop(o *object) {
	o.refs--
	if o.refs == 0 {
		r.lastReference(o)
	}
	r.collect(o)
}

// lastReference looks at an object that the program has given up.
func (r *Runtime) lastReference(o *object) {
	switch {
	case o.encoder != nil && o.encoder.open:
		r.violate("%v was released without endEncoding", o)
	case o.buffer != nil && slices.ContainsFunc(o.buffer.sets, (*residencySet).holds):
		r.violate("%v was released while it is in a residency set", o)
	case o.buffer != nil && o.buffer.flying > 0:
		r.violate("%v was released while a command buffer in flight uses it", o)
	case o.set != nil && o.set.holds() && len(o.set.members) > 0:
		r.violate("%v was released while it is resident or a command queue has it", o)
	}
}

// collect ends an object that nobody holds.
func (r *Runtime) collect(o *object) {
	if o.refs > 0 || o.inner > 0 {
		return
	}
	s := &r.slots[index(o.id)]
	s.last = o.class.name
	s.object = nil
	r.free = append(r.free, uint32(index(o.id)))
	for _, e := range o.array {
		r.release(e)
	}
	switch {
	case o.buffer != nil:
		r.endBuffer(o)
	case o.function != nil:
		r.release(o.function.library)
	case o.descr != nil:
		r.endDescriptor(o.descr)
	case o.set != nil:
		r.endSet(o.set)
	case o.queue != nil:
		r.endQueue(o.queue)
	case o.command != nil:
		r.endCommand(o.command)
	case o.encoder != nil:
		r.endEncoder(o.encoder)
	}
	r.spare.put(o)
}

func objectBehaviours() behaviours {
	return behaviours{"NSObject": {
		"-retain": func(_ *Runtime, o *object, _ *args) uintptr {
			if o.refs < forever {
				o.refs++
			}
			return uintptr(o.id)
		},
		"-release": func(r *Runtime, o *object, _ *args) uintptr {
			switch {
			case o.refs >= forever:
			case o.refs <= o.pooled:
				r.violate("%v was released more often than it was retained", o)
			default:
				r.drop(o)
			}
			return 0
		},
		"-autorelease": func(r *Runtime, o *object, _ *args) uintptr {
			if o.refs <= o.pooled {
				r.violate("%v was autoreleased more often than it was retained", o)
				return 0
			}
			return r.autorelease(o)
		},
		"-retainCount": func(_ *Runtime, o *object, _ *args) uintptr { return uintptr(o.refs + o.inner) },
		"-self":        func(_ *Runtime, o *object, _ *args) uintptr { return uintptr(o.id) },
		"-respondsToSelector:": func(r *Runtime, o *object, a *args) uintptr {
			return truth(r.lookUp(o.class, metal.Sel(a[0])).known)
		},
		"+new":   newObject,
		"+alloc": newObject,
		"-init":  func(_ *Runtime, o *object, _ *args) uintptr { return uintptr(o.id) },
	}}
}

// newObject makes an object of one of the classes that can be made so.
func newObject(r *Runtime, o *object, _ *args) uintptr {
	n := r.make(o.class.name)
	switch o.class.name {
	case "MTLCompileOptions":
		n.options = &compileOptions{fast: true}
	case "MTLComputePipelineDescriptor", "MTLBinaryArchiveDescriptor", "MTLResidencySetDescriptor":
		n.descr = &descriptor{}
	default:
		r.violate("the simulator does not make objects of this class so")
		r.drop(n)
		return 0
	}
	return uintptr(n.id)
}
