//go:build amd64 || arm64

package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"

	"sotto/engine/gpu"
)

// api holds the functions of the driver library that are used here. Their meaning is in NVIDIA's "CUDA Driver
// API" reference; all return a CUresult.
type api struct {
	init, deviceGet, deviceGetName, deviceTotalMem        uintptr
	primaryCtxRetain, primaryCtxRelease, ctxSetCurrent    uintptr
	ctxSynchronize, launchKernel, errorName, memsetD8     uintptr
	moduleLoadData, moduleUnload, moduleGetFunction       uintptr
	memAlloc, memFree, memcpyHtoD, memcpyDtoH, getFuncAtt uintptr
}

// ErrNoDriver says that this machine has no NVIDIA driver.
var ErrNoDriver = errors.New("no NVIDIA driver on this machine (libcuda.so.1)")

// paths of the driver library: the loader's own search, and where containers mount it.
func paths() []string { return []string{"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1"} }

func loadAPI() (*api, error) {
	var lib uintptr
	for _, path := range paths() {
		if h, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL); err == nil {
			lib = h
			break
		}
	}
	if lib == 0 {
		return nil, ErrNoDriver
	}
	a := &api{}
	for _, f := range []struct {
		addr *uintptr
		name string
	}{
		{&a.init, "cuInit"},
		{&a.deviceGet, "cuDeviceGet"},
		{&a.deviceGetName, "cuDeviceGetName"},
		{&a.deviceTotalMem, "cuDeviceTotalMem_v2"},
		{&a.primaryCtxRetain, "cuDevicePrimaryCtxRetain"},
		{&a.primaryCtxRelease, "cuDevicePrimaryCtxRelease_v2"},
		{&a.ctxSetCurrent, "cuCtxSetCurrent"},
		{&a.ctxSynchronize, "cuCtxSynchronize"},
		{&a.launchKernel, "cuLaunchKernel"},
		{&a.errorName, "cuGetErrorName"},
		{&a.memsetD8, "cuMemsetD8_v2"},
		{&a.moduleLoadData, "cuModuleLoadData"},
		{&a.moduleUnload, "cuModuleUnload"},
		{&a.moduleGetFunction, "cuModuleGetFunction"},
		{&a.memAlloc, "cuMemAlloc_v2"},
		{&a.memFree, "cuMemFree_v2"},
		{&a.memcpyHtoD, "cuMemcpyHtoD_v2"},
		{&a.memcpyDtoH, "cuMemcpyDtoH_v2"},
		{&a.getFuncAtt, "cuFuncGetAttribute"},
	} {
		addr, err := purego.Dlsym(lib, f.name)
		if err != nil {
			return nil, err
		}
		*f.addr = addr
	}
	return a, nil
}

// Results that are told apart.
const (
	resultOutOfMemory = 2
	resultNotFound    = 500
	resultSticky      = 700 // illegal address; it and the codes up to 719 end the context
	resultStickyLast  = 719
)

// resultError is a CUresult other than success.
type resultError struct {
	code uint32
	name string
}

func (e *resultError) Error() string { return fmt.Sprintf("%s (%d)", e.name, e.code) }

func (e *resultError) Is(target error) bool {
	switch target {
	case gpu.ErrOutOfMemory:
		return e.code == resultOutOfMemory
	case gpu.ErrLost:
		return e.code >= resultSticky && e.code <= resultStickyLast
	}
	return false
}

// call calls one function. Pointers among the arguments stay valid during the call.
//
//go:uintptrescapes
func (a *api) call(fn uintptr, args ...uintptr) error {
	r, _, _ := purego.SyscallN(fn, args...)
	if uint32(r) == 0 {
		return nil
	}
	e := &resultError{code: uint32(r), name: "CUDA error"}
	var text unsafe.Pointer
	if r, _, _ := purego.SyscallN(a.errorName, r, uintptr(unsafe.Pointer(&text))); uint32(r) == 0 && text != nil {
		e.name = cString(text)
	}
	return e
}

func cString(p unsafe.Pointer) string {
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// at is the address of the first byte of b.
func at(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
