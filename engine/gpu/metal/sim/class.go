package sim

import (
	"fmt"
	"strings"

	"sotto/engine/gpu/metal"
)

// args are the arguments of a message.
type args = [metal.MaxArguments]uintptr

// behaviour answers a message. r.now names it.
type behaviour func(r *Runtime, o *object, a *args) uintptr

// behaviours are the methods that the simulator plays, by type and by -selector: or +selector:.
type behaviours map[string]map[string]behaviour

// played returns all behaviours, one file a family of classes.
func played() []behaviours {
	return []behaviours{
		objectBehaviours(), foundationBehaviours(), deviceBehaviours(), bufferBehaviours(), libraryBehaviours(),
		pipelineBehaviours(), archiveBehaviours(), residencyBehaviours(), queueBehaviours(), commandBehaviours(),
		encoderBehaviours(), eventBehaviours(),
	}
}

// class is a class, the class of a class, or the class of an object that is known by its protocol alone.
type class struct {
	name    string
	meta    bool    // its objects are classes
	object  *object // the class itself as an object, if meta
	methods []*method
}

// method is a selector as a class understands it.
type method struct {
	selector string
	signature
	known bool   // the system that is played has it
	wrong string // why it cannot be sent at all
	pool  bool   // Metal's own code answers it, which may autorelease what nobody sees
	play  behaviour
	count uint64 // how often it was sent
}

// class returns a class by name; the name is known.
func (r *Runtime) class(name string, meta bool) *class {
	key := name
	if meta {
		key = "+" + name
	}
	c := r.classes[key]
	if c == nil {
		c = &class{name: name, meta: meta}
		r.classes[key] = c
	}
	return c
}

// lookUp returns how a class understands a selector.
func (r *Runtime) lookUp(c *class, sel metal.Sel) *method {
	for int(sel) >= len(c.methods) {
		c.methods = append(c.methods, nil)
	}
	if c.methods[sel] == nil {
		c.methods[sel] = r.resolve(c, r.names[sel])
	}
	return c.methods[sel]
}

// resolve finds a method among the facts and the behaviours.
func (r *Runtime) resolve(c *class, selector string) *method {
	m := &method{selector: selector}
	key := "-" + selector
	if c.meta {
		key = "+" + selector
	}
	t, ok := r.facts.find(c.name, key)
	if !ok && c.meta { // a class is an object too
		key = "-" + selector
		t, ok = r.facts.find("NSObject", key)
	}
	if !ok {
		m.wrong = "unrecognized selector"
		return m
	}
	m.signature = r.facts.signature(t.Methods[key])
	since := t.Since[key]
	if since == "" {
		since = t.Since[""]
	}
	m.known = r.has(since)
	m.pool = strings.HasPrefix(c.name, "MTL") && t != r.facts.Types["NSObject"]
	switch {
	case !m.known:
		m.wrong = fmt.Sprintf("exists since macOS %s, this is %d.%d", since, r.os.Major, r.os.Minor)
	case m.cannot != "":
		m.wrong = m.cannot
	default:
		if m.play = r.behaviour(c.name, key); m.play == nil {
			m.wrong = "the simulator does not play it"
		}
	}
	return m
}

// behaviour finds who plays a method: the type itself, or the next one that it inherits from.
func (r *Runtime) behaviour(name, key string) behaviour {
	for _, b := range r.played {
		if f := b[name][key]; f != nil {
			return f
		}
	}
	t := r.facts.Types[name]
	if t == nil {
		return nil
	}
	for _, a := range t.Adopts {
		if f := r.behaviour(a, key); f != nil {
			return f
		}
	}
	switch {
	case t.Super != "":
		return r.behaviour(t.Super, key)
	case name != "NSObject" && (strings.HasPrefix(key, "-") || t.Kind == "class"):
		return r.behaviour("NSObject", key)
	}
	return nil
}

// send answers a message: the receiver, the selector and the arguments are checked before anything is played. The
// thread is pooled if it has an autorelease pool.
func (r *Runtime) send(m *metal.Message, pooled bool) uintptr {
	r.stats.Messages++
	r.now = call{}
	if int(m.Sel) <= 0 || int(m.Sel) >= len(r.names) {
		r.violate("%#x is no selector", m.Sel)
		return 0
	}
	r.now.selector = r.names[m.Sel]
	o := r.receiver(m.To)
	if o == nil {
		return 0
	}
	r.now.class = o.class.name
	f := r.lookUp(o.class, m.Sel)
	f.count++
	if f.wrong != "" {
		r.violate("%s", f.wrong)
		return 0
	}
	if m.Count != f.words {
		r.violate("sent with %d words of arguments, it takes %d", m.Count, f.words)
		return 0
	}
	if !r.fits(f, &m.Args) {
		return 0
	}
	if f.pool && !pooled {
		r.violate("sent with no autorelease pool in place: what Metal leaves there leaks")
	}
	return f.play(r, o, &m.Args)
}

// Sent returns how often each method was sent, by "Class selector:".
func (r *Runtime) Sent() map[string]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]uint64{}
	for _, c := range r.classes {
		for _, m := range c.methods {
			if m != nil && m.count > 0 {
				out[c.name+" "+m.selector] += m.count
			}
		}
	}
	return out
}

// Words returns how many words of arguments a method takes on a system, or why it cannot be sent there. The class, or
// the protocol of an object, is named as in metal.Methods: with a + before it for a method of the class itself.
func Words(s metal.System, class, selector string) (int, error) {
	f, err := loadFacts()
	if err != nil {
		return 0, err
	}
	r := &Runtime{os: s, facts: f, played: played()}
	m := r.resolve(classOf(class), selector)
	if m.wrong != "" {
		return 0, Violation{class, selector, m.wrong}
	}
	return m.words, nil
}

func classOf(name string) *class {
	plain, meta := strings.CutPrefix(name, "+")
	return &class{name: plain, meta: meta}
}
