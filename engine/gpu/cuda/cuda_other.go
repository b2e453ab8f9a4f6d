//go:build !(linux && (amd64 || arm64))

package cuda

import (
	"errors"
	"fmt"
	"runtime"

	"sotto/engine/gpu"
)

// Open reports that there is no CUDA driver for this platform.
func Open(Options) (gpu.Device, error) {
	return nil, &gpu.Error{Op: "open cuda", Err: fmt.Errorf("%s/%s: %w", runtime.GOOS, runtime.GOARCH,
		errors.ErrUnsupported)}
}
