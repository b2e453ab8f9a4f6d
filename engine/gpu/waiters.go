package gpu

import (
	"context"
	"sync"
)

// Waiters are the waits for submissions that are under way in a driver's queue. A wait can be given up without the
// queue noticing. The queue's lock guards all of it; nothing allocates once there have been as many waits at a time as
// there will be. The zero value is ready.
type Waiters struct {
	waiting, idle []*waiter // idle ones are used again
}

// waiter is one wait.
type waiter struct {
	n     uint64
	ready chan struct{} // capacity 1
}

// Wait returns when Wake was told of submission n, or when ctx ends. The lock is held by the caller, and not while
// waiting.
func (w *Waiters) Wait(ctx context.Context, lock sync.Locker, n uint64) {
	one := w.enroll(n)
	lock.Unlock()
	select {
	case <-one.ready:
	case <-ctx.Done():
	}
	lock.Lock()
	w.dismiss(one)
}

// Wake ends the waits for submissions up to done.
func (w *Waiters) Wake(done uint64) {
	for _, one := range w.waiting {
		if one.n <= done {
			select {
			case one.ready <- struct{}{}:
			default:
			}
		}
	}
}

// Counts are the waits under way, and those that were and lie ready for others.
func (w *Waiters) Counts() (waiting, idle int) { return len(w.waiting), len(w.idle) }

func (w *Waiters) enroll(n uint64) *waiter {
	var one *waiter
	if last := len(w.idle) - 1; last >= 0 {
		one, w.idle = w.idle[last], w.idle[:last]
	} else {
		one = &waiter{ready: make(chan struct{}, 1)}
	}
	one.n = n
	w.waiting = append(w.waiting, one)
	return one
}

func (w *Waiters) dismiss(one *waiter) {
	for i := range w.waiting {
		if w.waiting[i] == one {
			last := len(w.waiting) - 1
			w.waiting[i], w.waiting[last] = w.waiting[last], nil
			w.waiting = w.waiting[:last]
			break
		}
	}
	select {
	case <-one.ready:
	default:
	}
	w.idle = append(w.idle, one)
}
