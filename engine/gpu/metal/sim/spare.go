package sim

import "time"

// spares are things to be used again, so that what is encoded again and again makes no garbage.
type spares struct {
	objects  []*object
	commands []*command
	encoders []*encoder
	passes   []*pass
	waiters  []*waiter
}

// last takes the last element of a list, or makes one.
func last[T any](list *[]*T) *T {
	n := len(*list) - 1
	if n < 0 {
		return new(T)
	}
	x := (*list)[n]
	*list = (*list)[:n]
	return x
}

func (s *spares) object() *object { return last(&s.objects) }

func (s *spares) command() *command { return last(&s.commands) }

func (s *spares) encoder() *encoder { return last(&s.encoders) }

func (s *spares) pass() *pass { return last(&s.passes) }

func (s *spares) waiter() *waiter {
	w := last(&s.waiters)
	if w.ready == nil {
		w.ready = make(chan struct{}, 1)
		w.timer = time.NewTimer(time.Hour)
		w.timer.Stop()
	}
	return w
}

// put takes an object that is gone, and what was in it. Lists keep their room.
func (s *spares) put(o *object) {
	if c := o.command; c != nil {
		clear(c.items)
		clear(c.passes)
		clear(c.work.dispatches)
		clear(c.work.bound)
		*c = command{
			items: c.items[:0], passes: c.passes[:0], uses: c.uses[:0],
			work: work{c.work.dispatches[:0], c.work.bound[:0]},
		}
		s.commands = append(s.commands, c)
	}
	if e := o.encoder; e != nil {
		*e = encoder{fresh: e.fresh[:0]}
		s.encoders = append(s.encoders, e)
	}
	*o = object{}
	s.objects = append(s.objects, o)
}

func (s *spares) putPass(p *pass) {
	clear(p.waits)
	clear(p.updates)
	*p = pass{waits: p.waits[:0], updates: p.updates[:0], spans: p.spans[:0]}
	s.passes = append(s.passes, p)
}
