package sim

import (
	"fmt"

	"sotto/kernels"
)

// span is memory that a dispatch uses.
type span struct {
	from, to uintptr
	write    bool
	kernel   *kernels.Kernel
	argument int
}

func (s *span) conflicts(o *span) bool {
	return (s.write || o.write) && s.from < o.to && o.from < s.to
}

// String names the argument.
func (s *span) String() string {
	how := "reads"
	if s.write {
		how = "writes"
	}
	return fmt.Sprintf("%s (%s %s)", s.kernel.Name, how, s.kernel.Args[s.argument].Name)
}

// touch is a span of a dispatch that no barrier has followed yet.
type touch struct {
	span
	dispatch int
}

func writes(a kernels.Arg) bool { return a.Access&kernels.Write != 0 }

// hazards checks a dispatch against those since the last barrier, with which it may run at the same time, and records
// what it uses. The range of an argument is exact where the program was registered; else it is taken to be one
// element at its start, so that what is reported is certain.
func (r *Runtime) hazards(e *encoder, d *dispatch) {
	w := &e.command.command.work
	number, before := len(w.dispatches), len(e.fresh)
	for i, b := range w.bound[d.first:] {
		n := d.length(i)
		if n == 0 {
			n = 1
		}
		from := b.object.buffer.base + uintptr(b.off)
		s := span{from, from + uintptr(n), writes(d.pipe.kernel.Args[i]), d.pipe.kernel, i}
		if b.object.buffer.untracked {
			e.pass.spans = append(e.pass.spans, s)
		}
		if e.serial {
			continue
		}
		for j := range before {
			if f := &e.fresh[j]; f.conflicts(&s) {
				r.violate("%v and %v use the same memory with no barrier between them", s.String(), f.String())
				break
			}
		}
		e.fresh = append(e.fresh, touch{s, number})
	}
}
