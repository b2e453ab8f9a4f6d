package app

import (
	"sotto/engine/gpu"
	"sotto/engine/gpu/host"
)

// openDevice opens the host driver: the kernels built for this processor.
func openDevice(o Options) (gpu.Device, error) {
	return host.Open(host.Options{Threads: o.Threads})
}
