package run

import (
	"errors"
	"slices"

	"sotto/engine/state"
)

// Session is one text in the making and the state that the device keeps of it. All of it belongs to the worker;
// callers only pass it on. A session that has lost its slot to a newer one reads its text again.
type Session struct {
	device *state.Session // nil: no slot
	tokens []int32        // what the state has consumed
	used   uint64         // age: the worker's count at the last use
}

// cached is the number of leading tokens of the prompt that need not be read again: all that was consumed, if the
// prompt goes on from there. Recurrent state cannot be cut back, so anything else is 0.
func (s *Session) cached(prompt []int32) int {
	n := len(s.tokens)
	if n >= len(prompt) || !slices.Equal(s.tokens, prompt[:n]) {
		return 0
	}
	return n
}

// level makes the record agree with the device, which has consumed the first pos of these tokens.
func (s *Session) level(prompt, sampled []int32, pos int) {
	s.tokens = append(append(s.tokens[:0], prompt...), sampled...)[:pos]
}

// claim gives the session a slot, taking it from the session that was used longest ago if none is free.
func (w *Worker) claim(s *Session) error {
	w.clock++
	s.used = w.clock
	if s.device != nil {
		return nil
	}
	for {
		device, err := w.arena.Open()
		if err == nil {
			s.device, s.tokens = device, s.tokens[:0]
			w.resident = append(w.resident, s)
			return nil
		}
		var full *state.FullError
		if !errors.As(err, &full) || len(w.resident) == 0 {
			return err
		}
		w.release(w.oldest())
	}
}

// grow makes room for positions, taking pages from other sessions if there are too few.
func (w *Worker) grow(s *Session, positions int) error {
	for {
		err := s.device.Grow(positions)
		if err == nil { // in nearly every pass: no garbage here
			return nil
		}
		var full *state.FullError
		if !errors.As(err, &full) {
			return err
		}
		old := w.oldest()
		if old == s {
			return err
		}
		w.release(old)
	}
}

// oldest is the resident session that was used longest ago.
func (w *Worker) oldest() *Session {
	return slices.MinFunc(w.resident, func(a, b *Session) int {
		if a.used < b.used {
			return -1
		}
		return 1
	})
}

// release takes the slot away. Nothing of the session may be in flight.
func (w *Worker) release(s *Session) {
	if s.device == nil {
		return
	}
	s.device.Close()
	s.device, s.tokens = nil, nil
	w.resident = slices.DeleteFunc(w.resident, func(r *Session) bool { return r == s })
}
