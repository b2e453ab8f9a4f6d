package sim

// Passes, one a compute encoder, are numbered as they are committed. Two passes that use the same range of untracked
// buffers, one writing it, must be in order: by a fence, by an event, or because the program saw the first one
// finished before it committed the second.

// cover is a set of passes that have run at some moment: all up to base, and some of the 64 behind.
type cover struct {
	base uint64
	mask uint64 // bit i: pass base+1+i
}

func (c cover) has(n uint64) bool {
	return n <= c.base || n-c.base <= 64 && c.mask>>(n-c.base-1)&1 == 1
}

func (c *cover) add(n uint64) {
	if n > c.base && n-c.base <= 64 {
		c.mask |= 1 << (n - c.base - 1)
		c.tidy()
	}
}

func (c *cover) join(o cover) {
	if o.base > c.base {
		*c, o = o, *c
	}
	if d := c.base - o.base; d < 64 {
		c.mask |= o.mask >> d
	}
	c.tidy()
}

func (c *cover) tidy() {
	for c.mask&1 == 1 {
		c.base++
		c.mask >>= 1
	}
}

// fence is an MTLFence: what has run when the pass that updated it last has.
type fence struct{ after cover }

// pass is the work of one encoder.
type pass struct {
	first, last    int // dispatches of the command buffer
	waits, updates []*fence
	spans          []span // of untracked buffers
	number         uint64
	after          cover
}

// order is what is known of the passes that may still run.
type order struct {
	count  uint64
	cpu    cover   // what the program has seen finished
	recent []*pass // committed and not in cpu
}

// seen notes that the program saw passes finished.
func (s *order) seen(c cover, r *Runtime) {
	s.cpu.join(c)
	kept := s.recent[:0]
	for _, p := range s.recent {
		if s.cpu.has(p.number) {
			r.spare.putPass(p)
		} else {
			kept = append(kept, p)
		}
	}
	clear(s.recent[len(kept):])
	s.recent = kept
}

// arrange numbers the passes of a command buffer that is being committed and checks their order.
func (r *Runtime) arrange(c *command) {
	s := &r.order
	before := s.cpu // of whatever comes next in the command buffer
	c.done = s.cpu
	for _, it := range c.items {
		switch it.kind {
		case itemWait:
			before.join(it.event.event.after(it.value))
			c.done.join(before)
		case itemSignal:
			it.event.event.promise(it.value, c.done)
		case itemPass:
			p := c.passes[it.pass]
			s.count++
			p.number, p.after = s.count, before
			for _, f := range p.waits {
				p.after.join(f.after)
			}
			r.unordered(p)
			s.recent = append(s.recent, p)
			c.done.join(p.after)
			c.done.add(p.number)
			for _, f := range p.updates {
				f.after = p.after
				f.after.add(p.number)
			}
		}
	}
}

// unordered looks for earlier passes that may run at the same time as p and get into its way.
func (r *Runtime) unordered(p *pass) {
	for _, q := range r.order.recent {
		if p.after.has(q.number) {
			continue
		}
		for i := range p.spans {
			for j := range q.spans {
				if p.spans[i].conflicts(&q.spans[j]) {
					r.violate("%s and %s of an earlier encoder use the same memory, and no fence or event orders them",
						p.spans[i].String(), q.spans[j].String())
					return
				}
			}
		}
	}
}
