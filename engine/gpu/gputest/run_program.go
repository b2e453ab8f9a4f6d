package gputest

import (
	"bytes"
	"slices"
	"testing"

	"sotto/engine/gpu"
	"sotto/kernels"
)

func checkChain(t *testing.T, dev gpu.Device) {
	b := newBench(t, dev)
	const n = 12
	p := b.chain(n)
	x := b.compile(p)
	if x.Program() != p {
		t.Error("the compiled program is not the one that was given")
	}
	step := b.step(StepRecord{}.live(benchRows))
	var first []byte
	for _, seed := range append([]uint64{0, 0}, seeds[:]...) {
		if s, ok := dev.(shuffler); ok {
			s.SetSeed(seed)
		}
		b.reset()
		b.run(x, step)
		for i := range n {
			b.check("after some norms", b.slot(i+1), b.reference(i+1))
		}
		got := bytes.Clone(b.buffers[b.act].Bytes())
		if first == nil {
			first = got
		}
		if i := differ(got, first); i >= 0 {
			t.Errorf("seed %d: byte %d differs from the first run", seed, i)
		}
	}
	x.Free()
	x.Free() // twice does nothing
}

func checkIndependent(t *testing.T, dev gpu.Device) {
	b := newBench(t, dev)
	p := &gpu.Program{Name: "fan", Rows: benchRows}
	for i := 1; i < benchSlots; i++ {
		p.Ops = append(p.Ops, b.norm(b.slot(0), b.slot(i)))
	}
	if got := slices.Max(p.Stages()); got != 1 {
		t.Fatalf("got %d stages, want 1", got)
	}
	b.run(b.compile(p), b.step(StepRecord{}.live(benchRows)))
	for i := 1; i < benchSlots; i++ {
		b.check("a norm of the input", b.slot(i), b.reference(1))
	}
}

// checkForkJoin lists ops of two branches so that stages are not in the order of the list, then overwrites
// what both read.
func checkForkJoin(t *testing.T, dev gpu.Device) {
	b := newBench(t, dev)
	p := &gpu.Program{Name: "fork", Rows: benchRows, Ops: []gpu.Op{
		b.norm(b.slot(0), b.slot(1)), b.norm(b.slot(1), b.slot(2)), b.norm(b.slot(2), b.slot(3)),
		b.norm(b.slot(0), b.slot(4)), b.norm(b.slot(4), b.slot(5)),
		b.norm(b.slot(3), b.slot(0)), b.norm(b.slot(0), b.slot(6)),
	}}
	if got, want := p.Stages(), []int{1, 2, 3, 1, 2, 4, 5}; !slices.Equal(got, want) {
		t.Fatalf("got stages %v, want %v", got, want)
	}
	b.run(b.compile(p), b.step(StepRecord{}.live(benchRows)))
	for slot, norms := range map[int]int{1: 1, 2: 2, 3: 3, 4: 1, 5: 2, 0: 4, 6: 5} {
		b.check("a branch", b.slot(slot), b.reference(norms))
	}
}

func checkUnbound(t *testing.T, dev gpu.Device) {
	b := newBench(t, dev)
	op := b.norm(b.slot(0), b.slot(1))
	op.Args[2] = gpu.Slice{} // weights of zero
	b.run(b.compile(&gpu.Program{Name: "unbound", Rows: benchRows, Ops: []gpu.Op{op}}),
		b.step(StepRecord{}.live(benchRows)))
	b.check("a norm with weights of zero", b.slot(1), make([]float64, benchRows*benchDim))
}

// checkStep replays one program with two step buffers that hold other token ids.
func checkStep(t *testing.T, dev gpu.Device) {
	b := newBench(t, dev)
	const tokens = 10
	l, err := kernels.Embed{
		Format: kernels.B16, DType: kernels.F32, Rows: benchRows, N: tokens, D: benchDim, Eps: benchEps,
	}.Launch()
	if err != nil {
		t.Fatal(err)
	}
	table := RandomWeights(Rand(t.Name()), kernels.B16, tokens, benchDim)
	codes := &gpu.Region{Name: "codes", Size: int64(len(table.Codes))}
	b.buffers[codes] = b.alloc(codes.Size)
	copy(b.buffers[codes].Bytes(), table.Codes)
	p := &gpu.Program{Name: "embed", Rows: benchRows, Ops: []gpu.Op{{Launch: l, Label: "embed", Args: []gpu.Slice{
		{Region: gpu.Step, Len: kernels.StepBytes},
		{Region: codes, Len: codes.Size},
		{Region: b.w, Len: b.w.Size},
		b.slot(0), b.slot(1),
	}}}}
	x := b.compile(p)
	ids := [][]uint32{{1, 2, 3, 4}, {9, 0, 9, 5}}
	steps := []gpu.Buffer{}
	for _, id := range ids {
		steps = append(steps, b.step(StepRecord{IDs: id}.live(benchRows)))
	}
	for _, i := range []int{0, 1, 1, 0} {
		b.run(x, steps[i])
		want := []float64{}
		for _, id := range ids[i] {
			want = append(want, table.Row(int(id))...)
		}
		b.check("rows of the table", b.slot(0), want)
	}
}

func checkLimits(t *testing.T, dev gpu.Device) {
	b := newBench(t, dev)
	for live := range uint32(benchRows + 2) { // more live rows than the class has do not enlarge a grid
		step := b.step(StepRecord{}.live(live))
		op := b.norm(b.slot(0), b.slot(1))
		if len(op.Limits) == 0 {
			t.Fatal("a norm of several rows has no limit: the test says nothing")
		}
		clamped := b.compile(&gpu.Program{Name: "clamped", Rows: benchRows, Ops: []gpu.Op{op}})
		op.Limits = nil
		whole := b.compile(&gpu.Program{Name: "whole", Rows: benchRows, Ops: []gpu.Op{op}})
		var out [2][]byte
		for i, x := range []gpu.Exec{clamped, whole} {
			b.reset()
			b.run(x, step)
			out[i] = bytes.Clone(b.buffers[b.act].Bytes())
		}
		if i := differ(out[0], out[1]); i >= 0 {
			t.Errorf("%d live rows: with and without the limit byte %d differs", live, i)
		}
		rows := int(min(live, benchRows)) * benchDim
		Check(t, "the live rows", b.read(b.slot(1))[:rows], b.reference(1)[:rows], TolOf(kernels.F32))
	}
}
