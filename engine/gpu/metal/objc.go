package metal

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

// objc sends the messages of [Methods].
type objc struct {
	m   Messenger
	sys System
	sel [methodCount]Sel
	to  [methodCount]ID // receiver of class methods
	out sync.Pool       // of *Message: sending makes no garbage
}

func newObjc(m Messenger) (*objc, error) {
	o := &objc{m: m, sys: m.System()}
	for i, f := range methods {
		o.sel[i] = m.Selector(f.Selector)
		name, ok := strings.CutPrefix(f.Class, "+")
		if !ok || method(i) == setDescriptorNew && !o.sys.hasResidency() {
			continue
		}
		if o.to[i] = m.Class(name); o.to[i] == 0 {
			return nil, fmt.Errorf("class %s is missing", name)
		}
	}
	return o, nil
}

// send sends one message. Arguments that point to memory are kept where they are by the caller.
func (o *objc) send(f method, to ID, args ...uintptr) uintptr {
	m, _ := o.out.Get().(*Message)
	if m == nil {
		m = new(Message)
	}
	*m = o.message(f, to, args...)
	r := o.m.Send(m)
	o.out.Put(m)
	return r
}

// object sends a message that returns an object.
func (o *objc) object(f method, to ID, args ...uintptr) ID { return ID(o.send(f, to, args...)) }

// class sends a message to the class of f.
func (o *objc) class(f method, args ...uintptr) ID { return o.object(f, o.to[f], args...) }

// message lays a message out.
func (o *objc) message(f method, to ID, args ...uintptr) Message {
	m := Message{To: to, Sel: o.sel[f], Count: len(args)}
	copy(m.Args[:], args)
	return m
}

// runtimeError is an NSError.
type runtimeError struct {
	code int
	text string
}

func (e *runtimeError) Error() string { return e.text }

// try sends a message whose last argument, an NSError**, is added here, and returns the error where the result is 0.
func (o *objc) try(f method, to ID, args ...uintptr) (ID, error) {
	r, failure := o.sendFailing(f, to, args)
	if r != 0 {
		return ID(r), nil
	}
	return 0, o.failure(failure)
}

// tryBool is try for a message that returns a BOOL.
func (o *objc) tryBool(f method, to ID, args ...uintptr) error {
	r, failure := o.sendFailing(f, to, args)
	if yes(r) {
		return nil
	}
	return o.failure(failure)
}

// sendFailing adds an NSError** and returns what it was set to.
func (o *objc) sendFailing(f method, to ID, args []uintptr) (uintptr, ID) {
	var pin runtime.Pinner
	defer pin.Unpin()
	failure := new(ID)
	pin.Pin(failure)
	r := o.send(f, to, append(args, uintptr(unsafe.Pointer(failure)))...)
	return r, *failure
}

// failure reads an NSError.
func (o *objc) failure(e ID) *runtimeError {
	if e == 0 {
		return &runtimeError{text: "no reason was given"}
	}
	return &runtimeError{code: int(o.send(errorCode, e)), text: o.text(o.object(errorText, e))}
}

// str returns an NSString, which belongs to the pool.
func (o *objc) str(s string) ID {
	var pin runtime.Pinner
	defer pin.Unpin()
	b := append([]byte(s), 0)
	pin.Pin(&b[0])
	return o.class(stringNew, uintptr(unsafe.Pointer(&b[0])))
}

// url returns the NSURL of a file, which belongs to the pool.
func (o *objc) url(path string) ID { return o.class(urlNew, uintptr(o.str(path)), 0) }

// list returns an NSArray of one object, which belongs to the pool.
func (o *objc) list(id ID) ID {
	var pin runtime.Pinner
	defer pin.Unpin()
	p := &id
	pin.Pin(p)
	return o.class(arrayNew, uintptr(unsafe.Pointer(p)), 1)
}

// text copies an NSString.
func (o *objc) text(s ID) string {
	if s == 0 {
		return ""
	}
	p := pointer(o.send(stringUTF8, s))
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// pooled runs f with an autorelease pool, on one thread.
func (o *objc) pooled(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pool := o.m.PushPool()
	defer o.m.PopPool(pool)
	return f()
}

// pointer makes a pointer of an address outside the Go heap.
func pointer(addr uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&addr)) }

// yes reads a BOOL result, of which a register holds no more than the low bits.
func yes(r uintptr) bool { return byte(r) != 0 }

// word is a BOOL argument.
func word(b bool) uintptr {
	if b {
		return 1
	}
	return 0
}
