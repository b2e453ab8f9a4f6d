package sim

import "slices"

// queue is an MTLCommandQueue. A goroutine of its own executes what was committed, in order.
type queue struct {
	limit   int // command buffers that are not finished
	open    int
	pending []*object // committed command buffers, the one that runs included
	sets    []*object // residency sets
	closing bool
	hung    bool
}

const (
	defaultQueueLength = 64
	maxQueueLength     = 1 << 16
)

func newQueue(r *Runtime, length uintptr) uintptr {
	switch {
	case length == 0 || length > maxQueueLength:
		r.violate("a queue of %d command buffers", length)
		return 0
	case r.removed, r.strikes(QueueFails, "") != nil:
		return 0
	}
	o := r.make("MTLCommandQueue")
	q := &queue{limit: int(length)}
	o.queue = q
	r.executors.Go(func() { r.serve(q) })
	return uintptr(o.id)
}

func queueBehaviours() behaviours {
	return behaviours{"MTLCommandQueue": labelled(map[string]behaviour{
		"-commandBuffer": func(r *Runtime, o *object, _ *args) uintptr { return newCommand(r, o, true) },
		"-commandBufferWithUnretainedReferences": func(r *Runtime, o *object, _ *args) uintptr {
			return newCommand(r, o, false)
		},
		"-addResidencySet:": func(r *Runtime, o *object, a *args) uintptr {
			s := r.object(a[0], "the residency set")
			switch {
			case s == nil:
			case slices.Contains(s.set.queues, o.queue):
				r.violate("%v has %v already", o, s)
			default:
				s.set.queues = append(s.set.queues, o.queue)
				o.queue.sets = append(o.queue.sets, s.retain())
			}
			return 0
		},
		"-removeResidencySet:": func(r *Runtime, o *object, a *args) uintptr {
			s := r.object(a[0], "the residency set")
			if s == nil {
				return 0
			}
			i := slices.Index(s.set.queues, o.queue)
			if i < 0 {
				r.violate("%v does not have %v", o, s)
				return 0
			}
			s.set.queues = slices.Delete(s.set.queues, i, i+1)
			i = slices.Index(o.queue.sets, s)
			o.queue.sets = slices.Delete(o.queue.sets, i, i+1)
			r.release(s)
			return 0
		},
	})}
}

// newCommand answers commandBuffer and its kin, which wait while as many as the queue takes are unfinished.
func newCommand(r *Runtime, o *object, retained bool) uintptr {
	q := o.queue
	for q.open >= q.limit {
		if len(q.pending) == 0 || q.hung {
			r.violate("%d command buffers are open and none of them will finish: this waits for ever", q.open)
			return 0
		}
		r.progress.Wait()
	}
	if r.removed {
		return 0
	}
	q.open++
	n := r.make("MTLCommandBuffer")
	n.command = r.spare.command()
	n.command.queue, n.command.retained = o.retain(), retained
	return r.autorelease(n)
}

// endQueue lets the goroutine of a queue end that nobody holds any more.
func (r *Runtime) endQueue(q *queue) {
	for _, s := range q.sets {
		i := slices.Index(s.set.queues, q)
		s.set.queues = slices.Delete(s.set.queues, i, i+1)
		r.release(s)
	}
	q.sets = nil
	q.closing = true
	r.progress.Broadcast()
}

// serve executes command buffers until the queue is gone.
func (r *Runtime) serve(q *queue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		for (len(q.pending) == 0 || q.hung) && !q.closing && !r.closed {
			r.progress.Wait()
		}
		if len(q.pending) == 0 || q.hung || r.closed {
			return
		}
		o := q.pending[0]
		r.execute(q, o)
		if q.hung {
			continue
		}
		q.pending = append(q.pending[:0], q.pending[1:]...)
		q.open--
		r.letGo(o.command)
		r.progress.Broadcast()
		r.release(o)
	}
}
