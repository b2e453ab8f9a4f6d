package gputest

import (
	"fmt"
	"testing"

	"sotto/engine/gpu"
	"sotto/kernels"
)

var (
	// gated is the shape of the first family's attention, plain that of the second.
	gated = kernels.Attention{Heads: 4, KVHeads: 2, Dim: 64, Gate: true, QKNorm: true, Rotary: 16, Theta: 1e7}
	plain = kernels.Attention{Heads: 4, KVHeads: 1, Dim: 64}
)

func attentionRows(t *testing.T, dev gpu.Device) {
	full := kernels.Attention{KVHeads: 1, QKNorm: true, Theta: 1e4}
	shape := func(a kernels.Attention, heads, keys, dim, rotary int) kernels.Attention {
		a.Heads, a.KVHeads, a.Dim, a.Rotary = heads, keys, dim, rotary
		return a
	}
	for _, c := range []struct {
		a                kernels.Attention
		pos, class, live int
	}{
		{gated, 0, 1, 1},
		{gated, 0, 5, 5},
		{gated, 254, 16, 4},
		{gated, 255, 2, 2},
		{gated, 256, 1, 1},
		{plain, 257, 3, 3},
		{plain, 0, 64, 31},
		{shape(gated, 2, 1, 32, 8), 0, 64, 33},
		{shape(full, 1, 1, 32, 32), 250, 64, 17},
		{shape(gated, 8, 1, 256, 64), 255, 2, 2},
		{shape(plain, 16, 1, 128, 0), 1000, 2, 2},
		{shape(plain, 2, 1, 128, 0), 2, 2, 2},
		{shape(full, 3, 3, 32, 30), 1000, 16, 15},
		{shape(gated, 10, 1, 256, 128), 1, 1, 1},
		{shape(plain, 20, 1, 32, 0), 511, 16, 2},
		{shape(plain, 32, 2, 128, 0), 300, 3, 3},
		{shape(gated, 16, 2, 64, 64), 100, 2, 2},
	} {
		for _, c.a.DType = range []kernels.DType{kernels.BF16, kernels.F32} {
			name := fmt.Sprintf("%v %d on %d heads of %d, %d rows from %d", c.a.DType, c.a.Heads, c.a.KVHeads, c.a.Dim,
				c.live, c.pos)
			t.Run(name, func(t *testing.T) {
				l := newAttention(name, c.a, c.pos, c.live)
				got := l.run(t, dev, l.k, l.v, c.class, 0, c.live)
				l.check(t, got, count(c.live)...)
				l.kept(t, got, c.live)
				l.decodeRows(t, dev, got, 0, c.live/2, c.live-1)
			})
		}
	}
}

// attentionCuts cuts 23 rows across the border of two blocks.
func attentionCuts(t *testing.T, dev gpu.Device) {
	for _, dtype := range []kernels.DType{kernels.BF16, kernels.F32} {
		t.Run(dtype.String(), func(t *testing.T) {
			a := gated
			a.DType, a.Dim = dtype, 32
			l := newAttention(t.Name(), a, 245, 23)
			whole := l.run(t, dev, l.k, l.v, 64, 0, 23)
			for _, cuts := range [][]int{{1, 22}, {11, 12}, {10, 13}, {22, 1}, {5, 5, 1, 12}} {
				pass := attended{k: l.k, v: l.v}
				from := 0
				for _, n := range cuts {
					next := l.run(t, dev, pass.k, pass.v, cutClass(n), from, n)
					next.q, next.a = append(pass.q, next.q...), append(pass.a, next.a...)
					pass, from = next, from+n
				}
				sameAttention(t, fmt.Sprint(cuts), pass, whole)
			}
			l.decodeRows(t, dev, whole, count(23)...)
		})
	}
}

// attentionUnseen puts NaN and infinity into rows that earlier rows share a threadgroup with but must not see.
func attentionUnseen(t *testing.T, dev gpu.Device) {
	for _, dtype := range []kernels.DType{kernels.BF16, kernels.F32} {
		t.Run(dtype.String(), func(t *testing.T) {
			a := plain
			a.DType, a.Heads, a.Dim = dtype, 1, 32
			l := newAttention(t.Name(), a, 250, 16)
			whole := l.run(t, dev, l.k, l.v, 16, 0, 16)
			for i := 9 * l.PStride; i < len(l.p); i++ {
				l.p[i] = ToF32(Out(4).init)[0]
			}
			n := 9 * l.Dim * int(dtype.Size())
			got := l.run(t, dev, l.k, l.v, 16, 0, 16)
			if i := differ(got.a[:n], whole.a[:n]); i >= 0 {
				t.Errorf("later rows change earlier ones, from byte %d on", i)
			}
			for i, x := range ToFloats(dtype, got.a[n:]) {
				if x == x {
					t.Fatalf("output %d of rows of NaN is %g", i, x)
				}
			}
		})
	}
}

// attentionSharp has scores of hundreds, so that most weights vanish and blocks outweigh each other.
func attentionSharp(t *testing.T, dev gpu.Device) {
	a := plain
	a.DType = kernels.F32
	l := newAttention(t.Name(), a, 600, 5)
	for i := range l.p {
		l.p[i] *= 40
	}
	got := l.run(t, dev, l.k, l.v, 5, 0, 5)
	l.check(t, got, count(5)...)
	l.decodeRows(t, dev, got, 0, 4)
}

// attentionLast prepares the last row of the longest window: its angles are the largest ones.
func attentionLast(t *testing.T, dev gpu.Device) {
	const pos = kernels.MaxPages*kernels.KeyBlock - 1
	a := gated
	a.DType, a.Rows = kernels.F32, 1
	l := newAttention(t.Name(), a, 0, 1)
	shape := l.Attention
	launch, err := kernels.AttnStore(shape).Launch()
	if err != nil {
		t.Fatal(err)
	}
	step := StepRecord{Params: kernels.StepParams{Pos: pos, Rows: 1, Active: 1, Blocks: kernels.MaxPages}}
	step.Pages = make([]uint32, kernels.MaxPages)
	step.Pages[kernels.MaxPages-1] = 2
	out := RunOp(t, dev, launch, StepData(step), F32s(l.p), BF16s(l.qNorm), BF16s(l.kNorm),
		OutFloats(a.DType, a.Heads*a.Dim), Bytes(l.k), Bytes(l.v))
	k := newRefCache(a.DType, out[5], step.Pages, a.KVHeads, a.Dim)
	var got []float32
	var want []float64
	for h := range a.Heads {
		q, _ := l.query(l.row(0), h)
		want = append(want, l.prepared(q, l.qNorm, pos)...)
	}
	got = append(got, ToF32(out[4])...)
	for h := range a.KVHeads {
		key, _ := l.keyValue(l.row(0), h)
		got, want = append(got, k.row(h, pos)...), append(want, l.prepared(key, l.kNorm, pos)...)
	}
	Check(t, "queries and keys", got, want, TolOf(a.DType))
}

// attentionIdle runs a session that has ended: nothing may be stored.
func attentionIdle(t *testing.T, dev gpu.Device) {
	a := gated
	a.DType, a.Rows = kernels.BF16, 1
	l := newAttention(t.Name(), a, 0, 1)
	idle := StepData(StepRecord{Pages: l.pages, Params: kernels.StepParams{Rows: 1}})
	decode, err := kernels.AttnDecode(l.Attention).Launch()
	if err != nil {
		t.Fatal(err)
	}
	store, err := kernels.AttnStore(l.Attention).Launch()
	if err != nil {
		t.Fatal(err)
	}
	p, qn, kn := Floats(a.DType, l.p), BF16s(l.qNorm), BF16s(l.kNorm)
	partO, partML := Out(4*l.Heads*l.MaxBlocks*l.Dim), Out(8*l.Heads*l.MaxBlocks)
	out := RunOp(t, dev, decode, idle, p, qn, kn, Bytes(l.k), Bytes(l.v), partO, partML)
	out2 := RunOp(t, dev, store, idle, p, qn, kn, OutFloats(a.DType, a.Heads*a.Dim), Bytes(l.k), Bytes(l.v))
	for i, mem := range [][]byte{out[4], out[5], out2[5], out2[6]} {
		checkPoison(t, fmt.Sprintf("cache %d", i), mem)
	}
}

// attentionMistakes shows that the tolerances notice what is easily forgotten.
func attentionMistakes(t *testing.T, dev gpu.Device) {
	a := gated
	a.DType = kernels.F32
	l := newAttention(t.Name(), a, 300, 2)
	got := l.run(t, dev, l.k, l.v, 2, 0, 2)
	l.check(t, got, 0, 1)
	k := newRefCache(a.DType, got.k, l.pages, a.KVHeads, a.Dim)
	v := newRefCache(a.DType, got.v, l.pages, a.KVHeads, a.Dim)
	q := part(ToF32(got.q), a.Dim, 0, 1)
	_, gate := l.query(l.row(0), 0)
	keys := func(j int) []float32 { return k.row(0, j) }
	values := func(j int) []float32 { return v.row(0, j) }
	half := make([]float32, len(q))
	for i := range half {
		half[i] = q[i] * 1.01
	}
	mine := part(ToF32(got.a), a.Dim, 0, 1)
	raw, _ := l.query(l.row(0), 0)
	for name, d := range map[string]Distance{
		"one key less":  Compare(mine, refAttend(q, l.pos, keys, values, gate)),
		"one key more":  Compare(mine, refAttend(q, l.pos+2, keys, values, gate)),
		"scale":         Compare(mine, refAttend(half, l.pos+1, keys, values, gate)),
		"gate":          Compare(mine, refAttend(q, l.pos+1, keys, values, nil)),
		"theta":         Compare(q, refPrepare(raw, l.qNorm, attnEps, a.Rotary, 1e6, l.pos)),
		"position":      Compare(q, refPrepare(raw, l.qNorm, attnEps, a.Rotary, a.Theta, l.pos+1)),
		"rotated pairs": Compare(q, refPrepare(raw, l.qNorm, attnEps, a.Rotary-2, a.Theta, l.pos)),
	} {
		if d.Norm <= TolOf(a.DType).Norm {
			t.Errorf("%s: a mistake stays within the tolerance: %v", name, d)
		}
	}
}

// attentionMany runs a full prefill pass with few heads.
func attentionMany(t *testing.T, dev gpu.Device) {
	const rows = kernels.MaxRows - 1
	for _, dtype := range []kernels.DType{kernels.BF16, kernels.F32} {
		t.Run(dtype.String(), func(t *testing.T) {
			a := gated
			a.DType, a.Heads, a.KVHeads, a.Dim = dtype, 2, 1, 32
			l := newAttention(t.Name(), a, 100, rows)
			got := l.run(t, dev, l.k, l.v, kernels.MaxRows, 0, rows)
			some := []int{0, 155, 156, 157, 1000, 2047, rows - 1}
			l.check(t, got, some...)
			l.decodeRows(t, dev, got, some...)
		})
	}
}

// attentionBlocks decodes so far on that threadgroups take more than one block.
func attentionBlocks(t *testing.T, dev gpu.Device) {
	a := plain
	a.DType, a.Heads, a.Dim = kernels.BF16, 1, 32
	l := newAttention(t.Name(), a, 257*kernels.KeyBlock+9, 1)
	got := l.run(t, dev, l.k, l.v, 1, 0, 1)
	l.check(t, got, 0)
	l.decodeRows(t, dev, got, 0)
}
