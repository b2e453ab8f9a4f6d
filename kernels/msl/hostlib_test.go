package msl_test

import (
	"errors"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"sotto/kernels/msl"
)

// The host libraries' structs, as the driver has them.
type (
	hostArgs struct {
		buf [31]unsafe.Pointer
		_   [32]uint32
	}
	hostLimit struct{ dim, offset, div, _ uint32 }
	hostOp    struct {
		fn             unsafe.Pointer
		args           *hostArgs
		_              unsafe.Pointer
		grid, tg       [3]uint32
		stage, nlimits uint32
		limits         [2]hostLimit
		stepIndex      int32
		_              uint32
	}
	hostKernel struct {
		name           *byte
		fn             unsafe.Pointer
		threads, bytes uint32
	}
)

// library is a loaded host library.
type library struct {
	width   uint32
	kernels map[string]hostKernel
	run     func(ops *hostOp, n uint32, step unsafe.Pointer, seed uint64) int32
	message func() string
	init    func(threads int32) int32
	exit    func()
}

// buildLibrary builds and loads the given sources of testdata/run.
func buildLibrary(t testing.TB, b *msl.Builder, m msl.Mode, threads int32, sources ...string) *library {
	t.Helper()
	for i, s := range sources {
		sources[i] = "msl/testdata/run/" + s
	}
	out := filepath.Join(t.TempDir(), "test.so")
	if err := b.Library(t.Context(), m, sources, out); err != nil {
		t.Fatal(err)
	}
	return loadLibrary(t, out, threads)
}

func loadLibrary(t testing.TB, path string, threads int32) *library {
	t.Helper()
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		t.Fatal(err)
	}
	l := &library{kernels: map[string]hostKernel{}}
	purego.RegisterLibFunc(&l.run, handle, "msl_run")
	purego.RegisterLibFunc(&l.message, handle, "msl_error")
	purego.RegisterLibFunc(&l.init, handle, "msl_init")
	purego.RegisterLibFunc(&l.exit, handle, "msl_exit")
	symbol := func(name string) unsafe.Pointer {
		at, err := purego.Dlsym(handle, name)
		if err != nil {
			t.Fatal(err)
		}
		return *(*unsafe.Pointer)(unsafe.Pointer(&at))
	}
	l.width = *(*uint32)(symbol("sotto_simd"))
	table := unsafe.Slice((*hostKernel)(symbol("sotto_kernels")), 1<<20)
	for i := 0; table[i].name != nil; i++ {
		l.kernels[text(table[i].name)] = table[i]
	}
	if e := l.init(threads); e != 0 {
		t.Fatal(syscall.Errno(e))
	}
	t.Cleanup(l.exit)
	return l
}

// text is a C string.
func text(p *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// op makes an op of n threadgroups of the given simdgroups.
func (l *library) op(t testing.TB, kernel string, groups, simdgroups, stage uint32, bufs ...unsafe.Pointer) hostOp {
	t.Helper()
	k, ok := l.kernels[kernel]
	if !ok {
		t.Fatalf("no kernel %s", kernel)
	}
	o := hostOp{
		fn: k.fn, args: &hostArgs{}, grid: [3]uint32{groups, 1, 1}, tg: [3]uint32{simdgroups * l.width, 1, 1},
		stage: stage, stepIndex: -1,
	}
	copy(o.args.buf[:], bufs)
	return o
}

// do runs a list and returns what went wrong.
func (l *library) do(ops []hostOp, step unsafe.Pointer, seed uint64) error {
	code := l.run(unsafe.SliceData(ops), uint32(len(ops)), step, seed)
	runtime.KeepAlive(ops)
	if code != 0 {
		return errors.New(l.message())
	}
	return nil
}

// ptr is the address of a slice's memory.
func ptr[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }
