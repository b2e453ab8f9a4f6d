package gputest

import (
	"bytes"
	"fmt"
	"testing"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// KernelAttention tests attention: passes of many rows against the reference, and decode steps and passes cut anywhere
// against them bit for bit.
func KernelAttention(t *testing.T, dev gpu.Device) {
	t.Run("rows", func(t *testing.T) { attentionRows(t, dev) })
	t.Run("cuts", func(t *testing.T) { attentionCuts(t, dev) })
	t.Run("unseen keys", func(t *testing.T) { attentionUnseen(t, dev) })
	t.Run("sharp scores", func(t *testing.T) { attentionSharp(t, dev) })
	t.Run("last position", func(t *testing.T) { attentionLast(t, dev) })
	t.Run("idle", func(t *testing.T) { attentionIdle(t, dev) })
	t.Run("mistakes", func(t *testing.T) { attentionMistakes(t, dev) })
	if dev.Caps().SIMD == 1 {
		t.Run("many rows", func(t *testing.T) { attentionMany(t, dev) })
		t.Run("many blocks", func(t *testing.T) { attentionBlocks(t, dev) })
	}
}

// attnLayer is a layer with input rows and the caches before them. Keys from pos on are NaN, as are pages that the
// session does not own.
type attnLayer struct {
	kernels.Attention
	pos          int
	p            []float32 // [rows][PStride], NaN beyond the width
	qNorm, kNorm []float32
	pages        []uint32
	k, v         []byte
}

const attnEps = 1e-6

func newAttention(name string, a kernels.Attention, pos, rows int) *attnLayer {
	r := Rand(name)
	width := (a.Heads + 2*a.KVHeads) * a.Dim
	if a.Gate {
		width += a.Heads * a.Dim
	}
	a.PStride, a.Eps = width+3, attnEps
	l := &attnLayer{Attention: a, pos: pos}
	for range rows {
		l.p = append(append(l.p, Normal(r, a.DType, width)...), ToF32(Out(12).init)...)
	}
	for range a.Dim {
		l.qNorm = append(l.qNorm, BF16(float32(1+r.NormFloat64()/3)))
		l.kNorm = append(l.kNorm, BF16(float32(1+r.NormFloat64()/3)))
	}
	blocks := (pos + rows + kernels.KeyBlock - 1) / kernels.KeyBlock
	for _, page := range r.Perm(blocks + 2)[:blocks] {
		l.pages = append(l.pages, uint32(page))
	}
	l.MaxBlocks = blocks + 1
	l.k, l.v = l.cache(blocks+2), l.cache(blocks+2)
	for _, mem := range [][]byte{l.k, l.v} {
		for j := range pos {
			for h := range a.KVHeads {
				l.put(mem, h, j, FloatBytes(a.DType, Normal(r, a.DType, a.Dim)))
			}
		}
	}
	return l
}

func (l *attnLayer) cache(pages int) []byte {
	return OutFloats(l.DType, pages*l.KVHeads*kernels.KeyBlock*l.Dim).init
}

// put stores a row of a cache.
func (l *attnLayer) put(mem []byte, head, pos int, row []byte) {
	copy(mem[len(row)*refCache{pages: l.pages, heads: l.KVHeads}.at(head, pos):], row)
}

// step is the step buffer of a pass; pages beyond the table are far out.
func (l *attnLayer) step(pos, rows int) Data {
	pages := bytes.Clone(Out(4 * kernels.MaxPages).init)
	copy(pages, U32Bytes(l.pages))
	return StepData(StepRecord{Pages: ToU32(pages), Params: kernels.StepParams{
		Pos: uint32(pos), Rows: uint32(rows), Active: 1, Blocks: uint32((pos + rows + 255) / 256),
	}})
}

func (l *attnLayer) row(r int) []float32 { return part(l.p, l.PStride, r, 1) }

// query is the query of head h in a row of projections, and its gate or nil.
func (l *attnLayer) query(p []float32, h int) (q, gate []float32) {
	if l.Gate {
		return part(p, l.Dim, 2*h, 1), part(p, l.Dim, 2*h+1, 1)
	}
	return part(p, l.Dim, h, 1), nil
}

// keyValue is the key and value of key head h in a row of projections.
func (l *attnLayer) keyValue(p []float32, h int) (k, v []float32) {
	at := l.Heads
	if l.Gate {
		at *= 2
	}
	return part(p, l.Dim, at+h, 1), part(p, l.Dim, at+l.KVHeads+h, 1)
}

// attended is what a pass made.
type attended struct{ q, a, k, v []byte }

// run runs rows from, from+1, ... of the input in one pass of a class, on these caches.
func (l *attnLayer) run(t *testing.T, dev gpu.Device, k, v []byte, class, from, live int) attended {
	t.Helper()
	shape := l.Attention
	shape.Rows = class
	store, err := kernels.AttnStore(shape).Launch()
	if err != nil {
		t.Fatal(err)
	}
	attend, err := kernels.AttnRows(shape).Launch()
	if err != nil {
		t.Fatal(err)
	}
	rig := NewRig(t, dev)
	step := rig.Var(l.step(l.pos+from, live))
	p := rig.Var(padded(FloatBytes(l.DType, part(l.p, l.PStride, from, live)), class, live))
	q := rig.Var(OutFloats(l.DType, class*l.Heads*l.Dim))
	a := rig.Var(OutFloats(l.DType, class*l.Heads*l.Dim))
	kv, vv := rig.Var(Bytes(k)), rig.Var(Bytes(v))
	rig.Op(store, step, p, rig.Var(BF16s(l.qNorm)), rig.Var(BF16s(l.kNorm)), q, kv, vv)
	rig.Op(attend, step, q, kv, vv, p, a)
	rig.Run()
	n := len(a.Out()) / class * live
	checkPoison(t, "queries", q.Out()[n:])
	checkPoison(t, "outputs", a.Out()[n:])
	return attended{q.Out()[:n], a.Out()[:n], kv.Out(), vv.Out()}
}

// decode runs row r as a decode step on these caches.
func (l *attnLayer) decode(t *testing.T, dev gpu.Device, k, v []byte, r int) attended {
	t.Helper()
	split, err := kernels.AttnDecode(l.Attention).Launch()
	if err != nil {
		t.Fatal(err)
	}
	merge, err := kernels.AttnMerge(l.Attention).Launch()
	if err != nil {
		t.Fatal(err)
	}
	rig := NewRig(t, dev)
	step, p := rig.Var(l.step(l.pos+r, 1)), rig.Var(Floats(l.DType, l.row(r)))
	kv, vv := rig.Var(Bytes(k)), rig.Var(Bytes(v))
	partO, partML := rig.Var(Out(4*l.Heads*l.MaxBlocks*l.Dim)), rig.Var(Out(8*l.Heads*l.MaxBlocks))
	a := rig.Var(OutFloats(l.DType, l.Heads*l.Dim))
	rig.Op(split, step, p, rig.Var(BF16s(l.qNorm)), rig.Var(BF16s(l.kNorm)), kv, vv, partO, partML)
	rig.Op(merge, step, partO, partML, p, a)
	rig.Run()
	return attended{nil, a.Out(), kv.Out(), vv.Out()}
}

// decodeRows decodes chosen rows after a whole pass: on its caches, but for the row's own key and value, which are to
// be stored anew. Later keys lie in the caches and must not be seen.
func (l *attnLayer) decodeRows(t *testing.T, dev gpu.Device, whole attended, rows ...int) {
	t.Helper()
	n := l.Heads * l.Dim * int(l.DType.Size())
	hole := OutFloats(l.DType, l.Dim).init
	for _, r := range rows {
		k, v := bytes.Clone(whole.k), bytes.Clone(whole.v)
		for h := range l.KVHeads {
			l.put(k, h, l.pos+r, hole)
			l.put(v, h, l.pos+r, hole)
		}
		got := l.decode(t, dev, k, v, r)
		got.q = part(whole.q, n, r, 1)
		want := attended{got.q, part(whole.a, n, r, 1), whole.k, whole.v}
		sameAttention(t, fmt.Sprintf("decode of row %d", r), got, want)
	}
}

func sameAttention(t *testing.T, what string, got, want attended) {
	t.Helper()
	for _, x := range []struct {
		name      string
		got, want []byte
	}{{"queries", got.q, want.q}, {"outputs", got.a, want.a}, {"keys", got.k, want.k}, {"values", got.v, want.v}} {
		if i := differ(x.got, x.want); i >= 0 {
			t.Errorf("%s: %s differ at byte %d of %d", what, x.name, i, len(x.want))
		}
	}
}

// check compares rows of a pass over rows 0, 1, ... with the reference. Attention starts from the stored queries, keys
// and values, so that one rounding lies between input and output of each kernel.
func (l *attnLayer) check(t *testing.T, got attended, rows ...int) {
	t.Helper()
	k := newRefCache(l.DType, got.k, l.pages, l.KVHeads, l.Dim)
	v := newRefCache(l.DType, got.v, l.pages, l.KVHeads, l.Dim)
	q, a := ToFloats(l.DType, got.q), ToFloats(l.DType, got.a)
	var gotP, gotA []float32
	var wantP, wantA []float64
	for _, r := range rows {
		pos := l.pos + r
		for h := range l.Heads {
			raw, gate := l.query(l.row(r), h)
			mine := part(q, l.Dim, r*l.Heads+h, 1)
			gotP, wantP = append(gotP, mine...), append(wantP, l.prepared(raw, l.qNorm, pos)...)
			kh := h / (l.Heads / l.KVHeads)
			keys := func(j int) []float32 { return k.row(kh, j) }
			values := func(j int) []float32 { return v.row(kh, j) }
			gotA = append(gotA, part(a, l.Dim, r*l.Heads+h, 1)...)
			wantA = append(wantA, refAttend(mine, pos+1, keys, values, gate)...)
		}
		for h := range l.KVHeads {
			key, value := l.keyValue(l.row(r), h)
			gotP, wantP = append(gotP, k.row(h, pos)...), append(wantP, l.prepared(key, l.kNorm, pos)...)
			if differ(F32Bytes(v.row(h, pos)), F32Bytes(value)) >= 0 {
				t.Errorf("row %d: the stored value of head %d is another one", r, h)
			}
		}
	}
	Check(t, "queries and keys", gotP, wantP, TolOf(l.DType))
	Check(t, "outputs", gotA, wantA, TolOf(l.DType))
}

func (l *attnLayer) prepared(x, w []float32, pos int) []float64 {
	if !l.QKNorm {
		w = nil
	}
	return refPrepare(x, w, attnEps, l.Rotary, l.Theta, pos)
}

// kept checks that a pass over rows 0, 1, ... changed no other keys and values.
func (l *attnLayer) kept(t *testing.T, got attended, rows int) {
	t.Helper()
	k, v := bytes.Clone(got.k), bytes.Clone(got.v)
	hole := OutFloats(l.DType, l.Dim).init
	for r := range rows {
		for h := range l.KVHeads {
			l.put(k, h, l.pos+r, hole)
			l.put(v, h, l.pos+r, hole)
		}
	}
	if differ(k, l.k) >= 0 || differ(v, l.v) >= 0 {
		t.Error("keys or values of other positions or pages changed")
	}
}

func count(n int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = i
	}
	return v
}
