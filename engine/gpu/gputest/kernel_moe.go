package gputest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// KernelExperts tests the routed experts: decode kernels against the reference, and both ways of running rows, in
// any cut, against each other bit for bit.
func KernelExperts(t *testing.T, dev gpu.Device) {
	t.Run("decode", func(t *testing.T) { expertsDecode(t, dev) })
	t.Run("rows", func(t *testing.T) { expertsRows(t, dev) })
	t.Run("cuts", func(t *testing.T) { expertsCuts(t, dev) })
	t.Run("last of 4 GiB", func(t *testing.T) { expertsFar(t, dev) })
	if dev.Caps().SIMD == 1 {
		t.Run("many rows", func(t *testing.T) { expertsMany(t, dev) })
	}
}

// moeShape is a layer: hidden is K of gate/up and N of down.
type moeShape struct {
	format                       kernels.Format
	dtype                        kernels.DType
	experts, topK, width, hidden int
	stride                       int
}

func (s moeShape) String() string {
	return fmt.Sprintf("%v %v experts %d top %d width %d hidden %d", s.format, s.dtype, s.experts, s.topK, s.width,
		s.hidden)
}

// moeLayer is a layer with inputs for a number of rows.
type moeLayer struct {
	moeShape
	rows         int
	gateUp, down *Weights
	x, y, ds     []float32
	logits       []float32
	idx          []uint32
	w            []float32
	whole        bool // run whole grids, as a driver that knows no limits does
}

// op records a launch.
func (l *moeLayer) op(rig *Rig, k kernels.Launch, vars ...*Var) {
	rig.t.Helper()
	if l.whole {
		k.Limits = nil
	}
	rig.Op(k, vars...)
}

func newLayer(s moeShape, rows int) *moeLayer {
	r := Rand(s.String())
	l := &moeLayer{
		moeShape: s, rows: rows,
		gateUp: RandomWeights(r, s.format, s.experts*2*s.width, s.hidden),
		down:   RandomWeights(r, s.format, s.experts*s.hidden, s.width),
		x:      Normal(r, s.dtype, rows*s.hidden), y: Normal(r, s.dtype, rows*s.hidden),
		ds: Normal(r, kernels.F32, rows*s.hidden), logits: Normal(r, kernels.F32, rows*s.stride),
	}
	for i := range rows {
		ids, w := refTopK(l.logits[i*s.stride:i*s.stride+s.experts], s.topK)
		l.idx = append(l.idx, ids...)
		for _, v := range w {
			l.w = append(l.w, float32(v))
		}
	}
	return l
}

// send makes every row choose the same experts.
func (l *moeLayer) send(ids ...uint32) {
	for i := range l.idx {
		l.idx[i] = ids[i%l.topK]
	}
}

// result is what the kernels made of rows.
type result struct{ h, y []byte }

// layerVars are the arguments that both ways share, for a class of rows whose first `live` are rows from, from+1, ...
// of the layer. Rows beyond are poison.
type layerVars struct {
	step, x, idx, w, ds, logits, y, h *Var
	gateUp, down                      []*Var
}

func (l *moeLayer) vars(rig *Rig, class, from, live int) layerVars {
	v := layerVars{
		step: rig.Var(liveRows(live)), h: rig.Var(OutFloats(l.dtype, class*l.topK*l.width)),
		x:      rig.Var(padded(FloatBytes(l.dtype, part(l.x, l.hidden, from, live)), class, live)),
		y:      rig.Var(padded(FloatBytes(l.dtype, part(l.y, l.hidden, from, live)), class, live)),
		idx:    rig.Var(padded(U32Bytes(part(l.idx, l.topK, from, live)), class, live)),
		w:      rig.Var(padded(F32Bytes(part(l.w, l.topK, from, live)), class, live)),
		ds:     rig.Var(padded(F32Bytes(part(l.ds, l.hidden, from, live)), class, live)),
		logits: rig.Var(padded(F32Bytes(part(l.logits, l.stride, from, live)), class, live)),
	}
	v.gateUp, v.down = streams(rig, l.gateUp), streams(rig, l.down)
	return v
}

func part[E any](v []E, n, from, rows int) []E { return v[from*n : (from+rows)*n] }

// cutClass is the row class in which a suite that cuts its rows runs n of them: their own number where there is such a
// class, or else one with rows to spare.
func cutClass(n int) int {
	if n <= 5 {
		return n
	}
	return 64
}

func padded(b []byte, class, live int) Data {
	tail := make([]byte, len(b)/live*(class-live))
	fill(tail, poison)
	return Bytes(append(bytes.Clone(b), tail...))
}

func streams(rig *Rig, w *Weights) []*Var {
	var v []*Var
	for _, d := range w.Streams() {
		v = append(v, rig.Var(d))
	}
	return v
}

// decode runs rows through the kernels of few rows.
func (l *moeLayer) decode(t *testing.T, dev gpu.Device, class, from, live int) result {
	t.Helper()
	rig := NewRig(t, dev)
	v := l.vars(rig, class, from, live)
	up, err := kernels.ExpertGateUp{
		Format: l.format, DType: l.dtype, Rows: class, TopK: l.topK, Experts: l.experts,
		I: l.width, K: l.hidden,
	}.Launch()
	if err != nil {
		t.Fatal(err)
	}
	down, err := kernels.ExpertDown{
		Format: l.format, DType: l.dtype, Rows: class, TopK: l.topK, Experts: l.experts,
		N: l.hidden, K: l.width, Stride: l.stride,
	}.Launch()
	if err != nil {
		t.Fatal(err)
	}
	l.op(rig, up, slices.Concat([]*Var{v.step, v.x, v.idx}, v.gateUp, []*Var{v.h})...)
	l.op(rig, down, slices.Concat([]*Var{v.step, v.h, v.idx, v.w}, v.down, []*Var{v.ds, v.logits, v.y})...)
	rig.Run()
	return l.live(t, v, live)
}

// sorted runs rows through the sort and the kernels of many rows.
func (l *moeLayer) sorted(t *testing.T, dev gpu.Device, class, from, live int) result {
	t.Helper()
	rig := NewRig(t, dev)
	v := l.vars(rig, class, from, live)
	s := addSort(t, rig, v.step, v.idx, l.experts, l.topK, class, l.whole)
	d := rig.Var(Out(4 * class * l.topK * l.hidden))
	up, err := kernels.ExpertGateUpRows{
		Format: l.format, DType: l.dtype, Rows: class, TopK: l.topK,
		Experts: l.experts, I: l.width, K: l.hidden,
	}.Launch()
	if err != nil {
		t.Fatal(err)
	}
	down, err := kernels.ExpertDownRows{
		Format: l.format, DType: l.dtype, Rows: class, TopK: l.topK,
		Experts: l.experts, N: l.hidden, K: l.width,
	}.Launch()
	if err != nil {
		t.Fatal(err)
	}
	combine, err := kernels.CombineRows{
		DType: l.dtype, Rows: class, TopK: l.topK, Experts: l.experts, N: l.hidden,
		Stride: l.stride,
	}.Launch()
	if err != nil {
		t.Fatal(err)
	}
	l.op(rig, up, slices.Concat([]*Var{v.step, v.x, s.order, s.tiles, s.ntiles}, v.gateUp, []*Var{v.h})...)
	l.op(rig, down, slices.Concat([]*Var{v.step, v.h, s.order, s.tiles, s.ntiles}, v.down, []*Var{d})...)
	l.op(rig, combine, v.step, d, v.w, v.ds, v.logits, v.y)
	rig.Run()
	checkPoison(t, "d", d.Out()[4*live*l.topK*l.hidden:])
	return l.live(t, v, live)
}

// live cuts the outputs to the live rows and checks that the rest was left alone.
func (l *moeLayer) live(t *testing.T, v layerVars, live int) result {
	t.Helper()
	size := int(l.dtype.Size())
	h, y := live*l.topK*l.width*size, live*l.hidden*size
	checkPoison(t, "h", v.h.Out()[h:])
	checkPoison(t, "y", v.y.Out()[y:])
	return result{v.h.Out()[:h], v.y.Out()[:y]}
}

// check compares rows from, from+1, ... with the reference. The down projection starts from the kernel's own hidden
// rows, so that one rounding lies between input and output of each.
func (l *moeLayer) check(t *testing.T, got result, from int) {
	t.Helper()
	h, y := ToFloats(l.dtype, got.h), ToFloats(l.dtype, got.y)
	var wantH, wantY []float64
	for i := range len(y) / l.hidden {
		row := from + i
		idx, w := part(l.idx, l.topK, row, 1), part(l.w, l.topK, row, 1)
		var hidden [][]float32
		for j, e := range idx {
			wantH = append(wantH, refGateUp(l.gateUp, int(e), l.width, part(l.x, l.hidden, row, 1))...)
			hidden = append(hidden, part(h, l.width, i*l.topK+j, 1))
		}
		gate := l.logits[row*l.stride+l.experts]
		wantY = append(wantY, refCombine(l.down, l.hidden, part(l.y, l.hidden, row, 1), idx, w, hidden, gate,
			part(l.ds, l.hidden, row, 1))...)
	}
	Check(t, "hidden rows", h, wantH, TolOf(l.dtype))
	Check(t, "outputs", y, wantY, TolOf(l.dtype))
}

func same(t *testing.T, what string, got, want result) {
	t.Helper()
	if i := differ(got.h, want.h); i >= 0 {
		t.Errorf("%s: hidden rows differ at byte %d", what, i)
	}
	if i := differ(got.y, want.y); i >= 0 {
		t.Errorf("%s: outputs differ at byte %d", what, i)
	}
}

var formats = []kernels.Format{kernels.Q4, kernels.Q8, kernels.B16}

func expertsDecode(t *testing.T, dev gpu.Device) {
	shapes := []moeShape{
		{experts: 8, topK: 4, width: 128, hidden: 192}, // four slots, odd groups
		{experts: 1, topK: 1, width: 64, hidden: 64},
		{experts: 5, topK: 5, width: 64, hidden: 320}, // every expert
		{experts: 19, topK: 16, width: 64, hidden: 64},
	}
	for i, s := range shapes {
		s.stride = s.experts + 1 + i
		for _, s.format = range formats {
			for _, s.dtype = range []kernels.DType{kernels.BF16, kernels.F32} {
				t.Run(s.String(), func(t *testing.T) {
					l := newLayer(s, 5)
					five := l.decode(t, dev, 5, 0, 5)
					l.check(t, five, 0)
					for rows := 1; rows < 5-i; rows++ {
						l.checkRun(t, five, l.decode(t, dev, rows, 5-rows, rows), 5-rows)
					}
					l.checkRun(t, five, l.decode(t, dev, 5, 2, 2), 2)
					l.whole = true
					l.checkRun(t, five, l.decode(t, dev, 5, 1, 3), 1)
				})
			}
		}
	}
	t.Run("odd outputs", func(t *testing.T) { oddOutputs(t, dev) })
}

// oddOutputs tests numbers of outputs that no simdgroup divides.
func oddOutputs(t *testing.T, dev gpu.Device) {
	for _, n := range []int{1, 3, 4, 7, 257} {
		t.Run(fmt.Sprintf("gateup %d", n), func(t *testing.T) {
			r := Rand(t.Name())
			w := RandomWeights(r, kernels.Q4, 3*2*n, 128)
			x, idx := Normal(r, kernels.F32, 128), []uint32{2, 0}
			l, err := kernels.ExpertGateUp{DType: kernels.F32, Rows: 1, TopK: 2, Experts: 3, I: n, K: 128}.Launch()
			if err != nil {
				t.Fatal(err)
			}
			args := slices.Concat([]Data{liveRows(1), F32s(x), U32s(idx)}, w.Streams(), []Data{Out(4 * 2 * n)})
			out := RunOp(t, dev, l, args...)
			got := ToF32(out[len(out)-1])
			for j, e := range idx {
				Check(t, "hidden", part(got, n, j, 1), refGateUp(w, int(e), n, x), TolOf(kernels.F32))
			}
		})
		t.Run(fmt.Sprintf("down %d", n), func(t *testing.T) {
			r := Rand(t.Name())
			w := RandomWeights(r, kernels.Q4, 3*n, 64)
			h, idx, weight := Normal(r, kernels.F32, 2*64), []uint32{1, 2}, []float32{0.25, 0.75}
			y, ds, logits := Normal(r, kernels.F32, n), Normal(r, kernels.F32, n), Normal(r, kernels.F32, 4)
			l, err := kernels.ExpertDown{
				DType: kernels.F32, Rows: 1, TopK: 2, Experts: 3, N: n, K: 64, Stride: 4,
			}.Launch()
			if err != nil {
				t.Fatal(err)
			}
			args := slices.Concat([]Data{liveRows(1), F32s(h), U32s(idx), F32s(weight)}, w.Streams(),
				[]Data{F32s(ds), F32s(logits), F32s(y)})
			out := RunOp(t, dev, l, args...)
			want := refCombine(w, n, y, idx, weight, [][]float32{h[:64], h[64:]}, logits[3], ds)
			Check(t, "output", ToF32(out[len(out)-1]), want, TolOf(kernels.F32))
		})
	}
}

// checkRun compares a run of rows from, from+1, ... with the same rows of a whole run.
func (l *moeLayer) checkRun(t *testing.T, whole, run result, from int) {
	t.Helper()
	size := int(l.dtype.Size())
	rows := len(run.y) / (l.hidden * size)
	want := result{part(whole.h, l.topK*l.width*size, from, rows), part(whole.y, l.hidden*size, from, rows)}
	same(t, fmt.Sprintf("%d rows from %d", rows, from), run, want)
}

func expertsRows(t *testing.T, dev gpu.Device) {
	base := moeShape{experts: 8, topK: 4, width: 64, hidden: 128, stride: 9}
	cases := []struct {
		name        string
		edit        func(s *moeShape)
		class, live int
		send        []uint32
	}{
		{name: "one row", class: 16, live: 1},
		{name: "fifteen rows", class: 16, live: 15},
		{name: "all live", class: 16, live: 16},
		{name: "just above", class: 64, live: 17},
		{name: "odd", class: 64, live: 33},
		{name: "block and one", class: 256, live: 65},
		{name: "few rows", class: 5, live: 5},
		{name: "all to the same", class: 64, live: 31, send: []uint32{7, 3, 0, 5}},
		{name: "all to one", class: 64, live: 33, send: []uint32{6}, edit: func(s *moeShape) { s.topK = 1 }},
		{name: "one expert", class: 16, live: 9, edit: func(s *moeShape) { s.experts, s.topK, s.stride = 1, 1, 2 }},
		{name: "every expert", class: 16, live: 7, edit: func(s *moeShape) { s.topK = 8 }},
		{name: "many experts", class: 16, live: 13, edit: func(s *moeShape) {
			s.experts, s.topK, s.stride, s.hidden = 512, 16, 520, 64
		}},
		{name: "q8", class: 16, live: 15, edit: func(s *moeShape) { s.format = kernels.Q8 }},
		{name: "b16", class: 16, live: 15, edit: func(s *moeShape) { s.format = kernels.B16 }},
	}
	for _, f := range formats {
		for range 2 { // both types
			cases = append(cases, cases[1])
			c := &cases[len(cases)-1]
			c.name, c.live = "few of "+f.String(), 6
			c.edit = func(s *moeShape) { s.format, s.experts, s.topK, s.stride, s.hidden = f, 2, 2, 3, 64 }
		}
	}
	for i, c := range cases {
		s := base
		s.dtype = []kernels.DType{kernels.BF16, kernels.F32}[i%2]
		if c.edit != nil {
			c.edit(&s)
		}
		t.Run(fmt.Sprintf("%s %v", c.name, s), func(t *testing.T) {
			l := newLayer(s, c.live)
			if c.send != nil {
				l.send(c.send...)
			}
			got := l.sorted(t, dev, c.class, 0, c.live)
			l.check(t, got, 0)
			for from := 0; from < c.live; from += 5 {
				rows := min(5, c.live-from)
				l.checkRun(t, got, l.decode(t, dev, rows, from, rows), from)
			}
			l.whole = true
			l.checkRun(t, got, l.sorted(t, dev, c.class, 0, c.live), 0)
		})
	}
}

// expertsCuts cuts 23 rows at every kind of place.
func expertsCuts(t *testing.T, dev gpu.Device) {
	for _, d := range []kernels.DType{kernels.BF16, kernels.F32} {
		s := moeShape{dtype: d, experts: 6, topK: 3, width: 64, hidden: 64, stride: 7}
		t.Run(s.String(), func(t *testing.T) {
			l := newLayer(s, 23)
			whole := l.sorted(t, dev, 64, 0, 23)
			for _, cut := range []int{1, 2, 4, 7, 16, 22} {
				l.checkRun(t, whole, l.sorted(t, dev, 64, 0, cut), 0)
				l.checkRun(t, whole, l.sorted(t, dev, 256, cut, 23-cut), cut)
			}
			for row := range 23 {
				l.checkRun(t, whole, l.decode(t, dev, 1, row, 1), row)
			}
		})
	}
}

// expertsMany runs a full prefill pass with few experts.
func expertsMany(t *testing.T, dev gpu.Device) {
	const rows = kernels.MaxRows - 1
	s := moeShape{experts: 4, topK: 2, width: 64, hidden: 64, stride: 5}
	l := newLayer(s, rows)
	got := l.sorted(t, dev, kernels.MaxRows, 0, rows)
	l.check(t, got, 0)
	for _, from := range []int{0, 2046, rows - 5} {
		l.checkRun(t, got, l.decode(t, dev, 5, from, 5), from)
	}
}

// expertsFar reads the last neuron of the last expert of a layer whose codes fill more than 4 GiB. All other weights
// are zero, so that a neuron taken from elsewhere shows; memory that is never touched costs nothing on the host.
func expertsFar(t *testing.T, dev gpu.Device) {
	const experts, k, n = 512, 2048, 8448
	const codeBytes, pairBytes = int64(experts) * n * k / 2, int64(experts) * n * k / 64 * 2
	if limit := dev.Caps().MemoryLimit; testing.Short() || limit != 0 && limit < 2*codeBytes {
		t.Skip("needs 9 GiB of address space")
	}
	r := Rand(t.Name())
	last, x := RandomWeights(r, kernels.Q4, 2, k), Normal(r, kernels.F32, k)
	for _, c := range []struct {
		name string
		make interface {
			Launch() (kernels.Launch, error)
		}
		inputs [][]byte // between step and weights
		out    int      // values
		after  [][]byte
		want   []float64 // the last of them
	}{
		{
			"gate/up",
			kernels.ExpertGateUp{DType: kernels.F32, Rows: 1, TopK: 1, Experts: experts, I: n / 2, K: k},
			[][]byte{F32Bytes(x), U32Bytes([]uint32{experts - 1})},
			n / 2, nil, refGateUp(last, 0, 1, x),
		},
		{
			"gate/up rows",
			kernels.ExpertGateUpRows{DType: kernels.F32, Rows: 1, TopK: 1, Experts: experts, I: n / 2, K: k},
			[][]byte{
				F32Bytes(x), U32Bytes([]uint32{0}), U32Bytes([]uint32{experts - 1, 0, 1}), U32Bytes([]uint32{1}),
			},
			n / 2, nil, refGateUp(last, 0, 1, x),
		},
		{
			"down",
			kernels.ExpertDown{
				DType: kernels.F32, Rows: 1, TopK: 1, Experts: experts, N: n, K: k, Stride: experts + 1,
			},
			[][]byte{F32Bytes(x), U32Bytes([]uint32{experts - 1}), F32Bytes([]float32{1})},
			n,
			[][]byte{make([]byte, 4*n), make([]byte, 4*(experts+1))},
			[]float64{refDot(last.Row(0), x), refDot(last.Row(1), x)},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := c.make.Launch()
			if err != nil {
				t.Fatal(err)
			}
			f := newFar(t, dev, l)
			defer f.free()
			for _, b := range c.inputs {
				f.add(int64(len(b)), 0, b)
			}
			f.add(codeBytes, codeBytes-int64(len(last.Codes)), last.Codes)
			f.add(pairBytes, pairBytes-int64(len(last.Scales)), last.Scales)
			f.add(pairBytes, pairBytes-int64(len(last.Biases)), last.Biases)
			for _, b := range c.after {
				f.add(int64(len(b)), 0, b)
			}
			got := ToF32(f.run(int64(4 * c.out)))
			want := append(make([]float64, c.out-len(c.want)), c.want...)
			Check(t, "outputs", got, want, TolOf(kernels.F32))
		})
	}
}

// far runs one op on buffers of any size, without the copies that a [Rig] makes.
type far struct {
	t    *testing.T
	dev  gpu.Device
	op   gpu.Op
	bind map[*gpu.Region]gpu.Buffer
}

func newFar(t *testing.T, dev gpu.Device, l kernels.Launch) *far {
	step := gpu.Slice{Region: gpu.Step, Len: kernels.StepBytes}
	op := gpu.Op{Launch: l, Label: t.Name(), Args: []gpu.Slice{step}}
	return &far{t, dev, op, map[*gpu.Region]gpu.Buffer{}}
}

// add is the next argument: size zeroes, but for content at off.
func (f *far) add(size, off int64, content []byte) gpu.Buffer {
	f.t.Helper()
	b, err := f.dev.Alloc(size)
	if err != nil {
		f.t.Fatal(err)
	}
	copy(b.Bytes()[off:], content)
	r := &gpu.Region{Name: fmt.Sprintf("v%d", len(f.bind)), Size: size}
	f.bind[r] = b
	f.op.Args = append(f.op.Args, gpu.Slice{Region: r, Len: size})
	return b
}

// run adds the output of so many bytes and returns it after the op.
func (f *far) run(size int64) []byte {
	f.t.Helper()
	out := f.add(size, 0, nil)
	step, err := f.dev.Alloc(kernels.StepBytes)
	if err != nil {
		f.t.Fatal(err)
	}
	defer step.Free()
	copy(step.Bytes(), liveRows(1).init)
	x, err := f.dev.Compile(f.t.Context(), &gpu.Program{Name: f.t.Name(), Rows: 1, Ops: []gpu.Op{f.op}}, f.bind)
	if err != nil {
		f.t.Fatal(err)
	}
	defer x.Free()
	n, err := f.dev.Submit(x, step)
	if err == nil {
		err = f.dev.Wait(f.t.Context(), n)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return bytes.Clone(out.Bytes())
}

func (f *far) free() {
	for _, b := range f.bind {
		b.Free()
	}
}
