package metal

import (
	"errors"
	"log/slog"
)

const (
	maxSets  = 24      // of a queue, which takes 32
	leastSet = 2 << 30 // bytes
)

// residency keeps buffers in memory that the device can reach while it is idle too. The system evicts whole sets, so
// there are several, none larger than need be. Without sets, before macOS 15, Metal does it buffer by buffer when a
// command buffer is committed.
type residency struct {
	objc    *objc
	objects *objects
	device  ID
	queue   ID
	log     *slog.Logger
	limit   int64 // bytes of a set
	off     bool  // not on this system, or a set could not be made
	sets    []residencySet
}

type residencySet struct {
	obj   object
	bytes int64
}

// noSet is the set of a buffer that is in none.
const noSet = -1

func newResidency(d *Device) *residency {
	return &residency{
		objc: d.objc, objects: d.objects, device: d.device.id, queue: d.queue.obj.id, log: d.log,
		limit: max(leastSet, d.caps.MemoryLimit/maxSets), off: !d.objc.sys.hasResidency(),
	}
}

// add puts a buffer into a set and returns its number. A pool must be in place.
func (r *residency) add(buffer ID, size int64) int {
	if r.off {
		return noSet
	}
	n := r.room(size)
	if n == noSet {
		return noSet
	}
	s := &r.sets[n]
	s.bytes += size
	r.objc.send(setAdd, s.obj.id, uintptr(buffer))
	r.objc.send(setCommit, s.obj.id)
	r.objc.send(setRequest, s.obj.id)
	return n
}

// room is a set with so many bytes left, or an empty one. When there are as many as there may be, it is the last.
func (r *residency) room(size int64) int {
	for i := range r.sets {
		if s := &r.sets[i]; s.bytes == 0 || s.bytes+size <= r.limit {
			return i
		}
	}
	if n := len(r.sets); n >= maxSets {
		return n - 1
	}
	obj, err := r.newSet()
	if err != nil {
		r.log.Warn("buffers are not kept resident", slog.Any("error", err))
		r.off = true
		return noSet
	}
	r.sets = append(r.sets, residencySet{obj: obj})
	return len(r.sets) - 1
}

func (r *residency) newSet() (object, error) {
	d := r.objects.keep(r.objc.class(setDescriptorNew), "MTLResidencySetDescriptor", "")
	defer r.objects.drop(&d)
	if d.id == 0 {
		return object{}, errors.New("no descriptor of a residency set")
	}
	id, err := r.objc.try(deviceResidency, r.device, uintptr(d.id))
	if err != nil {
		return object{}, err
	}
	r.objc.send(queueAddSet, r.queue, uintptr(id))
	return r.objects.keep(id, "MTLResidencySet", ""), nil
}

// remove takes a buffer out of its set. A pool must be in place.
func (r *residency) remove(n int, buffer ID, size int64) {
	if n == noSet {
		return
	}
	s := &r.sets[n]
	s.bytes -= size
	r.objc.send(setRemove, s.obj.id, uintptr(buffer))
	r.objc.send(setCommit, s.obj.id)
}

// close ends the residency of all sets and releases them. A pool must be in place.
func (r *residency) close() {
	for i := range r.sets {
		s := &r.sets[i]
		r.objc.send(setEnd, s.obj.id)
		r.objc.send(queueRemoveSet, r.queue, uintptr(s.obj.id))
		r.objects.drop(&s.obj)
	}
	r.sets, r.off = nil, true
}
