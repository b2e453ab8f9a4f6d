package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"

	"sotto/kernels"
	"sotto/kernels/msl/params"
)

// library is one loaded copy of a kernel library.
type library struct {
	handle  uintptr
	image   int     // descriptor that the linker knows the library by; -1 if it was a temporary file
	run     uintptr // int msl_run(msl_op*, u32 n, void* step, u64 seed)
	message uintptr // const char* msl_error()
	exit    uintptr // void msl_exit()
	simd    int
	kernels map[string]entry
}

// entry is a kernel of a library.
type entry struct {
	fn         uintptr
	maxThreads uint32 // a threadgroup; 0: no bound of its own
}

// cKernel mirrors struct msl_kernel.
type cKernel struct {
	name       unsafe.Pointer
	fn         uintptr
	maxThreads uint32
	tgBytes    uint32
}

// errNoLibrary says how to get the embedded library.
var errNoLibrary = errors.New("this binary was built without the kernel library: run `make kernels` and build again")

// errStale says that a library is not that of the sources with which this program was built. Its kernels would take
// what they are given for something else.
var errStale = errors.New("it was built from other sources than this program: run `make kernels` and build again")

// stamp is what a library must say of itself.
var stamp = sync.OnceValues(func() (string, error) { return params.Stamp(kernels.Tree()) })

// image is the content of the library at path, or of the embedded one, and a name for messages.
func image(path string) (data []byte, name string, err error) {
	if path != "" {
		data, err = os.ReadFile(path)
		return data, path, err
	}
	data, err = fastDir.ReadFile(fastPath)
	if errors.Is(err, fs.ErrNotExist) {
		err = errNoLibrary
	}
	return data, "embedded kernel library", err
}

// load links a private copy of a library, so that two devices share no state, and starts its threads.
func load(path string, threads int) (*library, error) {
	data, name, err := image(path)
	if err != nil {
		return nil, err
	}
	l, err := link(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	start, err := l.bind()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), l.unlink())
	}
	if r, _, _ := purego.SyscallN(start, uintptr(threads)); int32(r) != 0 {
		// Some threads may have started all the same.
		return nil, errors.Join(fmt.Errorf("%s: start %d threads: %w", name, threads, unix.Errno(r)), l.close())
	}
	return l, nil
}

// close ends the library's threads, frees its memory and gives it up. Nothing may run in it.
func (l *library) close() error {
	purego.SyscallN(l.exit)
	return l.unlink()
}

// link hands the image to the dynamic linker through memory; where that is not allowed, through a temporary
// file that is gone again before link returns. When both fail it is for the same reason, given by the first.
func link(data []byte) (*library, error) {
	l, err := linkMemory(data)
	if err == nil {
		return l, nil
	}
	if l, fileErr := linkFile(data); fileErr == nil {
		return l, nil
	}
	return nil, err
}

// linkMemory keeps the descriptor open for as long as the library is linked: the linker takes a path that it has
// seen for the library that it had then, so a descriptor must not come back with another image.
func linkMemory(data []byte) (*library, error) {
	fd, err := memFile(data)
	if err != nil {
		return nil, fmt.Errorf("memory file: %w", err)
	}
	h, err := purego.Dlopen(fmt.Sprintf("/proc/self/fd/%d", fd), purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return &library{handle: h, image: fd}, nil
}

// unlink gives up a library in which nothing runs.
func (l *library) unlink() error {
	err := purego.Dlclose(l.handle)
	if l.image >= 0 {
		err = errors.Join(err, unix.Close(l.image))
	}
	return err
}

// memFile returns a plain descriptor, not an os.File, which would close it when it becomes garbage.
func memFile(data []byte) (int, error) {
	fd, err := unix.MemfdCreate("sotto-kernels", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, err
	}
	for len(data) > 0 {
		n, err := unix.Write(fd, data)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return -1, errors.Join(err, unix.Close(fd))
		}
		data = data[max(n, 0):]
	}
	return fd, nil
}

func linkFile(data []byte) (l *library, err error) {
	f, err := os.CreateTemp("", "sotto-kernels-*.so")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	h, err := purego.Dlopen(f.Name(), purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	return &library{handle: h, image: -1}, nil
}

// bind finds the library's symbols and reads its table of kernels. It returns the function that starts threads.
func (l *library) bind() (start uintptr, err error) {
	var table, simd uintptr
	for _, s := range []struct {
		name string
		addr *uintptr
	}{
		{"msl_init", &start},
		{"msl_run", &l.run},
		{"msl_error", &l.message},
		{"msl_exit", &l.exit},
		{"sotto_kernels", &table},
		{"sotto_simd", &simd},
	} {
		a, err := purego.Dlsym(l.handle, s.name)
		if err != nil {
			return 0, err
		}
		*s.addr = a
	}
	if err := l.current(); err != nil {
		return 0, err
	}
	l.simd = int(*(*uint32)(pointer(simd)))
	if l.simd != 1 && l.simd != 32 {
		return 0, fmt.Errorf("built for %d lanes a simdgroup, want 1 or 32", l.simd)
	}
	l.kernels = map[string]entry{}
	for p := pointer(table); ; p = unsafe.Add(p, unsafe.Sizeof(cKernel{})) {
		k := (*cKernel)(p)
		if k.name == nil {
			break
		}
		l.kernels[cString(k.name)] = entry{k.fn, k.maxThreads}
	}
	return start, nil
}

// current fails unless the library was built from the sources that this program was built with.
func (l *library) current() error {
	want, err := stamp()
	if err != nil {
		return err
	}
	if a, err := purego.Dlsym(l.handle, "sotto_stamp"); err != nil || cString(pointer(a)) != want {
		return errStale
	}
	return nil
}

// fault is the error of a run that returned code.
func (l *library) fault(code uintptr) error {
	text, _, _ := purego.SyscallN(l.message)
	if text == 0 || *(*byte)(pointer(text)) == 0 {
		return unix.Errno(code)
	}
	return fmt.Errorf("%s (%w)", cString(pointer(text)), unix.Errno(code))
}

// pointer makes a pointer of an address outside the Go heap.
func pointer(addr uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&addr)) }

func cString(p unsafe.Pointer) string {
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}
