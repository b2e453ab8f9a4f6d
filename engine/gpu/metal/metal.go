// Package metal is the device driver for Apple silicon. It speaks to Metal by messages to the Objective-C runtime
// (a [Messenger]): purego on macOS, in tests the simulated runtime of metal/sim, so that all of it runs anywhere.
// [Methods] lists every message. Kernels are compiled from their sources when the device opens, on threads of their
// own; a program is laid out as a list of messages once and sent again for each submission.
//
// All memory is shared, no resource is tracked by Metal: barriers inside an encoder and fences between encoders
// order the work. Objects are kept in one table and released on one path. A command buffer that fails fails every
// submission up to the last one made before the failure was told, by Wait or by Submit; what is submitted after
// that runs, unless the device is lost. A submission that shares its command buffer with a later one counts as finished
// when the device has signalled it; if the buffer fails after that, waits say so from then on. The driver knows nothing
// of models.
package metal

import (
	"errors"
	"log/slog"
	"time"

	"sotto/engine/gpu"
)

// Options says how to open the device. The zero value is the system's GPU, without an archive of pipelines.
type Options struct {
	Messenger Messenger // nil: the system's Objective-C runtime
	// ArchiveDir is a folder for compiled pipelines, which belongs to this driver alone; "": none are kept.
	ArchiveDir string
	// Progress is told of every pipeline that is ready, one call at a time, on threads of the driver. It must not
	// call the device.
	Progress func(done, total int)
	Logger   *slog.Logger  // nil: silent
	Timeout  time.Duration // without progress on the device, after which it counts as lost; 0: 20 seconds
}

// Reasons for which a device is refused, to be tested with errors.Is.
var (
	ErrNoDevice  = errors.New("this machine has no Metal device")
	ErrOldSystem = errors.New("macOS 14 or newer is needed")
	ErrOldDevice = errors.New("a GPU of the M1 generation or newer is needed")
)

const defaultTimeout = 20 * time.Second

// Open takes the system's GPU and starts compiling kernels.
func Open(o Options) (gpu.Device, error) {
	if o.Messenger == nil {
		m, err := system()
		if err != nil {
			return nil, &gpu.Error{Op: "open metal", Err: err}
		}
		o.Messenger = m
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	d, err := open(o)
	if err != nil {
		return nil, &gpu.Error{Op: "open metal", Err: err}
	}
	return d, nil
}
