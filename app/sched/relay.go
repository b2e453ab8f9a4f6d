package sched

import (
	"sync"

	"sotto/engine"
)

// relay lets events through without ever holding up the one who pushes. It holds at most one answer.
type relay struct {
	mu    sync.Mutex
	items []item
	ended bool
	news  chan struct{} // one place: something was pushed since the last look
}

type item struct {
	event engine.Event
	err   error
}

func newRelay() *relay { return &relay{news: make(chan struct{}, 1)} }

func (r *relay) push(e engine.Event, err error) {
	r.mu.Lock()
	r.items = append(r.items, item{e, err})
	r.mu.Unlock()
	r.wake()
}

// end says that nothing more comes.
func (r *relay) end() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.wake()
}

func (r *relay) wake() {
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// take waits for items and returns them, or false at the end. The caller gives back what it took before.
func (r *relay) take(free []item) ([]item, bool) {
	clear(free)
	for {
		r.mu.Lock()
		items, ended := r.items, r.ended
		r.items = free[:0]
		r.mu.Unlock()
		if len(items) > 0 || ended {
			return items, len(items) > 0
		}
		free = items
		<-r.news
	}
}

// each hands over everything until the end or until yield wants no more.
func (r *relay) each(yield func(engine.Event, error) bool) {
	var items []item
	for more := true; more; {
		if items, more = r.take(items); !more {
			return
		}
		for _, i := range items {
			if !yield(i.event, i.err) {
				return
			}
		}
	}
}

// drain waits for the end.
func (r *relay) drain() {
	var items []item
	for more := true; more; {
		items, more = r.take(items)
	}
}
