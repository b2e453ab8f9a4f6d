package sim

// command is an MTLCommandBuffer.
type command struct {
	queue    *object
	retained bool // what is encoded is retained by it
	state    uintptr
	failure  *object
	items    []item
	passes   []*pass
	work     work
	uses     []*object // buffers, pipelines, events, fences, once each or more
	encoder  *object   // that is open
	done     cover     // what has run once it has
}

// item is one thing that a command buffer does.
type item struct {
	kind  itemKind
	pass  int
	event *object
	value uint64
}

type itemKind uint8

const (
	itemPass itemKind = iota
	itemSignal
	itemWait
)

// MTLCommandBufferStatus.
const (
	statusNew = iota
	statusEnqueued
	statusCommitted
	statusScheduled
	statusCompleted
	statusError
)

func commandBehaviours() behaviours {
	return behaviours{"MTLCommandBuffer": labelled(map[string]behaviour{
		"-computeCommandEncoder": func(r *Runtime, o *object, _ *args) uintptr {
			return newEncoder(r, o, dispatchSerial)
		},
		"-computeCommandEncoderWithDispatchType:": func(r *Runtime, o *object, a *args) uintptr {
			return newEncoder(r, o, a[0])
		},
		"-encodeSignalEvent:value:":  encodeSignal,
		"-encodeWaitForEvent:value:": encodeWait,
		"-commit":                    commit,
		"-waitUntilCompleted":        waitCompleted,
		"-retainedReferences":        func(_ *Runtime, o *object, _ *args) uintptr { return truth(o.command.retained) },
		"-commandQueue":              func(r *Runtime, o *object, _ *args) uintptr { return r.lent(o.command.queue) },
		"-status":                    status,
		"-error":                     func(r *Runtime, o *object, _ *args) uintptr { return r.lent(o.command.failure) },
	})}
}

// encodes checks that something can be encoded into a command buffer.
func (r *Runtime) encodes(o *object) bool {
	switch {
	case o.command.state >= statusCommitted:
		r.violate("encoded after commit")
		return false
	case o.command.encoder != nil:
		r.violate("an encoder is still open")
		return false
	}
	return true
}

// use keeps an object for as long as the command buffer may need it.
func (r *Runtime) use(c *command, o *object) {
	c.uses = append(c.uses, o.retain())
	if o.buffer != nil && !c.retained {
		o.buffer.flying++
	}
}

// letGo gives back what the command buffer used.
func (r *Runtime) letGo(c *command) {
	for i, o := range c.uses {
		if o.buffer != nil && !c.retained {
			o.buffer.flying--
		}
		r.release(o)
		c.uses[i] = nil
	}
	c.uses = c.uses[:0]
}

func encodeSignal(r *Runtime, o *object, a *args) uintptr {
	e := r.object(a[0], "the event")
	if e == nil || !r.encodes(o) {
		return 0
	}
	v := uint64(a[1])
	if v <= e.event.encoded {
		r.violate("value %d does not go up, %d was encoded before", v, e.event.encoded)
		return 0
	}
	e.event.encoded = v
	r.use(o.command, e)
	o.command.items = append(o.command.items, item{kind: itemSignal, event: e, value: v})
	return 0
}

func encodeWait(r *Runtime, o *object, a *args) uintptr {
	e := r.object(a[0], "the event")
	if e == nil || !r.encodes(o) {
		return 0
	}
	r.use(o.command, e)
	o.command.items = append(o.command.items, item{kind: itemWait, event: e, value: uint64(a[1])})
	return 0
}

func commit(r *Runtime, o *object, _ *args) uintptr {
	c := o.command
	switch {
	case c.state >= statusCommitted:
		r.violate("committed twice")
		return 0
	case c.encoder != nil:
		r.violate("committed while an encoder is open")
		return 0
	}
	for _, s := range c.queue.queue.sets {
		if len(s.set.members) > 0 && (s.set.changed || !s.set.resident) {
			r.violate("%v is not resident as it is: its members are to be fetched while the device waits", s)
		}
	}
	c.state = statusCommitted
	r.stats.CommandBuffers++
	r.arrange(c)
	q := c.queue.queue
	q.pending = append(q.pending, o.retain())
	if q.hung {
		r.letGo(c)
	}
	r.progress.Broadcast()
	return 0
}

func status(r *Runtime, o *object, _ *args) uintptr {
	if o.command.state >= statusCompleted {
		r.order.seen(o.command.done, r)
	}
	return o.command.state
}

func waitCompleted(r *Runtime, o *object, _ *args) uintptr {
	c := o.command
	if c.state < statusCommitted {
		r.violate("waits for a command buffer that is not committed")
		return 0
	}
	o.retain()
	for c.state < statusCompleted && !r.closed {
		r.progress.Wait()
	}
	r.order.seen(c.done, r)
	r.release(o)
	return 0
}

// endCommand gives everything back, of a command buffer that was never committed too.
func (r *Runtime) endCommand(c *command) {
	if c.state < statusCommitted {
		c.queue.queue.open--
		for _, p := range c.passes {
			r.spare.putPass(p)
		}
	}
	r.letGo(c)
	r.release(c.queue)
	r.release(c.failure)
}
