//go:build darwin || linux

package metal

import (
	"sync"

	"github.com/ebitengine/purego"
)

// plain sends messages one by one: each is a call of a C function through purego. It is the way that messages take on
// macOS; elsewhere its benchmark tells what they would cost.
type plain struct {
	fn    uintptr   // objc_msgSend
	calls sync.Pool // of *call: sending makes no garbage
}

// call is the registers of a message: receiver, selector, arguments.
type call [2 + MaxArguments]uintptr

func newPlain(fn uintptr) *plain {
	return &plain{fn: fn, calls: sync.Pool{New: func() any { return new(call) }}}
}

// Send sends a message and returns the first word of its result.
func (p *plain) Send(m *Message) uintptr {
	c := p.calls.Get().(*call)
	v := p.sendIn(c, m)
	p.calls.Put(c)
	return v
}

// SendAll sends messages in order.
func (p *plain) SendAll(ms []Message) {
	c := p.calls.Get().(*call)
	for i := range ms {
		p.sendIn(c, &ms[i])
	}
	p.calls.Put(c)
}

func (p *plain) sendIn(c *call, m *Message) uintptr {
	c[0], c[1] = uintptr(m.To), uintptr(m.Sel)
	n := 2 + copy(c[2:], m.Args[:m.Count])
	v, _, _ := purego.SyscallN(p.fn, c[:n]...)
	return v
}
