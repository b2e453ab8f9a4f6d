package gputest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// KernelSample tests the end of a pass: the arg-max and what it does to the step record; draws against a reference
// with a generator of its own, token by token and by their distribution; log-probabilities and alternatives.
func KernelSample(t *testing.T, dev gpu.Device) {
	t.Run("advance", func(t *testing.T) { sampleAdvance(t, dev) })
	t.Run("argmax", func(t *testing.T) { sampleArgmax(t, dev) })
	t.Run("draws", func(t *testing.T) { sampleDraws(t, dev) })
	t.Run("edges", func(t *testing.T) { sampleEdges(t, dev) })
	t.Run("void", func(t *testing.T) { sampleVoid(t, dev) })
	t.Run("log-probabilities", func(t *testing.T) { sampleLogs(t, dev) })
	if dev.Caps().SIMD == 1 { // the checking build would take minutes
		t.Run("distribution", func(t *testing.T) { sampleDistribution(t, dev) })
		t.Run("vocabulary", func(t *testing.T) { sampleVocabulary(t, dev) })
	}
}

const headPart = 256 // logits of a part

// headParts is what the head leaves of logits.
func headParts(logits []float32) []byte {
	var b []byte
	for i := 0; i < len(logits); i += headPart {
		best, id, nan := refArgMax(logits[i:min(i+headPart, len(logits))])
		if nan {
			best = float32(math.NaN())
		}
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(best))
		b = binary.LittleEndian.AppendUint32(b, uint32(i+id))
	}
	return b
}

// ended is a step buffer after the end of a pass.
type ended struct {
	params kernels.StepParams
	record kernels.RingRecord // of the step that ended
	alts   []kernels.Alternative
	ids    uint32
}

func readEnded(t *testing.T, step []byte, before kernels.StepParams) ended {
	t.Helper()
	var e ended
	decode := func(off int, v any) {
		if _, err := binary.Decode(step[off:], binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	slot := int(before.Step) % kernels.RingSize
	e.alts = make([]kernels.Alternative, kernels.MaxAlternatives)
	decode(kernels.StepOffset, &e.params)
	decode(kernels.RingOffset+slot*binary.Size(e.record), &e.record)
	decode(kernels.AltsOffset+slot*binary.Size(e.alts), e.alts)
	decode(kernels.IDsOffset, &e.ids)
	return e
}

func argmax(t *testing.T, dev gpu.Device, logits []float32, p kernels.StepParams) ended {
	t.Helper()
	part := headParts(logits)
	l, err := kernels.Argmax{N: len(logits), Parts: len(part) / 8}.Launch()
	if err != nil {
		t.Fatal(err)
	}
	out := RunOp(t, dev, l, StepData(StepRecord{Params: p, IDs: []uint32{77}}), Bytes(part))
	return readEnded(t, out[0], p)
}

// recordSample adds the two launches of a draw and returns the variable of the step buffer.
func recordSample(t *testing.T, rig *Rig, logits []float32, p kernels.StepParams) *Var {
	t.Helper()
	part := headParts(logits)
	s := kernels.Sampler{N: len(logits), Parts: len(part) / 8}
	step, in, parts := rig.Var(StepData(StepRecord{Params: p})), rig.Var(F32s(logits)), rig.Var(Bytes(part))
	stats, lists := rig.Var(Out(int(s.StatsBytes()))), rig.Var(Out(int(s.ListBytes())))
	add := func(launch func() (kernels.Launch, error), vars ...*Var) {
		l, err := launch()
		if err != nil {
			t.Fatal(err)
		}
		rig.Op(l, vars...)
	}
	add(s.Process, step, in, parts, stats, lists)
	add(s.Final, step, in, parts, stats, lists)
	return step
}

func sample(t *testing.T, dev gpu.Device, logits []float32, p kernels.StepParams) ended {
	t.Helper()
	rig := NewRig(t, dev)
	step := recordSample(t, rig, logits, p)
	rig.Run()
	return readEnded(t, step.Out(), p)
}

// checkDraw compares a draw with the reference. It reports false where rounding may decide.
func checkDraw(t *testing.T, dev gpu.Device, what string, logits []float32, p kernels.StepParams) bool {
	t.Helper()
	kept, close := refKept(logits, p)
	want, lead := refDraw(logits, p, kept)
	e := sample(t, dev, logits, p)
	if close < 1e-5 || lead < 1e-4 {
		return false
	}
	if got := int(e.record.Tokens[0]); got != want {
		t.Errorf("%s: %+v: got token %d, want %d of %d kept (lead %.3g)", what, short(p), got, want, len(kept), lead)
	}
	if e.record.Flags != 0 || e.params.Active != 1 || e.ids != e.record.Tokens[0] || e.record.Seq != p.Step+1 {
		t.Errorf("%s: %+v: record %+v, ids[0] %d, active %d", what, short(p), e.record, e.ids, e.params.Active)
	}
	return true
}

// short leaves what a message needs of a step record.
func short(p kernels.StepParams) string {
	return fmt.Sprintf("{step %d greedy %d top-k %d temp %v top-p %v min-p %v}", p.Step, p.Greedy, p.TopK, p.Temp,
		p.TopP, p.MinP)
}

// asking is a live step record with these filters.
func asking(k uint32, temp, topP, minP float32) kernels.StepParams {
	return kernels.StepParams{
		Pos: 40, Rows: 1, Active: 1, Slot: 3, Blocks: 1, Step: 5, Limit: 1 << 30, SeedLo: 0x1234567, SeedHi: 0x89abcdef,
		TopK: k, Temp: temp, TopP: topP, MinP: minP,
	}
}

// filters are what draws are tried with.
func filters() []kernels.StepParams {
	return []kernels.StepParams{
		asking(0, 1, 1, 0), asking(0, 0.7, 1, 0), asking(0, 2.5, 1, 0.02), asking(1, 1, 1, 0), asking(20, 0.6, 0.95, 0),
		asking(20, 0.7, 0.8, 0.05), asking(0, 1, 0.9, 0), asking(0, 1, 0.999, 0), asking(0, 1.5, 0.5, 0.1),
		asking(1024, 1, 1, 0), asking(1025, 3, 1, 0), asking(1500, 2, 0.9999, 0), asking(0, 1, 1, 1),
		asking(1<<31, 1, 0.9, 0), asking(0, 1, 0, 0), asking(0, 1e-7, 0.9, 0),
	}
}

// shapes of logits.
func logitShapes(r *rand.Rand, n int) map[string][]float32 {
	normal, flat, ties, masked := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range n {
		normal[i] = float32(r.NormFloat64() * 4)
		flat[i] = float32(r.NormFloat64() * 0.3)
		ties[i] = float32(math.Round(r.NormFloat64() * 2))
		masked[i] = float32(math.Inf(-1))
		if r.IntN(3) == 0 || i == n/2 {
			masked[i] = float32(r.NormFloat64())
		}
	}
	return map[string][]float32{"normal": normal, "flat": flat, "ties": ties, "masked": masked}
}

func sampleDraws(t *testing.T, dev gpu.Device) {
	sizes := []int{1, 2, 5, 257, 2047, 2049, 4096}
	if dev.Caps().SIMD > 1 {
		sizes = []int{1, 5, 2049}
	}
	tried, decided := 0, 0
	for _, n := range sizes {
		r := Rand(fmt.Sprint("draws", n))
		for shape, logits := range logitShapes(r, n) {
			for _, p := range filters() {
				p.Step, p.SeedLo = r.Uint32N(1000), r.Uint32()
				tried++
				if checkDraw(t, dev, fmt.Sprintf("%s logits of %d", shape, n), logits, p) {
					decided++
				}
			}
		}
	}
	if decided < tried*9/10 {
		t.Errorf("only %d of %d draws were beyond rounding", decided, tried)
	}
}

func sampleVocabulary(t *testing.T, dev gpu.Device) {
	const n = 248320
	r := Rand("vocabulary")
	shapes := logitShapes(r, n)
	for _, p := range []kernels.StepParams{
		asking(20, 0.7, 0.8, 0), asking(0, 1, 1, 0), asking(0, 1, 0.95, 0), asking(3000, 2, 1, 0),
	} {
		for _, shape := range []string{"normal", "flat", "ties"} {
			checkDraw(t, dev, shape+" logits of the full vocabulary", shapes[shape], p)
		}
	}
	p := asking(0, 1, 1, 0)
	p.Greedy, p.Alts, p.Logprobs = 1, 20, 1
	checkLogs(t, dev, "full vocabulary", shapes["normal"], p)
}

// sampleEdges tries logits that are all equal, infinite, or zeroes of both signs.
func sampleEdges(t *testing.T, dev gpu.Device) {
	inf := float32(math.Inf(1))
	equal := make([]float32, 3000)
	for i := range equal {
		equal[i] = 2.5
	}
	one := make([]float32, 300)
	for i := range one {
		one[i] = -inf
	}
	one[299] = -7
	zero := []float32{float32(math.Copysign(0, -1)), 0, float32(math.Copysign(0, -1)), -1}
	for _, p := range filters() {
		checkDraw(t, dev, "equal logits", equal, p)
		checkDraw(t, dev, "one possible token", one, p)
		checkDraw(t, dev, "zeroes", zero, p)
	}
	above := []float32{1, inf, 2, inf}
	for _, p := range filters() {
		if got := sample(t, dev, above, p).record.Tokens[0]; got != 1 && got != 3 {
			t.Errorf("infinite logits: %s: got token %d, want 1 or 3", short(p), got)
		}
	}
}

// sampleVoid: no token can be had from a NaN or from nothing but -infinity.
func sampleVoid(t *testing.T, dev gpu.Device) {
	bad := map[string][]float32{
		"NaN": make([]float32, 700), "all NaN": make([]float32, 3), "nothing": make([]float32, 3),
	}
	bad["NaN"][650] = float32(math.NaN())
	for i := range 3 {
		bad["all NaN"][i], bad["nothing"][i] = float32(math.NaN()), float32(math.Inf(-1))
	}
	for name, logits := range bad {
		for _, p := range filters() {
			p.Logprobs, p.Alts = 1, 3
			e := sample(t, dev, logits, p)
			if e.record.Flags&kernels.RingNaN == 0 || e.params.Active != 0 || int(e.record.Tokens[0]) >= len(logits) {
				t.Errorf("%s: %s: record %+v, active %d", name, short(p), e.record, e.params.Active)
			}
		}
	}
}

func sampleLogs(t *testing.T, dev gpu.Device) {
	for _, n := range []int{1, 3, 2050} {
		r := Rand(fmt.Sprint("logs", n))
		for shape, logits := range logitShapes(r, n) {
			for _, p := range filters() {
				p.Greedy, p.Logprobs, p.Alts = r.Uint32N(2), 1, []uint32{0, 1, 5, 20, 99}[r.IntN(5)]
				checkLogs(t, dev, fmt.Sprintf("%s logits of %d", shape, n), logits, p)
			}
		}
	}
	p := asking(20, 1, 1, 0)
	if e := sample(t, dev, []float32{1, 2, 3}, p); e.record.Logs[0] != 0 || e.alts[0] != (kernels.Alternative{}) {
		t.Errorf("log-probabilities that nobody asked for: %v, %v", e.record.Logs[0], e.alts[0])
	}
}

// checkLogs compares the token's log-probability and the alternatives with float64.
func checkLogs(t *testing.T, dev gpu.Device, what string, logits []float32, p kernels.StepParams) {
	t.Helper()
	e, logs := sample(t, dev, logits, p), refLogProb(logits)
	order := refOrder(logits)
	differs := func(got float32, want float64) bool {
		return float64(got) != want && !(math.Abs(float64(got)-want) <= 2e-5+2e-7*math.Abs(want))
	}
	token := int(e.record.Tokens[0])
	if differs(e.record.Logs[0], logs[token]) {
		t.Errorf("%s: %s: token %d: got log-probability %v, want %v", what, short(p), token, e.record.Logs[0],
			logs[token])
	}
	if p.Greedy != 0 && token != order[0] {
		t.Errorf("%s: greedy: got token %d, want %d", what, token, order[0])
	}
	for i, alt := range e.alts {
		if i >= min(int(p.Alts), len(logits)) {
			if alt != (kernels.Alternative{}) {
				t.Errorf("%s: %d alternatives were asked for, but number %d is %+v", what, p.Alts, i, alt)
			}
		} else if int(alt.ID) != order[i] || differs(alt.Log, logs[order[i]]) {
			t.Errorf("%s: alternative %d: got %+v, want %d with %v", what, i, alt, order[i], logs[order[i]])
		}
	}
}

func sampleArgmax(t *testing.T, dev gpu.Device) {
	for _, n := range []int{1, 2, 255, 257, 4096, 20000} {
		for shape, logits := range logitShapes(Rand(fmt.Sprint("argmax", n)), n) {
			want := uint32(refOrder(logits)[0])
			if e := argmax(t, dev, logits, asking(0, 0, 1, 0)); e.record.Tokens[0] != want || e.record.Flags != 0 {
				t.Errorf("%s logits of %d: got %+v, want token %d", shape, n, e.record, want)
			}
		}
	}
	logits, nothing := make([]float32, 900), make([]float32, 900)
	logits[800] = float32(math.NaN())
	for i := range nothing {
		nothing[i] = float32(math.Inf(-1))
	}
	for name, bad := range map[string][]float32{"NaN": logits, "nothing but -infinity": nothing} {
		if e := argmax(t, dev, bad, asking(0, 0, 1, 0)); e.record.Flags != kernels.RingNaN || e.params.Active != 0 {
			t.Errorf("%s: record %+v, active %d", name, e.record, e.params.Active)
		}
	}
	p := asking(20, 0.7, 0.9, 0)
	p.Active = 0
	if e := argmax(t, dev, logits, p); e.params != p || e.record != (kernels.RingRecord{}) || e.ids != 77 {
		t.Errorf("inactive pass: argmax changed the step buffer: %+v, %+v, ids[0] %d", e.params, e.record, e.ids)
	}
	if e := sample(t, dev, logits, p); e.params != p || e.record != (kernels.RingRecord{}) {
		t.Errorf("inactive pass: the sampler changed the step buffer: %+v, %+v", e.params, e.record)
	}
}

func sampleAdvance(t *testing.T, dev gpu.Device) {
	logits := make([]float32, 300)
	logits[259] = 1 // the token
	base := asking(0, 0, 1, 0)
	cases := []struct {
		name string
		edit func(p *kernels.StepParams)
		want func(p *kernels.StepParams)
		flag uint32
	}{
		{"plain", nil, nil, 0},
		{
			"prefill of 17 rows", func(p *kernels.StepParams) { p.Rows = 17 },
			func(p *kernels.StepParams) { p.Pos += 16 }, 0,
		},
		{
			"last key of a block", func(p *kernels.StepParams) { p.Pos = 254 },
			func(p *kernels.StepParams) { p.Blocks = 1 }, 0,
		},
		{
			"first key of a block", func(p *kernels.StepParams) { p.Pos = 255 },
			func(p *kernels.StepParams) { p.Blocks = 2 }, 0,
		},
		{"odd parity", func(p *kernels.StepParams) { p.Parity = 1 }, nil, 0},
		{"ring wraps", func(p *kernels.StepParams) { p.Step = 64*3 + 63 }, nil, 0},
		{
			"stop id", func(p *kernels.StepParams) { p.NumStops, p.Stops = 3, [16]uint32{1, 2, 259} },
			func(p *kernels.StepParams) { p.Active = 0 }, kernels.RingStopped,
		},
		{
			"stop id beyond their number",
			func(p *kernels.StepParams) { p.NumStops, p.Stops = 2, [16]uint32{1, 2, 259} }, nil, 0,
		},
		{
			"limit", func(p *kernels.StepParams) { p.Limit = p.Step + 1 },
			func(p *kernels.StepParams) { p.Active = 0 }, kernels.RingLimit,
		},
		{
			"stop id at the limit", func(p *kernels.StepParams) { p.Limit, p.NumStops, p.Stops[0] = p.Step+1, 1, 259 },
			func(p *kernels.StepParams) { p.Active = 0 }, kernels.RingLimit | kernels.RingStopped,
		},
	}
	for _, c := range cases {
		p := base
		if c.edit != nil {
			c.edit(&p)
		}
		want := p
		want.Pos, want.Rows, want.Parity, want.Step, want.Blocks = p.Pos+1, 1, p.Parity^1, p.Step+1, 1
		if c.want != nil {
			c.want(&want)
		}
		greedy := p
		greedy.Greedy = 1
		drawn := sample(t, dev, logits, greedy)
		drawn.params.Greedy = 0
		for end, got := range map[string]ended{"argmax": argmax(t, dev, logits, p), "sampler": drawn} {
			record := kernels.RingRecord{Seq: p.Step + 1, Count: 1, Tokens: [5]uint32{259}, Flags: c.flag}
			if got.params != want || got.record != record || got.ids != 259 {
				t.Errorf("%s, %s: got %+v, %+v, ids[0] %d\nwant %+v, %+v", c.name, end, got.params, got.record, got.ids,
					want, record)
			}
		}
	}
}

// sampleDistribution replays a draw thousands of times, each with the next step's noise, and compares the counts with
// the probabilities by Pearson's chi-square.
func sampleDistribution(t *testing.T, dev gpu.Device) {
	r := Rand("distribution")
	logits := make([]float32, 40)
	for i := range logits {
		logits[i] = float32(r.NormFloat64() * 1.5)
	}
	for _, p := range []kernels.StepParams{
		asking(0, 1, 1, 0), asking(0, 0.6, 1, 0), asking(12, 1.3, 1, 0), asking(0, 1, 0.9, 0), asking(0, 1, 1, 0.08),
		asking(20, 0.7, 0.8, 0.02),
	} {
		p.Step = 0
		const passes = 80 * kernels.RingSize
		counts, probs := make([]int, len(logits)), refProbabilities(logits, p)
		for _, id := range drawMany(t, dev, logits, p, passes) {
			counts[id]++
		}
		chi, classes := 0.0, 0.0
		for i, q := range probs {
			if q == 0 && counts[i] > 0 {
				t.Errorf("%s: token %d was drawn %d times, but is not kept", short(p), i, counts[i])
			}
			if q > 0 {
				d := float64(counts[i]) - q*passes
				chi += d * d / (q * passes)
				classes++
			}
		}
		free := classes - 1
		if limit := free + 4*math.Sqrt(2*free); chi > limit {
			t.Errorf("%s: chi-square %.1f with %.0f degrees of freedom, allowed %.1f", short(p), chi, free, limit)
		}
	}
}

// drawMany replays a compiled draw and reads the ring each time it is full.
func drawMany(t *testing.T, dev gpu.Device, logits []float32, p kernels.StepParams, passes int) []uint32 {
	t.Helper()
	rig := NewRig(t, dev)
	recordSample(t, rig, logits, p)
	bind := map[*gpu.Region]gpu.Buffer{}
	for _, v := range rig.vars {
		if v.region != gpu.Step {
			bind[v.region] = rig.alloc(v.region.Size)
			copy(bind[v.region].Bytes()[guardBytes:], v.data.init)
			defer bind[v.region].Free()
		}
	}
	step := rig.alloc(kernels.StepBytes)
	defer step.Free()
	copy(step.Bytes(), rig.step)
	x, err := dev.Compile(t.Context(), &rig.prog, bind)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Free()
	var ids []uint32
	for len(ids) < passes {
		var n uint64
		for range kernels.RingSize {
			if n, err = dev.Submit(x, step); err != nil {
				t.Fatal(err)
			}
		}
		if err := dev.Wait(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		ring := make([]kernels.RingRecord, kernels.RingSize)
		if _, err := binary.Decode(step.Bytes()[kernels.RingOffset:], binary.LittleEndian, ring); err != nil {
			t.Fatal(err)
		}
		for _, record := range ring {
			ids = append(ids, record.Tokens[0])
		}
	}
	return ids
}
