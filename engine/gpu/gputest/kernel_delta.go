package gputest

import (
	"bytes"
	"fmt"
	"testing"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// KernelDelta tests the gated delta net: convolution and scan of many rows against the reference, and decode steps
// and passes cut anywhere against them bit for bit.
func KernelDelta(t *testing.T, dev gpu.Device) {
	t.Run("rows", func(t *testing.T) { deltaRows(t, dev) })
	t.Run("gates", func(t *testing.T) { deltaGates(t, dev) })
	t.Run("cuts", func(t *testing.T) { deltaCuts(t, dev) })
	t.Run("idle", func(t *testing.T) { deltaIdle(t, dev) })
	t.Run("mistakes", func(t *testing.T) { deltaMistakes(t, dev) })
	if dev.Caps().SIMD == 1 {
		t.Run("many rows", func(t *testing.T) { deltaMany(t, dev) })
	}
}

const (
	deltaSlots = 3
	deltaSlot  = 1
	deltaEps   = 1e-6
)

// deltaNet is a layer with input rows and the state before them.
type deltaNet struct {
	refDelta
	stride int
	p      []float32 // [rows][stride], NaN beyond the width
	state  deltaState
}

// deltaState is what a pass leaves to the next one. Other slots than deltaSlot hold NaN.
type deltaState struct {
	conv   []byte // T[slots][2][3][C]
	s      []byte // f32[slots][Hv][D][D]
	parity uint32
}

func newDelta(name string, dtype kernels.DType, keyHeads, valueHeads, dim, rows int) *deltaNet {
	r := Rand(name)
	d := &deltaNet{
		refDelta: refDelta{dtype: dtype, keyHeads: keyHeads, valueHeads: valueHeads, dim: dim, eps: deltaEps},
	}
	d.stride = d.width() + 5
	for range rows {
		row := Normal(r, dtype, d.width())
		for h := range valueHeads {
			row[d.width()-1-h] = Round(dtype, row[d.width()-1-h]*6) // decays from none to all
		}
		d.p = append(append(d.p, row...), ToF32(Out(4*(d.stride-d.width())).init)...)
	}
	d.convW = Normal(r, kernels.BF16, 4*d.channels())
	for range valueHeads {
		d.aLog = append(d.aLog, float32(r.Float64()*2.5))
		d.dtBias = append(d.dtBias, float32(r.NormFloat64()))
	}
	for range dim {
		d.norm = append(d.norm, BF16(float32(1+r.NormFloat64()/4)))
	}
	size := int(dtype.Size())
	d.state = deltaState{
		conv: OutFloats(dtype, deltaSlots*6*d.channels()).init,
		s:    Out(4 * deltaSlots * d.values() * dim).init, parity: 1,
	}
	copy(d.state.conv[(6*deltaSlot+3)*d.channels()*size:], FloatBytes(dtype, Normal(r, dtype, 3*d.channels())))
	s := Normal(r, kernels.F32, d.values()*dim)
	for i := range s {
		s[i] /= 16
	}
	copy(d.state.s[4*deltaSlot*len(s):], F32Bytes(s))
	return d
}

func (s deltaState) step(rows int) Data {
	return StepData(StepRecord{Params: kernels.StepParams{
		Rows: uint32(rows), Active: 1, Slot: deltaSlot, Parity: s.parity,
	}})
}

// passed is what a pass of some rows made.
type passed struct {
	qkv, gb, y []byte
	state      deltaState
}

// rows runs rows from, from+1, ... of the input in one pass of a class.
func (d *deltaNet) rows(t *testing.T, dev gpu.Device, s deltaState, class, from, live int) passed {
	t.Helper()
	conv, err := kernels.DeltaConv{
		DType: d.dtype, KeyHeads: d.keyHeads, ValueHeads: d.valueHeads, KeyDim: d.dim,
		ValueDim: d.dim, Eps: deltaEps, PStride: d.stride, Rows: class,
	}.Launch()
	if err != nil {
		t.Fatal(err)
	}
	scan, err := kernels.DeltaScan{
		DType: d.dtype, KeyHeads: d.keyHeads, ValueHeads: d.valueHeads, KeyDim: d.dim,
		ValueDim: d.dim, Eps: deltaEps, PStride: d.stride, Rows: class,
	}.Launch()
	if err != nil {
		t.Fatal(err)
	}
	rig := NewRig(t, dev)
	step := rig.Var(s.step(live))
	p := rig.Var(padded(FloatBytes(d.dtype, part(d.p, d.stride, from, live)), class, live))
	state, conv4, norm := rig.Var(Bytes(s.conv)), rig.Var(BF16s(d.convW)), rig.Var(BF16s(d.norm))
	qkv := rig.Var(OutFloats(d.dtype, class*d.channels()))
	gb, y := rig.Var(Out(8*class*d.valueHeads)), rig.Var(OutFloats(d.dtype, class*d.values()))
	sv := rig.Var(Bytes(s.s))
	rig.Op(conv, step, p, conv4, state, rig.Var(F32s(d.aLog)), rig.Var(F32s(d.dtBias)), qkv, gb)
	rig.Op(scan, step, qkv, gb, p, norm, sv, y)
	rig.Run()
	cut := func(what string, v *Var) []byte {
		n := len(v.Out()) / class * live
		checkPoison(t, what, v.Out()[n:])
		return v.Out()[:n]
	}
	return passed{cut("qkv", qkv), cut("gb", gb), cut("y", y), deltaState{state.Out(), sv.Out(), s.parity ^ 1}}
}

// steps runs rows from, from+1, ... as decode steps.
func (d *deltaNet) steps(t *testing.T, dev gpu.Device, s deltaState, from, live int) passed {
	t.Helper()
	l, err := kernels.DeltaStep{
		DType: d.dtype, KeyHeads: d.keyHeads, ValueHeads: d.valueHeads, KeyDim: d.dim,
		ValueDim: d.dim, Eps: deltaEps, PStride: d.stride,
	}.Launch()
	if err != nil {
		t.Fatal(err)
	}
	var y []byte
	for r := range live {
		row := Floats(d.dtype, part(d.p, d.stride, from+r, 1))
		out := RunOp(t, dev, l, s.step(1), row, BF16s(d.convW), Bytes(s.conv),
			F32s(d.aLog), F32s(d.dtBias), BF16s(d.norm), Bytes(s.s), OutFloats(d.dtype, d.values()))
		s = deltaState{out[3], out[7], s.parity ^ 1}
		y = append(y, out[8]...)
	}
	return passed{y: y, state: s}
}

// check compares a pass over rows 0, 1, ... with the reference. The scan starts from the convolution's own output, so
// that one rounding lies between input and output of each.
func (d *deltaNet) check(t *testing.T, got passed) {
	t.Helper()
	qkv, gb, y := ToFloats(d.dtype, got.qkv), ToF32(got.gb), ToFloats(d.dtype, got.y)
	c := d.channels()
	raw := ToFloats(d.dtype, d.half(d.state, 0))
	before, rows := len(raw)/c, len(y)/d.values()
	var wantC, wantG, wantY []float64
	s := d.recurrent(d.state)
	for r := range rows {
		p := part(d.p, d.stride, r, 1)
		raw = append(raw, p[:c]...)
		var u [4][]float32
		for j := range u {
			u[j] = part(raw, c, before+r-3+j, 1)
		}
		wantC = append(wantC, d.conv(u)...)
		wantG = append(wantG, d.gates(p)...)
		wantY = append(wantY, d.step(s, part(qkv, c, r, 1), part(gb, 2*d.valueHeads, r, 1), p[c:])...)
	}
	Check(t, "q, k, v", qkv, wantC, TolOf(d.dtype))
	Check(t, "gates", gb, wantG, TolOf(kernels.F32))
	Check(t, "outputs", y, wantY, TolOf(d.dtype))
	n := d.values() * d.dim
	Check(t, "state", ToF32(got.state.s)[deltaSlot*n:][:n], s, TolOf(kernels.F32))
	if i := differ(d.half(got.state, 0), FloatBytes(d.dtype, raw[len(raw)-3*c:])); i >= 0 {
		t.Errorf("conv state: not the last three raw rows at byte %d", i)
	}
	d.untouched(t, got.state)
}

// half is the half of the conv state that the next pass reads, or with other = 1 writes.
func (d *deltaNet) half(s deltaState, other uint32) []byte {
	n := 3 * d.channels() * int(d.dtype.Size())
	return s.conv[(2*deltaSlot+int(s.parity&1^other))*n:][:n]
}

// recurrent is the state in float64.
func (d *deltaNet) recurrent(s deltaState) []float64 {
	n := d.values() * d.dim
	v := make([]float64, n)
	for i, x := range ToF32(s.s[4*deltaSlot*n:][:4*n]) {
		v[i] = float64(x)
	}
	return v
}

// untouched checks the slots that a pass has no business with, and the half that it read.
func (d *deltaNet) untouched(t *testing.T, s deltaState) {
	t.Helper()
	conv, rec := len(s.conv)/deltaSlots, len(s.s)/deltaSlots
	for slot := range deltaSlots {
		if slot != deltaSlot {
			checkPoison(t, "conv state of another slot", s.conv[slot*conv:][:conv])
			checkPoison(t, "state of another slot", s.s[slot*rec:][:rec])
		}
	}
}

// sameDelta compares outputs and state, bit for bit.
func sameDelta(t *testing.T, d *deltaNet, what string, got, want passed) {
	t.Helper()
	if i := differ(got.y, want.y); i >= 0 {
		t.Errorf("%s: outputs differ at byte %d of %d", what, i, len(want.y))
	}
	if i := differ(got.state.s, want.state.s); i >= 0 {
		t.Errorf("%s: state differs at byte %d of %d", what, i, len(want.state.s))
	}
	if i := differ(d.half(got.state, 0), d.half(want.state, 0)); i >= 0 {
		t.Errorf("%s: conv state differs at byte %d", what, i)
	}
}

func deltaRows(t *testing.T, dev gpu.Device) {
	for _, c := range []struct{ keyHeads, valueHeads, dim, class, live int }{
		{1, 1, 32, 1, 1},
		{2, 4, 32, 2, 2},
		{1, 3, 64, 3, 3},
		{2, 2, 64, 5, 5},
		{2, 4, 128, 16, 3},
		{1, 1, 128, 2, 2},
		{1, 2, 32, 16, 15},
		{1, 1, 64, 16, 16},
		{2, 4, 64, 64, 17},
		{1, 2, 128, 64, 31},
		{1, 4, 32, 64, 33},
		{1, 1, 32, 64, 63},
		{1, 2, 32, 256, 65},
	} {
		for _, dtype := range []kernels.DType{kernels.BF16, kernels.F32} {
			name := fmt.Sprintf("%v %d on %d heads of %d, %d rows", dtype, c.valueHeads, c.keyHeads, c.dim, c.live)
			t.Run(name, func(t *testing.T) {
				d := newDelta(name, dtype, c.keyHeads, c.valueHeads, c.dim, c.live)
				got := d.rows(t, dev, d.state, c.class, 0, c.live)
				d.check(t, got)
				n := min(c.live, 6)
				sameDelta(t, d, "decode steps", d.steps(t, dev, d.state, 0, n), d.rows(t, dev, d.state, c.class, 0, n))
			})
		}
	}
}

// deltaGates takes a and b far out: softplus must neither overflow nor lose small rates.
func deltaGates(t *testing.T, dev gpu.Device) {
	extremes := []float32{-1e4, -88, -60, -17, -1, 0, 1, 17, 60, 88, 100, 1e4}
	d := newDelta(t.Name(), kernels.F32, 1, 1, 32, len(extremes))
	for i, x := range extremes {
		d.p[i*d.stride+d.width()-1], d.p[i*d.stride+d.width()-2] = x, x
	}
	d.aLog, d.dtBias = []float32{2.75}, []float32{0}
	got := d.rows(t, dev, d.state, 16, 0, len(extremes))
	d.check(t, got)
	for i := range extremes {
		want := d.gates(part(d.p, d.stride, i, 1))
		Check(t, fmt.Sprintf("gates at %g", extremes[i]), part(ToF32(got.gb), 2, i, 1), want, TolOf(kernels.F32))
	}
}

// deltaCuts cuts 23 rows into passes, some of fewer rows than the conv state has.
func deltaCuts(t *testing.T, dev gpu.Device) {
	for _, dtype := range []kernels.DType{kernels.BF16, kernels.F32} {
		t.Run(dtype.String(), func(t *testing.T) {
			d := newDelta(t.Name(), dtype, 1, 2, 32, 23)
			whole := d.rows(t, dev, d.state, 64, 0, 23)
			for _, cuts := range [][]int{{1, 22}, {2, 21}, {3, 20}, {16, 7}, {22, 1}, {1, 1, 2, 19}} {
				pass := passed{state: d.state}
				from := 0
				for _, n := range cuts {
					next := d.rows(t, dev, pass.state, cutClass(n), from, n)
					next.y = append(bytes.Clone(pass.y), next.y...)
					pass, from = next, from+n
				}
				sameDelta(t, d, fmt.Sprint(cuts), pass, whole)
			}
			sameDelta(t, d, "steps", d.steps(t, dev, d.state, 0, 23), whole)
		})
	}
}

// deltaIdle runs a session that has ended: nothing may change.
func deltaIdle(t *testing.T, dev gpu.Device) {
	d := newDelta(t.Name(), kernels.BF16, 1, 2, 32, 1)
	for name, params := range map[string]kernels.StepParams{
		"not active": {Rows: 1, Slot: deltaSlot}, "no rows": {Active: 1, Slot: deltaSlot},
	} {
		t.Run(name, func(t *testing.T) {
			idle := StepData(StepRecord{Params: params})
			shape := kernels.DeltaStep{
				DType: d.dtype, KeyHeads: d.keyHeads, ValueHeads: d.valueHeads, KeyDim: d.dim,
				ValueDim: d.dim, Eps: deltaEps, PStride: d.stride,
			}
			l, err := shape.Launch()
			if err != nil {
				t.Fatal(err)
			}
			out := RunOp(t, dev, l, idle, Floats(d.dtype, d.p), BF16s(d.convW), Bytes(d.state.conv), F32s(d.aLog),
				F32s(d.dtBias), BF16s(d.norm), Bytes(d.state.s), OutFloats(d.dtype, d.values()))
			conv, err := kernels.DeltaConv{
				DType: d.dtype, KeyHeads: d.keyHeads, ValueHeads: d.valueHeads, KeyDim: d.dim,
				ValueDim: d.dim, Eps: deltaEps, PStride: d.stride, Rows: 1,
			}.Launch()
			if err != nil {
				t.Fatal(err)
			}
			out2 := RunOp(t, dev, conv, idle, Floats(d.dtype, d.p), BF16s(d.convW), Bytes(d.state.conv), F32s(d.aLog),
				F32s(d.dtBias), OutFloats(d.dtype, d.channels()), Out(8*d.valueHeads))
			for i, state := range [][]byte{out[3], out2[3]} {
				if differ(state, d.state.conv) >= 0 {
					t.Errorf("kernel %d: the conv state changed", i)
				}
			}
			if differ(out[7], d.state.s) >= 0 {
				t.Error("the state changed")
			}
		})
	}
}

// deltaMistakes shows that the tolerances notice what is easily forgotten.
func deltaMistakes(t *testing.T, dev gpu.Device) {
	d := newDelta(t.Name(), kernels.F32, 1, 2, 64, 9)
	for i := range d.p { // small outputs, where eps matters
		if c := i % d.stride; c >= 2*d.keyHeads*d.dim && c < d.channels() {
			d.p[i] /= 64
		}
	}
	s := d.recurrent(d.state)
	for i := range s {
		s[i] /= 256
		copy(d.state.s[4*(deltaSlot*len(s)+i):], F32Bytes([]float32{float32(s[i])}))
	}
	got := d.rows(t, dev, d.state, 16, 0, 9)
	d.check(t, got)
	outputs := func(edit func(d *deltaNet, qkv, gb []float32)) Distance {
		wrong := *d
		qkv, gb := ToF32(got.qkv), ToF32(got.gb)
		edit(&wrong, qkv, gb)
		var want []float64
		s := d.recurrent(d.state)
		for r := range 9 {
			z := part(d.p, d.stride, r, 1)[d.channels():]
			want = append(want, wrong.step(s, part(qkv, d.channels(), r, 1), part(gb, 4, r, 1), z)...)
		}
		return Compare(ToF32(got.y), want)
	}
	for name, edit := range map[string]func(d *deltaNet, qkv, gb []float32){
		"eps of the norm": func(d *deltaNet, _, _ []float32) { d.eps *= 1.01 },
		"scale of q": func(d *deltaNet, qkv, _ []float32) {
			for i := range qkv {
				if i%d.channels() < d.dim {
					qkv[i] *= 1.01
				}
			}
		},
		"decay": func(_ *deltaNet, _, gb []float32) {
			for i := 0; i < len(gb); i += 2 {
				gb[i] *= 0.999
			}
		},
	} {
		if dist := outputs(edit); dist.Norm <= TolOf(kernels.F32).Norm {
			t.Errorf("%s: a mistake stays within the tolerance: %v", name, dist)
		}
	}
}

// deltaMany runs a full prefill pass with few heads.
func deltaMany(t *testing.T, dev gpu.Device) {
	const rows = kernels.MaxRows - 1
	for _, dtype := range []kernels.DType{kernels.BF16, kernels.F32} {
		t.Run(dtype.String(), func(t *testing.T) {
			d := newDelta(t.Name(), dtype, 1, 2, 32, rows)
			got := d.rows(t, dev, d.state, kernels.MaxRows, 0, rows)
			d.check(t, got)
			pass := d.rows(t, dev, d.state, kernels.MaxRows, 0, 2049)
			next := d.rows(t, dev, pass.state, kernels.MaxRows, 2049, rows-2049)
			next.y = append(bytes.Clone(pass.y), next.y...)
			sameDelta(t, d, "two passes", next, got)
		})
	}
}
