package sim

import (
	"math"
	"unsafe"

	"sotto/engine/gpu/metal"
)

// fits checks arguments by their codes: objects are alive and of their class, truth values are 0 or 1, numbers are as
// wide as they may be.
func (r *Runtime) fits(f *method, a *args) bool {
	at := 0
	for i := range f.params {
		p := &f.params[i]
		if !r.fit(p, i, a[at]) {
			return false
		}
		at += p.words
	}
	return true
}

// fit checks argument i, or the first word of it.
func (r *Runtime) fit(p *parameter, i int, v uintptr) bool {
	switch {
	case p.code == "@" || p.code == "#":
		return v == 0 || r.argument(p, i, v)
	case p.code == "@?" && v != 0:
		r.violate("argument %d is a block, which a messenger cannot make", i)
	case p.code == "B" && v > 1:
		r.violate("argument %d is %d, want YES or NO", i, v)
	case p.code == "I" && v > math.MaxUint32:
		r.violate("argument %d is %d, which has more than 32 bits", i, v)
	case p.code == ":" && (v == 0 || v >= uintptr(len(r.names))):
		r.violate("argument %d is no selector", i)
	case p.code == "{" && v == 0:
		r.violate("argument %d is a struct that goes by its address, which is 0", i)
	default:
		return true
	}
	return false
}

// argument checks an object that is an argument.
func (r *Runtime) argument(p *parameter, i int, v uintptr) bool {
	o := r.alive(metal.ID(v), "argument")
	if o == nil {
		return false
	}
	if p.code == "@" && r.facts.Types[p.class] != nil && !r.facts.is(o.class.name, p.class) {
		r.violate("argument %d is %s, want %s", i, o, p.class)
		return false
	}
	return true
}

// object returns an argument that must not be nil; its class is known to be right.
func (r *Runtime) object(v uintptr, what string) *object {
	if v == 0 {
		r.violate("%s must not be nil", what)
		return nil
	}
	return r.slots[index(metal.ID(v))].object
}

// optional returns an argument that may be nil.
func (r *Runtime) optional(v uintptr) *object {
	if v == 0 {
		return nil
	}
	return r.slots[index(metal.ID(v))].object
}

// pointer makes a pointer of an address that a message brought.
func pointer(addr uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&addr)) }

// words reads memory that an argument points to.
func words(addr uintptr, n int) []uintptr { return unsafe.Slice((*uintptr)(pointer(addr)), n) }

// address is where memory begins.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// truth is a BOOL.
func truth(b bool) uintptr {
	if b {
		return 1
	}
	return 0
}
