package metal

import (
	"cmp"
	"slices"
	"sync"
)

// objects is the table of everything that the driver holds: one reference each, one way to give it back.
type objects struct {
	objc *objc

	mu    sync.Mutex
	rows  []held
	free  []int // rows that hold nothing
	count uint64
}

// held is one object.
type held struct {
	id    ID
	class string
	label string
	since uint64 // order of keeping
}

// object is a row of the table. The zero object is none.
type object struct {
	id  ID
	row int
}

// keep takes over a reference of the caller's. Keeping 0 returns none.
func (t *objects) keep(id ID, class, label string) object {
	if id == 0 {
		return object{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count++
	h := held{id, class, label, t.count}
	if n := len(t.free); n > 0 {
		row := t.free[n-1]
		t.free = t.free[:n-1]
		t.rows[row] = h
		return object{id, row}
	}
	t.rows = append(t.rows, h)
	return object{id, len(t.rows) - 1}
}

// drop releases an object and makes it none. A pool must be in place.
func (t *objects) drop(o *object) {
	if o.id == 0 {
		return
	}
	t.mu.Lock()
	t.rows[o.row] = held{}
	t.free = append(t.free, o.row)
	t.mu.Unlock()
	t.objc.send(objRelease, o.id)
	*o = object{}
}

// live lists what is held, oldest first.
func (t *objects) live() []held {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []held
	for _, h := range t.rows {
		if h.id != 0 {
			all = append(all, h)
		}
	}
	slices.SortFunc(all, func(a, b held) int { return cmp.Compare(a.since, b.since) })
	return all
}

// close releases everything, newest first.
func (t *objects) close() {
	_ = t.objc.pooled(func() error { // f returns no error
		for _, h := range slices.Backward(t.live()) {
			t.objc.send(objRelease, h.id)
		}
		return nil
	})
	t.mu.Lock()
	t.rows, t.free = nil, nil
	t.mu.Unlock()
}
