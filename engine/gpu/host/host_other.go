//go:build !(linux && amd64)

package host

import (
	"errors"
	"fmt"
	"runtime"

	"sotto/engine/gpu"
)

// Open reports that there is no host driver for this platform.
func Open(Options) (gpu.Device, error) {
	return nil, &gpu.Error{Op: "open host", Err: fmt.Errorf("%s/%s is not linux/amd64: %w",
		runtime.GOOS, runtime.GOARCH, errors.ErrUnsupported)}
}
