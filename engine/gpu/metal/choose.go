package metal

import (
	"fmt"
	"strings"

	"sotto/engine/gpu"
)

// Constants of MTLGPUFamily.
const (
	familyM1 = 1007 // Apple7
	familyM3 = 1009 // Apple9, also M4
	familyM5 = 1010 // Apple10
)

// Tiers of kernels: the matrix units of a simdgroup, and those of the M5 generation behind tensor operations.
const (
	tierSimdgroup = "simdgroup"
	tierTensor    = "tensor"
)

// profile is what is known of a GPU before it has run anything.
type profile struct {
	name    string // "Apple M4 Max"
	family  int
	tensors bool   // worth a probe
	without string // why not
}

// choose takes the system's GPU, or says why it will not do.
func (d *Device) choose() (profile, error) {
	s := d.objc.sys
	if !s.atLeast(14, 0) {
		return profile{}, fmt.Errorf("macOS %v: %w", s, ErrOldSystem)
	}
	d.device = d.objects.keep(d.objc.m.DefaultDevice(), "MTLDevice", "")
	if d.device.id == 0 {
		return profile{}, ErrNoDevice
	}
	p := profile{name: d.objc.text(d.objc.object(deviceName, d.device.id))}
	for _, f := range []int{familyM5, familyM3, familyM3 - 1, familyM1} {
		if yes(d.objc.send(deviceFamily, d.device.id, uintptr(f))) {
			p.family = f
			break
		}
	}
	if p.family == 0 {
		return profile{}, fmt.Errorf("%s: %w", p.name, ErrOldDevice)
	}
	switch {
	case p.family < familyM5:
		p.without = "this GPU has no matrix units for tensor operations, which came with the M5 generation"
	case !s.hasTensors():
		p.without = fmt.Sprintf("tensor operations need macOS 26.2, this is %v", s)
	default:
		p.tensors = true
	}
	d.maxBuffer = int64(d.objc.send(deviceMaxBuffer, d.device.id))
	d.caps = gpu.Caps{
		Driver: "metal", Name: p.name, Tier: tierSimdgroup, TierReason: p.without, SIMD: simdWidth,
		MaxGroup: gpu.MaxSimdgroups, MemoryLimit: int64(d.objc.send(deviceWorkingSet, d.device.id)),
	}
	return p, nil
}

// chunk is how many rows of a prefill take at most about 100 ms: an estimate from peak rates and a third of them
// reached, for a model of 3 billion active parameters. The tier makes no difference: no kernel multiplies matrices by
// tensor operations yet.
func (p profile) chunk() int {
	rows := 16
	switch {
	case strings.HasSuffix(p.name, "Ultra"):
		rows = 128
	case strings.HasSuffix(p.name, "Max"):
		rows = 64
	case strings.HasSuffix(p.name, "Pro"):
		rows = 32
	}
	if p.family >= familyM3 {
		rows *= 2
	}
	return rows
}
