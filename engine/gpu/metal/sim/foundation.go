package sim

import (
	"unsafe"

	"sotto/engine/gpu/metal"
)

// text is an NSString.
type text struct {
	s     string
	bytes []byte // with a 0 at the end, once somebody asked
}

// failure is an NSError.
type failure struct {
	domain string
	code   int
	reason string
}

// Domains of errors.
const (
	libraryDomain = "MTLLibraryErrorDomain"
	stateDomain   = "AGXMetalG13X" // what drivers give for pipelines; the name differs by GPU
	archiveDomain = "MTLBinaryArchiveDomain"
	commandDomain = "MTLCommandBufferErrorDomain"
)

// string returns a new NSString that belongs to the pool.
func (r *Runtime) string(s string) uintptr {
	o := r.make("NSString")
	o.text = &text{s: s}
	return r.autorelease(o)
}

// errorObject makes an NSError.
func (r *Runtime) errorObject(f failure) *object {
	o := r.make("NSError")
	o.failure = &f
	return o
}

// fail stores an NSError where the caller wants it and returns nil, or NO.
func (r *Runtime) fail(to uintptr, f failure) uintptr {
	if to == 0 {
		return 0
	}
	*(*metal.ID)(pointer(to)) = metal.ID(r.autorelease(r.errorObject(f)))
	return 0
}

// gone returns the NSError for a device that was removed.
func gone() failure { return failure{commandDomain, codeRemoved, "the device was removed"} }

// lent returns a reference to an object that belongs to the pool, or nil.
func (r *Runtime) lent(o *object) uintptr {
	if o == nil {
		return 0
	}
	o.refs++
	return r.autorelease(o)
}

func foundationBehaviours() behaviours {
	return behaviours{
		"NSString": {
			"+stringWithUTF8String:": newString,
			"-UTF8String": func(_ *Runtime, o *object, _ *args) uintptr {
				if o.text.bytes == nil {
					o.text.bytes = append([]byte(o.text.s), 0)
				}
				return address(o.text.bytes)
			},
			"-length": func(_ *Runtime, o *object, _ *args) uintptr {
				n := 0 // in UTF-16
				for _, c := range o.text.s {
					if n++; c > 0xffff {
						n++
					}
				}
				return uintptr(n)
			},
		},
		"NSError": {
			"-code":   func(_ *Runtime, o *object, _ *args) uintptr { return uintptr(o.failure.code) },
			"-domain": func(r *Runtime, o *object, _ *args) uintptr { return r.string(o.failure.domain) },
			"-localizedDescription": func(r *Runtime, o *object, _ *args) uintptr {
				return r.string(o.failure.reason)
			},
		},
		"NSArray": {
			"+arrayWithObjects:count:": newArray,
			"+arrayWithObject:": func(r *Runtime, _ *object, a *args) uintptr {
				return r.array([]uintptr{a[0]})
			},
			"-count": func(_ *Runtime, o *object, _ *args) uintptr { return uintptr(len(o.array)) },
			"-objectAtIndex:": func(r *Runtime, o *object, a *args) uintptr {
				if a[0] >= uintptr(len(o.array)) {
					r.violate("index %d beyond the %d objects", a[0], len(o.array))
					return 0
				}
				return r.lent(o.array[a[0]])
			},
		},
		"NSDictionary": {
			"-count": func(_ *Runtime, _ *object, _ *args) uintptr { return 0 }, // none that is played has entries
		},
		"NSURL": {
			"+fileURLWithPath:":             newURL,
			"+fileURLWithPath:isDirectory:": newURL,
			"-path":                         func(r *Runtime, o *object, _ *args) uintptr { return r.string(o.path) },
		},
	}
}

func newString(r *Runtime, _ *object, a *args) uintptr {
	if a[0] == 0 {
		r.violate("the C string is NULL")
		return 0
	}
	p, n := pointer(a[0]), 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return r.string(string(unsafe.Slice((*byte)(p), n)))
}

func newArray(r *Runtime, _ *object, a *args) uintptr {
	if a[0] == 0 && a[1] > 0 {
		r.violate("the objects are NULL")
		return 0
	}
	if a[1] == 0 {
		return r.array(nil)
	}
	return r.array(words(a[0], int(a[1])))
}

// array returns a new NSArray that belongs to the pool.
func (r *Runtime) array(ids []uintptr) uintptr {
	o := r.make("NSArray")
	for _, id := range ids {
		if e := r.alive(metal.ID(id), "element"); e != nil {
			o.array = append(o.array, e.retain())
		}
	}
	return r.autorelease(o)
}

func newURL(r *Runtime, _ *object, a *args) uintptr {
	s := r.object(a[0], "the path")
	if s == nil {
		return 0
	}
	o := r.make("NSURL")
	o.path = s.text.s
	return r.autorelease(o)
}
