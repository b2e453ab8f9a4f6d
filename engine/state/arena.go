package state

import (
	"errors"
	"fmt"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// FullError reports that no slot or not enough pages are free.
type FullError struct {
	What              string // "sessions" or "pages of 256 tokens"
	Need, Free, Total int
}

func (e *FullError) Error() string {
	return fmt.Sprintf("%d more %s needed, %d of %d are free", e.Need, e.What, e.Free, e.Total)
}

// WindowError reports a session that would grow beyond its window.
type WindowError struct {
	Tokens, Window int
}

func (e *WindowError) Error() string {
	return fmt.Sprintf("%d tokens do not fit the window of %d", e.Tokens, e.Window)
}

// Arena is the memory of a [Layout] and the account of its slots and pages. It serves one goroutine.
type Arena struct {
	dev    gpu.Device
	layout *Layout
	bind   map[*gpu.Region]gpu.Buffer
	slots  []uint32 // free, the next one last
	pages  []uint32 // free, the next one last
}

// New allocates the memory of a layout, zeroed.
func New(dev gpu.Device, l *Layout) (*Arena, error) {
	a := &Arena{
		dev: dev, layout: l, bind: map[*gpu.Region]gpu.Buffer{},
		slots: descending(l.Slots), pages: descending(l.Pages),
	}
	for _, r := range l.Regions() {
		b, err := dev.Alloc(r.Size)
		if err != nil {
			a.Free()
			return nil, fmt.Errorf("%s state of %d bytes: %w", r.Name, r.Size, err)
		}
		a.bind[r] = b
	}
	return a, nil
}

// descending lists n-1 to 0, so that numbers are handed out from 0.
func descending(n int) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = uint32(n - 1 - i)
	}
	return out
}

// Layout is the layout that the arena was made for.
func (a *Arena) Layout() *Layout { return a.layout }

// Buffers are the regions' buffers, to be bound when a program is compiled. The map is not to be changed.
func (a *Arena) Buffers() map[*gpu.Region]gpu.Buffer { return a.bind }

// FreePages is the number of pages that no session holds.
func (a *Arena) FreePages() int { return len(a.pages) }

// Free releases the memory. Sessions must be closed before.
func (a *Arena) Free() {
	for _, b := range a.bind {
		b.Free()
	}
	clear(a.bind)
}

// Open starts a session with empty state in a free slot. Without one the error is a *[FullError].
func (a *Arena) Open() (*Session, error) {
	if len(a.slots) == 0 {
		return nil, &FullError{"sessions", 1, 0, a.layout.Slots}
	}
	b, err := a.dev.Alloc(kernels.StepBytes)
	if err != nil {
		return nil, fmt.Errorf("step buffer: %w", err)
	}
	step, err := NewStep(b)
	if err != nil {
		b.Free()
		return nil, err
	}
	s := &Session{arena: a, step: step, slot: a.slots[len(a.slots)-1]}
	a.slots = a.slots[:len(a.slots)-1]
	s.Reset()
	return s, nil
}

// Session is one text in the making: a slot, pages and a step buffer.
type Session struct {
	arena  *Arena
	step   *Step
	slot   uint32
	held   int // pages
	closed bool
}

// Step is the session's step buffer.
func (s *Session) Step() *Step { return s.step }

// Slot is the session's place in the arenas.
func (s *Session) Slot() int { return int(s.slot) }

// Reset empties the session: nothing consumed, zero state, no pages. Sampling fields of the step are cleared too.
func (s *Session) Reset() {
	s.release()
	for _, b := range s.arena.layout.Blocks {
		clear(s.part(b.S))
		clear(s.part(b.Conv))
	}
	s.step.reset(s.slot)
}

// part is this slot's part of a range that holds all slots.
func (s *Session) part(all gpu.Slice) []byte {
	if all.Len == 0 {
		return nil
	}
	n := all.Len / int64(s.arena.layout.Slots)
	from := all.Off + int64(s.slot)*n
	return s.arena.bind[all.Region].Bytes()[from : from+n]
}

// Capacity is the number of positions that the pages held so far can store.
func (s *Session) Capacity() int { return s.held * kernels.KeyBlock }

// Grow takes pages until tokens positions fit. It takes all or none: the error is a *[WindowError] or a
// *[FullError]. Growing to less than the capacity does nothing. It may be called while passes are in flight that
// do not reach the new positions.
func (s *Session) Grow(tokens int) error {
	if s.closed {
		return errors.New("session is closed")
	}
	if tokens > s.arena.layout.Window {
		return &WindowError{tokens, s.arena.layout.Window}
	}
	need := pagesFor(tokens) - s.held
	free := len(s.arena.pages)
	if need > free {
		return &FullError{fmt.Sprintf("pages of %d tokens", kernels.KeyBlock), need, free, s.arena.layout.Pages}
	}
	for range need {
		last := len(s.arena.pages) - 1
		s.step.pages[s.held] = s.arena.pages[last]
		s.arena.pages = s.arena.pages[:last]
		s.held++
	}
	return nil
}

// release gives the pages back, the first one last, so that they are taken again in the same order.
func (s *Session) release() {
	for s.held > 0 {
		s.held--
		s.arena.pages = append(s.arena.pages, s.step.pages[s.held])
	}
}

// Close gives slot, pages and step buffer back. No pass of the session may be in flight.
func (s *Session) Close() {
	if s.closed {
		return
	}
	s.closed = true
	s.release()
	s.arena.slots = append(s.arena.slots, s.slot)
	s.step.buffer.Free()
}
