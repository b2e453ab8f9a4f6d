package gputest

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// KernelMamba tests the Mamba-2 mixer: convolution and scan of many rows against the reference, decode steps and passes
// cut anywhere against them bit for bit, and the gated norm.
func KernelMamba(t *testing.T, dev gpu.Device) {
	t.Run("rows", func(t *testing.T) { mambaRows(t, dev) })
	t.Run("time steps", func(t *testing.T) { mambaTimes(t, dev) })
	t.Run("cuts", func(t *testing.T) { mambaCuts(t, dev) })
	t.Run("idle", func(t *testing.T) { mambaIdle(t, dev) })
	t.Run("mistakes", func(t *testing.T) { mambaMistakes(t, dev) })
	t.Run("group norm", func(t *testing.T) { groupNorms(t, dev) })
	if dev.Caps().SIMD == 1 {
		t.Run("many rows", func(t *testing.T) { mambaMany(t, dev) })
	}
}

const (
	mambaSlots = 3
	mambaSlot  = 1
)

// mambaNet is a layer with input rows and the state before them.
type mambaNet struct {
	refMamba
	stride int
	p      []float32 // [rows][stride], NaN beyond the width
	state  deltaState
}

func newMamba(name string, dtype kernels.DType, heads, dim, groups, size, rows int) *mambaNet {
	r := Rand(name)
	m := &mambaNet{refMamba: refMamba{
		dtype: dtype, heads: heads, dim: dim, groups: groups, size: size, most: math.Inf(1),
	}}
	m.stride = m.width() + 3
	for range rows {
		row := Normal(r, dtype, m.width())
		for h := range heads {
			row[m.width()-1-h] = Round(dtype, row[m.width()-1-h]*4) // decays from none to all
		}
		m.p = append(append(m.p, row...), ToF32(Out(4*(m.stride-m.width())).init)...)
	}
	m.convW, m.convB = Normal(r, kernels.BF16, 4*m.channels()), Normal(r, kernels.BF16, m.channels())
	for range heads {
		m.aLog = append(m.aLog, float32(r.Float64()*2.5))
		m.dtBias = append(m.dtBias, float32(r.NormFloat64()-1))
		m.skip = append(m.skip, float32(r.NormFloat64()))
	}
	m.state = deltaState{
		conv: OutFloats(dtype, mambaSlots*6*m.channels()).init,
		s:    Out(4 * mambaSlots * m.values() * size).init, parity: 1,
	}
	at := (6*mambaSlot + 3) * m.channels() * int(dtype.Size())
	copy(m.state.conv[at:], FloatBytes(dtype, Normal(r, dtype, 3*m.channels())))
	s := Normal(r, kernels.F32, m.values()*size)
	copy(m.state.s[4*mambaSlot*len(s):], F32Bytes(s))
	return m
}

// shape is the layer for a class of rows.
func (m *mambaNet) shape(rows int) kernels.Mamba {
	return kernels.Mamba{
		DType: m.dtype, Heads: m.heads, Dim: m.dim, Groups: m.groups, State: m.size, DTMin: float32(m.least),
		DTMax: float32(m.most), PStride: m.stride, Rows: rows,
	}
}

// mambaPass is what a pass of some rows made.
type mambaPass struct {
	xbc, gates, y []byte
	state         deltaState
}

// rows runs rows from, from+1, ... of the input in one pass of a class.
func (m *mambaNet) rows(t *testing.T, dev gpu.Device, s deltaState, class, from, live int) mambaPass {
	t.Helper()
	conv := launch(t, kernels.MambaConv(m.shape(class)))
	scan := launch(t, kernels.MambaScan(m.shape(class)))
	rig := NewRig(t, dev)
	step := rig.Var(s.step(live))
	p := rig.Var(padded(FloatBytes(m.dtype, part(m.p, m.stride, from, live)), class, live))
	state, sv := rig.Var(Bytes(s.conv)), rig.Var(Bytes(s.s))
	xbc := rig.Var(OutFloats(m.dtype, class*m.channels()))
	gates, y := rig.Var(Out(8*class*m.heads)), rig.Var(OutFloats(m.dtype, class*m.values()))
	rig.Op(conv, step, p, rig.Var(BF16s(m.convW)), rig.Var(BF16s(m.convB)), state, rig.Var(F32s(m.aLog)),
		rig.Var(F32s(m.dtBias)), xbc, gates)
	rig.Op(scan, step, xbc, gates, rig.Var(F32s(m.skip)), sv, y)
	rig.Run()
	cut := func(what string, v *Var) []byte {
		n := len(v.Out()) / class * live
		checkPoison(t, what, v.Out()[n:])
		return v.Out()[:n]
	}
	return mambaPass{
		cut("xbc", xbc), cut("gates", gates), cut("y", y), deltaState{state.Out(), sv.Out(), s.parity ^ 1},
	}
}

// steps runs rows from, from+1, ... as decode steps.
func (m *mambaNet) steps(t *testing.T, dev gpu.Device, s deltaState, from, live int) mambaPass {
	t.Helper()
	l := launch(t, kernels.MambaStep(m.shape(1)))
	var y []byte
	for r := range live {
		row := Floats(m.dtype, part(m.p, m.stride, from+r, 1))
		out := RunOp(t, dev, l, s.step(1), row, BF16s(m.convW), BF16s(m.convB), Bytes(s.conv), F32s(m.aLog),
			F32s(m.dtBias), F32s(m.skip), Bytes(s.s), OutFloats(m.dtype, m.values()))
		s = deltaState{out[4], out[8], s.parity ^ 1}
		y = append(y, out[9]...)
	}
	return mambaPass{y: y, state: s}
}

// half is the half of the conv state that the next pass reads.
func (m *mambaNet) half(s deltaState) []byte {
	n := 3 * m.channels() * int(m.dtype.Size())
	return s.conv[(2*mambaSlot+int(s.parity&1))*n:][:n]
}

// recurrent is the state in float64.
func (m *mambaNet) recurrent(s deltaState) []float64 {
	n := m.values() * m.size
	v := make([]float64, n)
	for i, x := range ToF32(s.s[4*mambaSlot*n:][:4*n]) {
		v[i] = float64(x)
	}
	return v
}

// check compares a pass over rows 0, 1, ... with the reference. The scan starts from the convolution's own output, so
// that one rounding lies between input and output of each.
func (m *mambaNet) check(t *testing.T, got mambaPass) {
	t.Helper()
	xbc, gates, y := ToFloats(m.dtype, got.xbc), ToF32(got.gates), ToFloats(m.dtype, got.y)
	c := m.channels()
	raw := ToFloats(m.dtype, m.half(m.state))
	var wantC, wantG, wantY []float64
	s := m.recurrent(m.state)
	for r := range len(y) / m.values() {
		p := part(m.p, m.stride, r, 1)
		raw = append(raw, p[m.values():m.values()+c]...)
		var u [4][]float32
		for j := range u {
			u[j] = part(raw, c, r+j, 1)
		}
		wantC = append(wantC, m.conv(u)...)
		wantG = append(wantG, m.gates(p)...)
		wantY = append(wantY, m.step(s, part(xbc, c, r, 1), part(gates, 2*m.heads, r, 1))...)
	}
	Check(t, "x, B, C", xbc, wantC, TolOf(m.dtype))
	Check(t, "gates", gates, wantG, TolOf(kernels.F32))
	Check(t, "outputs", y, wantY, TolOf(m.dtype))
	n := m.values() * m.size
	Check(t, "state", ToF32(got.state.s)[mambaSlot*n:][:n], s, TolOf(kernels.F32))
	if i := differ(m.half(got.state), FloatBytes(m.dtype, raw[len(raw)-3*c:])); i >= 0 {
		t.Errorf("conv state: not the last three raw rows at byte %d", i)
	}
	conv, rec := len(got.state.conv)/mambaSlots, len(got.state.s)/mambaSlots
	for _, slot := range []int{0, 2} {
		checkPoison(t, "conv state of another slot", got.state.conv[slot*conv:][:conv])
		checkPoison(t, "state of another slot", got.state.s[slot*rec:][:rec])
	}
}

// sameMamba compares outputs and state, bit for bit.
func sameMamba(t *testing.T, m *mambaNet, what string, got, want mambaPass) {
	t.Helper()
	if i := differ(got.y, want.y); i >= 0 {
		t.Errorf("%s: outputs differ at byte %d of %d", what, i, len(want.y))
	}
	if i := differ(got.state.s, want.state.s); i >= 0 {
		t.Errorf("%s: state differs at byte %d of %d", what, i, len(want.state.s))
	}
	if i := differ(m.half(got.state), m.half(want.state)); i >= 0 {
		t.Errorf("%s: conv state differs at byte %d", what, i)
	}
}

func mambaRows(t *testing.T, dev gpu.Device) {
	for _, c := range []struct{ heads, dim, groups, size, class, live int }{
		{1, 32, 1, 64, 1, 1},
		{4, 32, 2, 64, 2, 2},
		{3, 64, 1, 128, 3, 3},
		{2, 64, 2, 64, 5, 5},
		{4, 32, 2, 128, 16, 3},
		{2, 32, 1, 64, 16, 15},
		{1, 64, 1, 128, 16, 16},
		{8, 32, 4, 64, 64, 17},
		{2, 64, 1, 128, 64, 31},
		{4, 32, 1, 64, 64, 33},
		{1, 32, 1, 64, 256, 65},
	} {
		for _, dtype := range []kernels.DType{kernels.BF16, kernels.F32} {
			name := fmt.Sprintf("%v %+v", dtype, c)
			t.Run(name, func(t *testing.T) {
				m := newMamba(name, dtype, c.heads, c.dim, c.groups, c.size, c.live)
				got := m.rows(t, dev, m.state, c.class, 0, c.live)
				m.check(t, got)
				n := min(c.live, 5)
				sameMamba(t, m, "decode steps", m.steps(t, dev, m.state, 0, n), m.rows(t, dev, m.state, c.class, 0, n))
			})
		}
	}
}

// mambaTimes takes dt far out, with and without limits.
func mambaTimes(t *testing.T, dev gpu.Device) {
	extremes := []float32{-1e4, -88, -60, -17, -8, -1, 0, 1, 17, 60, 88, 100, 1e4}
	for _, limit := range [][2]float64{{0, math.Inf(1)}, {0.001, 0.1}, {0, 2}} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			m := newMamba(t.Name(), kernels.F32, 1, 32, 1, 64, len(extremes))
			m.least, m.most = float64(float32(limit[0])), float64(float32(limit[1]))
			for i, x := range extremes {
				m.p[i*m.stride+m.width()-1] = x
			}
			m.aLog, m.dtBias = []float32{1.5}, []float32{0}
			got := m.rows(t, dev, m.state, 16, 0, len(extremes))
			m.check(t, got)
			for i, x := range extremes {
				want := m.gates(part(m.p, m.stride, i, 1))
				Check(t, fmt.Sprintf("gates at %g", x), part(ToF32(got.gates), 2, i, 1), want, TolOf(kernels.F32))
			}
			sameMamba(t, m, "decode steps", m.steps(t, dev, m.state, 0, len(extremes)), got)
		})
	}
}

// mambaCuts cuts 23 rows into passes, some of fewer rows than the conv state has.
func mambaCuts(t *testing.T, dev gpu.Device) {
	for _, dtype := range []kernels.DType{kernels.BF16, kernels.F32} {
		t.Run(dtype.String(), func(t *testing.T) {
			m := newMamba(t.Name(), dtype, 2, 32, 1, 64, 23)
			whole := m.rows(t, dev, m.state, 64, 0, 23)
			for _, cuts := range [][]int{{1, 22}, {2, 21}, {3, 20}, {16, 7}, {22, 1}, {1, 1, 2, 19}} {
				pass := mambaPass{state: m.state}
				from := 0
				for _, n := range cuts {
					next := m.rows(t, dev, pass.state, cutClass(n), from, n)
					next.y = append(bytes.Clone(pass.y), next.y...)
					pass, from = next, from+n
				}
				sameMamba(t, m, fmt.Sprint(cuts), pass, whole)
			}
			sameMamba(t, m, "steps", m.steps(t, dev, m.state, 0, 23), whole)
		})
	}
}

// mambaIdle runs a session that has ended: nothing may change.
func mambaIdle(t *testing.T, dev gpu.Device) {
	m := newMamba(t.Name(), kernels.BF16, 2, 32, 1, 64, 1)
	for name, params := range map[string]kernels.StepParams{
		"not active": {Rows: 1, Slot: mambaSlot}, "no rows": {Active: 1, Slot: mambaSlot},
	} {
		t.Run(name, func(t *testing.T) {
			idle := StepData(StepRecord{Params: params})
			out := RunOp(t, dev, launch(t, kernels.MambaStep(m.shape(1))), idle, Floats(m.dtype, m.p), BF16s(m.convW),
				BF16s(m.convB), Bytes(m.state.conv), F32s(m.aLog), F32s(m.dtBias), F32s(m.skip), Bytes(m.state.s),
				OutFloats(m.dtype, m.values()))
			conv := RunOp(t, dev, launch(t, kernels.MambaConv(m.shape(1))), idle, Floats(m.dtype, m.p), BF16s(m.convW),
				BF16s(m.convB), Bytes(m.state.conv), F32s(m.aLog), F32s(m.dtBias), OutFloats(m.dtype, m.channels()),
				Out(8*m.heads))
			for i, state := range [][]byte{out[4], conv[4]} {
				if differ(state, m.state.conv) >= 0 {
					t.Errorf("kernel %d: the conv state changed", i)
				}
			}
			scan := RunOp(t, dev, launch(t, kernels.MambaScan(m.shape(1))), idle, OutFloats(m.dtype, m.channels()),
				Out(8*m.heads), F32s(m.skip), Bytes(m.state.s), OutFloats(m.dtype, m.values()))
			for i, state := range [][]byte{out[8], scan[4]} {
				if differ(state, m.state.s) >= 0 {
					t.Errorf("kernel %d: the state changed", i)
				}
			}
		})
	}
}

// mambaMistakes shows that the tolerances notice what is easily forgotten.
func mambaMistakes(t *testing.T, dev gpu.Device) {
	m := newMamba(t.Name(), kernels.F32, 4, 32, 2, 64, 9)
	got := m.rows(t, dev, m.state, 16, 0, 9)
	m.check(t, got)
	xbc := ToF32(got.xbc)
	for name, edit := range map[string]func(m *refMamba, s []float64, gates []float32){
		"no skip": func(m *refMamba, _ []float64, _ []float32) { clear(m.skip) },
		"decay": func(_ *refMamba, _ []float64, gates []float32) {
			for i := 0; i < len(gates); i += 2 {
				gates[i] *= 0.999
			}
		},
		"time step": func(_ *refMamba, _ []float64, gates []float32) {
			for i := 1; i < len(gates); i += 2 {
				gates[i] *= 1.001
			}
		},
		"state of before":      func(_ *refMamba, s []float64, _ []float32) { clear(s) },
		"another group's B, C": func(m *refMamba, _ []float64, _ []float32) { m.groups = 1 },
	} {
		wrong, s, edited := m.refMamba, m.recurrent(m.state), ToF32(got.gates)
		wrong.skip = slices.Clone(m.skip)
		edit(&wrong, s, edited)
		var want []float64
		for r := range 9 {
			want = append(want, wrong.step(s, part(xbc, m.channels(), r, 1), part(edited, 2*m.heads, r, 1))...)
		}
		if dist := Compare(ToF32(got.y), want); dist.Norm <= TolOf(kernels.F32).Norm {
			t.Errorf("%s: a mistake stays within the tolerance: %v", name, dist)
		}
	}
}

// mambaMany runs a full prefill pass with few heads.
func mambaMany(t *testing.T, dev gpu.Device) {
	const rows = kernels.MaxRows - 1
	m := newMamba(t.Name(), kernels.BF16, 2, 32, 1, 64, rows)
	got := m.rows(t, dev, m.state, kernels.MaxRows, 0, rows)
	m.check(t, got)
	pass := m.rows(t, dev, m.state, kernels.MaxRows, 0, 2049)
	next := m.rows(t, dev, pass.state, kernels.MaxRows, 2049, rows-2049)
	next.y = append(bytes.Clone(pass.y), next.y...)
	sameMamba(t, m, "two passes", next, got)
}

func groupNorms(t *testing.T, dev gpu.Device) {
	for _, c := range []struct{ d, groups, stride, class, live int }{
		{32, 1, 32, 1, 1},
		{256, 2, 700, 1, 1},
		{4096, 8, 10304, 1, 1},
		{192, 2, 200, 5, 3},
		{512, 4, 512, 64, 33},
		{1056, 1, 1056, 16, 16},
	} {
		for _, dtype := range []kernels.DType{kernels.BF16, kernels.F32} {
			t.Run(fmt.Sprintf("%v %+v", dtype, c), func(t *testing.T) {
				r := Rand(t.Name())
				y, z := Normal(r, dtype, c.live*c.d), Normal(r, dtype, c.live*c.stride)
				w := Normal(r, kernels.BF16, c.d)
				l := launch(t, kernels.GroupNorm{
					DType: dtype, Rows: c.class, D: c.d, Groups: c.groups, ZStride: c.stride, Eps: benchEps,
				})
				out := RunOp(t, dev, l, liveRows(c.live), padded(FloatBytes(dtype, y), c.class, c.live),
					padded(FloatBytes(dtype, z), c.class, c.live), BF16s(w), OutFloats(dtype, c.class*c.d))[4]
				n := c.live * c.d * int(dtype.Size())
				checkPoison(t, "out", out[n:])
				var want []float64
				for row := range c.live {
					want = append(want, refGroupNorm(part(y, c.d, row, 1), part(z, c.stride, row, 1)[:c.d], w,
						c.groups, benchEps)...)
				}
				Check(t, "out", ToFloats(dtype, out[:n]), want, TolOf(dtype))
			})
		}
	}
}
