package sim

// pools are the autorelease pools of one thread.
type pools struct {
	open    []int // how many objects were there when each was pushed
	objects []*object
}

// PushPool opens an autorelease pool on this thread.
func (r *Runtime) PushPool() uintptr {
	thread := threadID()
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pools[thread]
	if p == nil {
		p = &pools{}
		r.pools[thread] = p
	}
	p.open = append(p.open, len(p.objects))
	return token(thread, len(p.open))
}

// PopPool closes the pool that was opened last on this thread and gives back what is in it.
func (r *Runtime) PopPool(pool uintptr) {
	thread := threadID()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = call{}
	p := r.pools[thread]
	if p == nil || len(p.open) == 0 || pool != token(thread, len(p.open)) {
		r.violate("an autorelease pool is not closed in the order of opening, or on another thread")
		return
	}
	last := len(p.open) - 1
	from := p.open[last]
	p.open = p.open[:last]
	for i := len(p.objects) - 1; i >= from; i-- {
		o := p.objects[i]
		p.objects[i] = nil
		o.pooled--
		r.drop(o)
	}
	p.objects = p.objects[:from]
}

// pooled reports whether this thread has a pool in place.
func (r *Runtime) pooled() bool {
	p := r.pools[threadID()]
	return p != nil && len(p.open) > 0
}

// token is a pool as the program sees it.
func token(thread, depth int) uintptr { return uintptr(thread)<<20 | uintptr(depth)<<4 }

// autorelease leaves a reference to the pool of this thread.
func (r *Runtime) autorelease(o *object) uintptr {
	p := r.pools[threadID()]
	if p == nil || len(p.open) == 0 {
		r.violate("%v was autoreleased with no pool in place: it leaks", o)
		return uintptr(o.id)
	}
	o.pooled++
	p.objects = append(p.objects, o)
	return uintptr(o.id)
}
