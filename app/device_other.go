//go:build !linux || !amd64

package app

import (
	"fmt"
	"runtime"

	"sotto/engine/gpu"
)

// openDevice says that there is no driver for this machine yet.
func openDevice(Options) (gpu.Device, error) {
	return nil, fmt.Errorf("no driver for %s/%s: Sotto's engine runs on 64-bit x86 Linux so far", runtime.GOOS, runtime.GOARCH)
}
