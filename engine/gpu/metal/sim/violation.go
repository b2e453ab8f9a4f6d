package sim

import (
	"errors"
	"fmt"
)

// Violation is one thing that would not pass on a Mac, or should not.
type Violation struct {
	Class    string // of the receiver, "" if there is none
	Selector string // "" where no message is to blame
	Reason   string
}

func (v Violation) Error() string {
	switch {
	case v.Selector == "" && v.Class == "":
		return v.Reason
	case v.Selector == "":
		return v.Class + ": " + v.Reason
	}
	return fmt.Sprintf("[%s %s]: %s", v.Class, v.Selector, v.Reason)
}

// maxViolations bounds what is kept: a mistake in a loop fails a test as well with the first.
const maxViolations = 1000

// violate records a violation by the message that is being answered.
func (r *Runtime) violate(format string, a ...any) {
	if len(r.violations) < maxViolations {
		r.violations = append(r.violations, Violation{r.now.class, r.now.selector, fmt.Sprintf(format, a...)})
	}
}

// violated records a violation by something else.
func (r *Runtime) violated(class, format string, a ...any) {
	before := r.now
	r.now = call{class: class}
	r.violate(format, a...)
	r.now = before
}

// Violations returns what was wrong so far.
func (r *Runtime) Violations() []Violation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Violation(nil), r.violations...)
}

// TakeViolations returns what was wrong so far and forgets it.
func (r *Runtime) TakeViolations() []Violation {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.violations
	r.violations = nil
	return all
}

// Live describes the objects that somebody holds a reference to, with how many.
func (r *Runtime) Live() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live()
}

func (r *Runtime) live() []string {
	var out []string
	for i := range r.slots {
		if o := r.slots[i].object; o != nil && o.refs > 0 && o.refs < forever {
			out = append(out, fmt.Sprintf("%s held %d times", o, o.refs))
		}
	}
	return out
}

// verdict is all that is wrong, as one error.
func (r *Runtime) verdict() error {
	var all []error
	for _, v := range r.violations {
		all = append(all, v)
	}
	for _, o := range r.live() {
		all = append(all, fmt.Errorf("never released: %s", o))
	}
	for thread, p := range r.pools {
		if len(p.open) > 0 {
			all = append(all, fmt.Errorf("thread %d never popped %d autorelease pools", thread, len(p.open)))
		}
	}
	return errors.Join(all...)
}
