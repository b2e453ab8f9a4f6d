//go:build !linux && !darwin

package app

import (
	"errors"

	"sotto/engine/gpu"
)

const defaultDriver = DriverHost

// openSimulated says where the simulator is.
func openSimulated(Options) (gpu.Device, error) {
	return nil, errors.New("driver sim is there on Linux only")
}
