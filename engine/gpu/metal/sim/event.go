package sim

import (
	"math"
	"time"
)

// event is an MTLSharedEvent.
type event struct {
	value   uint64
	encoded uint64 // highest value that a command buffer is to signal, or that was set
	signals []signal
	waiters []*waiter
}

// signal says what has run when an event reaches a value.
type signal struct {
	value uint64
	after cover
}

// maxSignals bounds how many values of an event are remembered that nobody has looked at.
const maxSignals = 256

// waiter is a thread that waits for an event.
type waiter struct {
	ready chan struct{} // capacity 1
	timer *time.Timer
}

func eventBehaviours() behaviours {
	return behaviours{
		"MTLEvent": labelled(map[string]behaviour{}),
		"MTLFence": labelled(map[string]behaviour{}),
		"MTLSharedEvent": {
			"-signaledValue": func(r *Runtime, o *object, _ *args) uintptr {
				o.event.seen(r)
				return uintptr(o.event.value)
			},
			"-setSignaledValue:": func(r *Runtime, o *object, a *args) uintptr {
				v := uint64(a[0])
				if v < o.event.encoded {
					r.violate("value %d goes down, %d was encoded or set before", v, o.event.encoded)
					return 0
				}
				o.event.encoded = v
				r.signal(o.event, v)
				return 0
			},
			"-waitUntilSignaledValue:timeoutMS:": waitSignaled,
		},
	}
}

// signal moves an event.
func (r *Runtime) signal(e *event, v uint64) {
	e.value = max(e.value, v)
	for _, w := range e.waiters {
		select {
		case w.ready <- struct{}{}:
		default:
		}
	}
	r.progress.Broadcast()
}

// waitSignaled waits, without the lock, until the event has the value or the time is over.
func waitSignaled(r *Runtime, o *object, a *args) uintptr {
	e, v := o.event, uint64(a[0])
	limit := time.Duration(min(a[1], uintptr(math.MaxInt64/time.Millisecond))) * time.Millisecond
	if e.value < v && limit > 0 {
		o.retain()
		w := r.spare.waiter()
		e.waiters = append(e.waiters, w)
		w.timer.Reset(limit)
		for over := false; e.value < v && !over && !r.closed; {
			r.mu.Unlock()
			select {
			case <-w.ready:
			case <-w.timer.C:
				over = true
			}
			r.mu.Lock()
		}
		w.timer.Stop()
		e.dismiss(w)
		r.spare.waiters = append(r.spare.waiters, w)
		defer r.release(o)
	}
	if e.value < v {
		return 0
	}
	e.seen(r)
	return 1
}

func (e *event) dismiss(w *waiter) {
	for i := range e.waiters {
		if e.waiters[i] == w {
			last := len(e.waiters) - 1
			e.waiters[i], e.waiters[last] = e.waiters[last], nil
			e.waiters = e.waiters[:last]
			break
		}
	}
	select {
	case <-w.ready:
	default:
	}
}

// promise remembers what has run when the event gets a value.
func (e *event) promise(v uint64, after cover) {
	if len(e.signals) == maxSignals {
		e.signals = append(e.signals[:0], e.signals[1:]...)
	}
	e.signals = append(e.signals, signal{v, after})
}

// after is what has run when a wait for v is over.
func (e *event) after(v uint64) cover {
	for _, s := range e.signals {
		if s.value >= v {
			return s.after
		}
	}
	return cover{}
}

// seen tells the order that the program saw the event's value: all that came before has run.
func (e *event) seen(r *Runtime) {
	n := 0
	for _, s := range e.signals {
		if s.value <= e.value {
			r.order.seen(s.after, r)
			n++
		}
	}
	if n > 0 {
		e.signals = append(e.signals[:0], e.signals[n:]...)
	}
}
