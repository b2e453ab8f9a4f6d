package sim

import "slices"

// residencySet is an MTLResidencySet. Changes count once they are committed.
type residencySet struct {
	members  []*object
	leaving  []*object // removed, until that is committed
	changed  bool
	resident bool
	queues   []*queue
}

func residencyBehaviours() behaviours {
	return behaviours{
		"MTLResidencySetDescriptor": labelled(map[string]behaviour{
			"-setInitialCapacity:": func(_ *Runtime, o *object, a *args) uintptr {
				o.descr.capacity = a[0]
				return 0
			},
		}),
		"MTLResidencySet": labelled(map[string]behaviour{
			"-addAllocation:":    addAllocation,
			"-removeAllocation:": removeAllocation,
			"-allocationCount":   func(_ *Runtime, o *object, _ *args) uintptr { return uintptr(len(o.set.members)) },
			"-containsAllocation:": func(r *Runtime, o *object, a *args) uintptr {
				return truth(slices.Contains(o.set.members, r.optional(a[0])))
			},
			"-commit": func(r *Runtime, o *object, _ *args) uintptr {
				o.set.changed = false
				r.letLeave(o.set)
				return 0
			},
			"-requestResidency": func(r *Runtime, o *object, _ *args) uintptr {
				if o.set.changed {
					r.violate("changes of %v are not committed", o)
				}
				o.set.resident = true
				return 0
			},
			"-endResidency": func(_ *Runtime, o *object, _ *args) uintptr {
				o.set.resident = false
				return 0
			},
		}),
	}
}

func newResidencySet(r *Runtime, _ *object, a *args) uintptr {
	d := r.object(a[0], "the descriptor")
	switch {
	case d == nil:
		return 0
	case r.removed:
		return r.fail(a[1], gone())
	}
	if f := r.strikes(ResidencyFails, ""); f != nil {
		return r.fail(a[1], failure{stateDomain, 1, f.reason("no residency set can be made")})
	}
	o := r.make("MTLResidencySet")
	o.set = &residencySet{}
	o.label = d.label
	return uintptr(o.id)
}

func addAllocation(r *Runtime, o *object, a *args) uintptr {
	b := r.object(a[0], "the allocation")
	switch {
	case b == nil:
	case b.buffer == nil:
		r.violate("%v is no buffer", b)
	case slices.Contains(o.set.members, b):
		r.violate("%v is in the set already", b)
	default:
		o.set.members = append(o.set.members, b.retain())
		o.set.changed = true
		b.buffer.sets = append(b.buffer.sets, o.set)
	}
	return 0
}

func removeAllocation(r *Runtime, o *object, a *args) uintptr {
	b := r.object(a[0], "the allocation")
	if b == nil {
		return 0
	}
	i := slices.Index(o.set.members, b)
	if i < 0 {
		r.violate("%v is not in the set", b)
		return 0
	}
	o.set.members = slices.Delete(o.set.members, i, i+1)
	o.set.leaving = append(o.set.leaving, b)
	o.set.changed = true
	return 0
}

// letLeave carries out what was removed.
func (r *Runtime) letLeave(s *residencySet) {
	for _, b := range s.leaving {
		r.leave(s, b)
	}
	s.leaving = nil
}

// leave takes a buffer out of a set's members.
func (r *Runtime) leave(s *residencySet, b *object) {
	i := slices.Index(b.buffer.sets, s)
	b.buffer.sets = slices.Delete(b.buffer.sets, i, i+1)
	r.release(b)
}

// holds reports whether the set keeps its members where the device reaches them.
func (s *residencySet) holds() bool { return s.resident || len(s.queues) > 0 }

// endSet lets go of the members.
func (r *Runtime) endSet(s *residencySet) {
	r.letLeave(s)
	for _, b := range s.members {
		r.leave(s, b)
	}
	s.members = nil
}
