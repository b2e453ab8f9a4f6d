package gputest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// Sizes of the shared expert of the published 30B model of the family.
const (
	benchNeurons = 3712
	benchOutputs = 2688
	benchSlots16 = kernels.MaxTopK // experts of a row
)

// neuronArm is one way to multiply hidden rows by all experts, each once.
type neuronArm struct {
	name   string
	format kernels.Format
	share  float64 // of live neurons
	dense  bool    // the bitmap is taken as ones
	exec   gpu.Exec
	times  []time.Duration
}

// BenchNeuron measures down projections of full-size experts at 10 % and at 100 % live neurons, against the same kernel
// that takes all neurons as live, and against the row-major kernel. A pass reads every expert so many times, in turns,
// so that caches do not help when there are enough of them; the arms take turns too, and medians are reported, in
// microseconds an expert.
func BenchNeuron(b *testing.B, dev gpu.Device, experts, times int) {
	s := newNeuronBench(b, dev, experts, times)
	arms := []*neuronArm{
		{name: "sparse10", format: kernels.NM, share: 0.1},
		{name: "sparse10-m20", format: kernels.NM20, share: 0.1},
		{name: "sparse10-as-ones", format: kernels.NM, share: 0.1, dense: true},
		{name: "sparse100", format: kernels.NM, share: 1},
		{name: "sparse100-m20", format: kernels.NM20, share: 1},
		{name: "row-major", format: kernels.Q4, share: 1},
	}
	for _, a := range arms {
		a.exec = s.compile(a)
		defer a.exec.Free()
		s.run(a.exec, s.step) // warm
	}
	for b.Loop() {
		for _, a := range arms {
			start := time.Now()
			s.run(a.exec, s.step)
			a.times = append(a.times, time.Since(start))
		}
	}
	median := func(name string) float64 {
		for _, a := range arms {
			if a.name == name {
				slices.Sort(a.times)
				return float64(a.times[len(a.times)/2].Nanoseconds()) / 1e3 / float64(experts*times)
			}
		}
		return 0
	}
	b.ReportMetric(0, "ns/op")
	for _, a := range arms {
		b.ReportMetric(median(a.name), a.name+"-us")
	}
	b.ReportMetric(median("sparse10-as-ones")/median("sparse10"), "gain-over-ones")
	b.ReportMetric(median("row-major")/median("sparse10"), "gain-over-row-major")
	b.ReportMetric(median("sparse100")/median("row-major"), "full-to-row-major")
}

// neuronBench is the weights of experts, in every format out of one memory: what they hold does not matter.
type neuronBench struct {
	*bench
	experts, rows, times int
	step                 gpu.Buffer
	weights              *gpu.Region
}

func newNeuronBench(b *testing.B, dev gpu.Device, experts, times int) *neuronBench {
	s := &neuronBench{
		bench: newBench(b, dev), experts: experts, rows: min(5, (experts+benchSlots16-1)/benchSlots16), times: times,
	}
	if experts%(s.rows*benchSlots16) != 0 {
		b.Fatalf("%d experts are not whole passes of %d rows", experts, s.rows)
	}
	// Of one expert, so that every group of bytes may be codes, four bits of a scale, or a scale of about 1/4.
	r := Rand("neuron bench")
	size := int64(experts) * (benchNeurons*benchOutputs/2 + 2*2*benchNeurons/group*benchOutputs)
	mem := page(int(size))
	one := make([]byte, 2<<20)
	for i := 0; i < len(one); i += 2 {
		one[i], one[i+1] = byte(r.Uint32()), 0x3e
	}
	for n := copy(mem, one); n < len(mem); n *= 2 {
		copy(mem[n:], mem[:n])
	}
	buf, err := dev.Map(mem)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(buf.Free)
	s.weights = &gpu.Region{Name: "experts", Size: size}
	s.buffers[s.weights] = buf
	s.step = s.bench.step(StepRecord{}.live(uint32(s.rows)))
	return s
}

// data is a region with this content.
func (s *neuronBench) data(name string, content []byte) gpu.Slice {
	r := &gpu.Region{Name: name, Size: int64(len(content))}
	s.buffers[r] = s.alloc(r.Size)
	copy(s.buffers[r].Bytes(), content)
	return gpu.Slice{Region: r, Len: r.Size}
}

// out is a region that the CPU never looks at.
func (s *neuronBench) out(name string, size int64) gpu.Slice {
	r := &gpu.Region{Name: name, Size: size}
	s.buffers[r] = s.alloc(size)
	return gpu.Slice{Region: r, Len: size}
}

// streams are the experts in a format.
func (s *neuronBench) streams(f kernels.Format) []gpu.Slice {
	codes := int64(s.experts) * benchNeurons * benchOutputs / 2
	pairs := int64(s.experts) * benchNeurons / group * benchOutputs * 2
	scales := pairs
	if f == kernels.NM20 {
		scales /= 4
	}
	return []gpu.Slice{
		{Region: s.weights, Len: codes},
		{Region: s.weights, Off: codes, Len: scales},
		{Region: s.weights, Off: codes + pairs, Len: pairs},
	}
}

// compile records an arm: a launch takes 16 experts for each of its rows.
func (s *neuronBench) compile(a *neuronArm) gpu.Exec {
	slots := s.rows * benchSlots16
	r := Rand(a.name)
	v := hidden{dtype: kernels.BF16, n: benchNeurons}
	for range slots {
		h := hiddenRow(r, v.dtype, v.n, a.share)
		v.h, v.live = append(v.h, h...), append(v.live, refBits(h)...)
	}
	h, bits := s.data(a.name+" h", BF16Bytes(v.h)), s.data(a.name+" live", U32Bytes(v.live))
	p := &gpu.Program{Name: a.name, Rows: s.rows}
	for first := 0; first < s.experts; first += slots {
		ids := make([]uint32, slots)
		for i := range ids {
			ids[i] = uint32(first + i)
		}
		idx := s.data(fmt.Sprintf("%s idx %d", a.name, first), U32Bytes(ids))
		p.Ops = append(p.Ops, s.op(a, fmt.Sprint(a.name, " ", first), h, bits, idx))
	}
	p.Ops = slices.Repeat(p.Ops, s.times)
	return s.bench.compile(p)
}

func (s *neuronBench) op(a *neuronArm, name string, h, bits, idx gpu.Slice) gpu.Op {
	slots := int64(s.rows * benchSlots16)
	var l kernels.Launch
	var err error
	var args []gpu.Slice
	if a.format == kernels.Q4 {
		l, err = kernels.ExpertDown{
			Format: a.format, DType: kernels.BF16, Rows: s.rows, TopK: benchSlots16, Experts: s.experts,
			N: benchOutputs, K: benchNeurons, Stride: s.experts + 1,
		}.Launch()
		w := s.out(name+" w", 4*slots)
		ds := s.out(name+" ds", 4*int64(s.rows)*benchOutputs)
		logits := s.out(name+" logits", 4*int64(s.rows*(s.experts+1)))
		y := s.out(name+" y", 2*int64(s.rows)*benchOutputs)
		args = slices.Concat([]gpu.Slice{h, idx, w}, s.streams(a.format), []gpu.Slice{ds, logits, y})
	} else {
		l, err = kernels.ExpertNeuronDown{
			Format: a.format, DType: kernels.BF16, Rows: s.rows, TopK: benchSlots16, Experts: s.experts,
			N: benchNeurons, D: benchOutputs, Dense: a.dense,
		}.Launch()
		part := s.out(name+" part", 4*slots*int64(kernels.NeuronSlices(benchNeurons))*benchOutputs)
		args = slices.Concat([]gpu.Slice{h, bits, idx}, s.streams(a.format), []gpu.Slice{part})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return gpu.Op{Launch: l, Label: name, Args: append([]gpu.Slice{wholeRecord()}, args...)}
}
