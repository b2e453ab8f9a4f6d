package app

import (
	"sotto/engine/gpu"
	"sotto/engine/gpu/metal/sim"
)

const defaultDriver = DriverHost

// openSimulated opens the Metal driver on a simulated Mac, whose kernels the host driver runs.
func openSimulated(o Options) (gpu.Device, error) {
	d, err := sim.Open(sim.Options{}, metalOptions(o))
	if err != nil {
		return nil, err
	}
	return d, nil
}
