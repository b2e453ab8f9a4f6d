package app

import (
	"errors"

	"sotto/engine/gpu"
)

const defaultDriver = DriverMetal

// openSimulated says that a Mac needs no simulated one.
func openSimulated(Options) (gpu.Device, error) {
	return nil, errors.New("driver sim is for machines without Metal: this one has the driver metal")
}
