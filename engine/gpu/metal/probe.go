package metal

import (
	"context"
	_ "embed" // for the probe's source
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"

	"sotto/engine/gpu"
	"sotto/kernels"
)

//go:embed probe.metal
var probeSource string

// Shape of the probe: c[m][n] = sum over k of a[m][k] * b[k][n].
const (
	probeName       = "probe_tensor"
	probeFile       = "probe.metal"
	probeM          = 64
	probeN          = 32
	probeK          = 64
	probeSimdgroups = 4
)

// addProbe has the builder make the probe's pipeline first.
func (b *builder) addProbe() {
	p := &pipeline{name: probeName, lib: &library{file: probeFile, text: probeSource}}
	b.libraries[probeFile] = p.lib
	b.pipelines[probeName] = p
	b.order = append([]*pipeline{p}, b.order...)
}

// probe multiplies two small matrices by tensor operations and takes the tier if the product is right. A device on
// which that does not work serves with the lower tier.
func (d *Device) probe() {
	if err := d.runProbe(); err != nil {
		d.log.Warn("tensor operations are not used", slog.Any("error", err))
		d.caps.TierReason = "the probe of tensor operations failed: " + err.Error()
		return
	}
	d.caps.Tier, d.caps.TierReason = tierTensor, "the probe of tensor operations gave the right product"
}

func (d *Device) runProbe() error {
	if err := d.connect(); err != nil {
		return err
	}
	defer d.disconnect()
	regions, buffers := map[string]*gpu.Region{}, map[*gpu.Region]gpu.Buffer{}
	sizes := map[string]int64{"a": 2 * probeM * probeK, "b": 2 * probeK * probeN, "c": 4 * probeM * probeN}
	for name, size := range sizes {
		b, err := d.Alloc(size)
		if err != nil {
			return err
		}
		defer b.Free()
		r := &gpu.Region{Name: name, Size: size}
		regions[name], buffers[r] = r, b
	}
	fillProbe(buffers[regions["a"]].Bytes(), buffers[regions["b"]].Bytes())
	x, err := d.Compile(context.Background(), probeProgram(regions), buffers)
	if err != nil {
		return err
	}
	defer x.Free()
	step, err := d.Alloc(kernels.StepBytes)
	if err != nil {
		return err
	}
	defer step.Free()
	n, err := d.Submit(x, step)
	if err == nil {
		err = d.Wait(context.Background(), n)
	}
	if err != nil {
		return err
	}
	return checkProbe(buffers[regions["c"]].Bytes())
}

func probeProgram(regions map[string]*gpu.Region) *gpu.Program {
	k := kernels.Kernel{Name: probeName, File: probeFile, Args: []kernels.Arg{
		{Name: "a", Access: kernels.Read}, {Name: "b", Access: kernels.Read}, {Name: "c", Access: kernels.Write},
	}}
	op := gpu.Op{Label: "probe", Launch: kernels.Launch{
		Kernel: &k, Grid: [3]uint32{1, 1, 1}, Simdgroups: probeSimdgroups,
	}}
	for _, a := range k.Args {
		op.Args = append(op.Args, gpu.Slice{Region: regions[a.Name], Len: regions[a.Name].Size})
	}
	return &gpu.Program{Name: "probe", Rows: 1, Ops: []gpu.Op{op}}
}

// probeA and probeB are small whole numbers, so that every product and sum is exact in any order.
func probeA(m, k int) int { return (m*7+k*3)%5 - 2 }
func probeB(k, n int) int { return (k*5+n)%7 - 3 }

func fillProbe(a, b []byte) {
	for i := range probeM * probeK {
		putBF16(a[2*i:], probeA(i/probeK, i%probeK))
	}
	for i := range probeK * probeN {
		putBF16(b[2*i:], probeB(i/probeN, i%probeN))
	}
}

func putBF16(to []byte, v int) {
	binary.LittleEndian.PutUint16(to, uint16(math.Float32bits(float32(v))>>16))
}

func checkProbe(c []byte) error {
	for i := range probeM * probeN {
		want := 0
		for k := range probeK {
			want += probeA(i/probeN, k) * probeB(k, i%probeN)
		}
		got := math.Float32frombits(binary.LittleEndian.Uint32(c[4*i:]))
		if got != float32(want) {
			return fmt.Errorf("element %d of the product is %v, want %d", i, got, want)
		}
	}
	return nil
}
