// Package gputest checks drivers and kernels. [Run] is the conformance suite that every driver passes. The files
// kernel_*.go hold a suite for each kernel family, listed in [Suites], which compares kernels with the float64
// references in ref_*.go; they run on any device, through [RunOp] or a [Rig], which put guard words round every
// argument, poison outputs, and repeat each run, shuffled too where the device can, to find results that depend
// on an order. The package opens no device: the tests of the drivers call it.
//
// A kernel test on both host builds: go test ./engine/gpu/host -run 'TestKernels/(exact|fast)/gemv'
package gputest

import (
	"testing"

	"sotto/engine/gpu"
)

// Suite is the tests of one kernel family.
type Suite struct {
	Name string
	Run  func(t *testing.T, dev gpu.Device)
}

// Suites lists the kernel suites; a family adds its line when it lands.
func Suites() []Suite {
	return []Suite{
		{"gemv", KernelGemv},
		{"norm", KernelNorm},
		{"head", KernelHead},
		{"sample", KernelSample},
		{"route", KernelRoute},
		{"route sigmoid", KernelRouteSigmoid},
		{"delta", KernelDelta},
		{"attention", KernelAttention},
		{"experts", KernelExperts},
		{"mamba", KernelMamba},
		{"neuron", KernelNeuron},
		{"relu2", KernelRelu2},
	}
}
