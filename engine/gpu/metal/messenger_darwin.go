package metal

import (
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// runtimeMessenger is the Objective-C runtime of the process.
type runtimeMessenger struct {
	*plain
	sys       System
	getClass  uintptr // objc_getClass
	register  uintptr // sel_registerName
	push, pop uintptr // objc_autoreleasePoolPush, objc_autoreleasePoolPop
	device    uintptr // MTLCreateSystemDefaultDevice
}

// system loads the frameworks. They stay loaded for as long as the process runs.
func system() (Messenger, error) {
	version, err := unix.Sysctl("kern.osproductversion")
	if err != nil {
		return nil, err
	}
	build, err := unix.Sysctl("kern.osversion")
	if err != nil {
		return nil, err
	}
	r := &runtimeMessenger{}
	if r.sys, err = parseSystem(version, build); err != nil {
		return nil, err
	}
	var msgSend uintptr
	for _, lib := range []struct {
		path    string
		symbols map[string]*uintptr
	}{
		{"/usr/lib/libobjc.A.dylib", map[string]*uintptr{
			"objc_msgSend": &msgSend, "objc_getClass": &r.getClass, "sel_registerName": &r.register,
			"objc_autoreleasePoolPush": &r.push, "objc_autoreleasePoolPop": &r.pop,
		}},
		{"/System/Library/Frameworks/Foundation.framework/Foundation", nil},
		// Without it a program that draws nothing gets no device.
		{"/System/Library/Frameworks/CoreGraphics.framework/CoreGraphics", nil},
		{"/System/Library/Frameworks/Metal.framework/Metal", map[string]*uintptr{
			"MTLCreateSystemDefaultDevice": &r.device,
		}},
	} {
		h, err := purego.Dlopen(lib.path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err != nil {
			return nil, err
		}
		for name, at := range lib.symbols {
			if *at, err = purego.Dlsym(h, name); err != nil {
				return nil, err
			}
		}
	}
	r.plain = newPlain(msgSend)
	return r, nil
}

func (r *runtimeMessenger) System() System { return r.sys }

func (r *runtimeMessenger) Class(name string) ID { return ID(named(r.getClass, name)) }

func (r *runtimeMessenger) Selector(name string) Sel { return Sel(named(r.register, name)) }

// named calls a function that takes a C string.
func named(fn uintptr, name string) uintptr {
	var pin runtime.Pinner
	defer pin.Unpin()
	b := append([]byte(name), 0)
	pin.Pin(&b[0])
	v, _, _ := purego.SyscallN(fn, uintptr(unsafe.Pointer(&b[0])))
	return v
}

func (r *runtimeMessenger) DefaultDevice() ID {
	v, _, _ := purego.SyscallN(r.device)
	return ID(v)
}

func (r *runtimeMessenger) PushPool() uintptr {
	v, _, _ := purego.SyscallN(r.push)
	return v
}

func (r *runtimeMessenger) PopPool(pool uintptr) {
	c := r.calls.Get().(*call)
	c[0] = pool
	purego.SyscallN(r.pop, c[:1]...)
	r.calls.Put(c)
}
