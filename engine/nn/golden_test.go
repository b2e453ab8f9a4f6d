package nn_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"sotto/engine/gpu"
	"sotto/engine/nn"
	"sotto/kernels"
)

// tolerances are the largest distances from mlx-lm that f32 activations may have on logits of deviation 2.45, by the
// first letter of a case. The smallest mistake of thirty that were planted in a forward pass moves them by 5.5e-4.
var tolerances = map[byte]float64{'q': 2.5e-4, 'n': 1e-4}

// minGap is the distance of the two best logits from which on greedy text must not depend on rounding.
const minGap = 1e-3

// TestGolden compares f32 activations with what mlx-lm computes: prefill, hidden states, state, decode, and a prompt
// of more than one key block.
func TestGolden(t *testing.T) {
	builds(t, func(t *testing.T, dev gpu.Device) {
		for _, name := range cases {
			t.Run(name, func(t *testing.T) {
				files := unpack(t, goldenFolder+"/"+name)
				g := openGoldens(t, files)
				r := newRig(t, dev, files, kernels.F32, 1)
				r.tolerance = tolerances[name[0]]
				t.Run("prefill and decode", func(t *testing.T) { r.in(t).testPrefillDecode(g) })
				if !slow(dev) || slices.Contains(small, name) {
					t.Run("greedy", func(t *testing.T) { r.in(t).testGreedy(g) })
					t.Run("hidden", func(t *testing.T) { r.in(t).testHidden(g) })
				}
				if !slow(dev) {
					t.Run("long", func(t *testing.T) { r.in(t).testLong(g) })
				}
			})
		}
	})
}

// in is the rig for a subtest.
func (r *rig) in(t *testing.T) *rig {
	s := *r
	s.t = t
	s.passes, s.worst = map[nn.Options]*compiled{}, 0
	t.Cleanup(func() {
		if s.worst > 0 {
			t.Logf("largest difference from mlx-lm: %.3g", s.worst)
		}
	})
	return &s
}

func (r *rig) near(what string, got, want []float32) {
	r.t.Helper()
	r.within(r.tolerance, what, got, want)
}

func (r *rig) within(tolerance float64, what string, got, want []float32) {
	r.t.Helper()
	d := differ(got, want)
	if d > tolerance {
		r.t.Errorf("%s: differs from mlx-lm by %.3g, allowed are %.3g", what, d, tolerance)
	}
	r.worst = max(r.worst, d)
}

// logitDeviation is the standard deviation of the logits that tolerances are meant for.
const logitDeviation = 2.45

// deviation is the standard deviation of numbers around 0.
func deviation(v []float32) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum / float64(len(v)))
}

func (r *rig) testPrefillDecode(g goldens) {
	t, s := r.t, r.session()
	prompt, tokens, vocab := g.ids(t, "prompt"), g.ids(t, "greedy.tokens"), r.model.Spec.Vocab
	r.near("logits", r.read(s, prompt), g.floats(t, "prefill.logits"))
	for name, got := range r.snapshot(s) {
		r.near(name, got, g.floats(t, "prefill."+name))
	}
	want := g.floats(t, "decode.logits")
	for i := range len(want) / vocab {
		r.near(fmt.Sprintf("logits of decode step %d", i), r.read(s, tokens[i:i+1]), want[i*vocab:(i+1)*vocab])
	}
}

// testHidden cuts the program after each layer. The residual stream grows from layer to layer, and the distance that
// it may have with it.
func (r *rig) testHidden(g goldens) {
	prompt, s := g.ids(r.t, "prompt"), r.session()
	for i, b := range r.model.Spec.Blocks {
		if i+1 < len(r.model.Spec.Blocks) && r.model.Spec.Blocks[i+1].Layer == b.Layer {
			continue
		}
		s.Reset()
		c := r.pass(nn.Options{Rows: 256, Depth: i + 1})
		r.begin(s, prompt)
		r.run(c.exec, s)
		got := c.floats(r.model.State.DType, c.Hidden)[:len(prompt)*r.model.Spec.Hidden]
		want := g.floats(r.t, fmt.Sprintf("prefill.hidden.%d", b.Layer))
		tolerance := r.tolerance * max(1, deviation(want)/logitDeviation)
		r.within(tolerance, fmt.Sprintf("layer %d", b.Layer), got, want)
	}
}

func (r *rig) testLong(g goldens) {
	long, vocab := g.ids(r.t, "prompt.long"), r.model.Spec.Vocab
	want := g.floats(r.t, "long.logits")
	s := r.session()
	for _, n := range []int{300, 64} {
		s.Reset()
		got := r.readCut(s, long, n)
		r.near(fmt.Sprintf("last logits in passes of %d", n), got[len(got)-vocab:], want)
	}
}

// testGreedy lets the device choose and hand on its tokens.
func (r *rig) testGreedy(g goldens) {
	t, s := r.t, r.session()
	prompt, tokens, gaps := g.ids(t, "prompt"), g.ids(t, "greedy.tokens"), g.floats(t, "greedy.gap")
	params := s.Step().Params()
	params.Greedy, params.Limit = 1, uint32(len(tokens))
	r.read(s, prompt[:64])
	r.begin(s, prompt[64:])
	x := r.pass(nn.Options{Rows: 16, Logits: nn.LastLogits, Sampler: nn.Greedy}).exec
	step := r.pass(greedy1).exec
	if err := s.Grow(len(prompt) + len(tokens)); err != nil {
		t.Fatal(err)
	}
	for i := range tokens {
		r.run(x, s)
		x = step
		rec, ok := s.Step().Record(uint32(i))
		if !ok || rec.Count != 1 {
			t.Fatalf("token %d: no record", i)
		}
		if got := int32(rec.Tokens[0]); got != tokens[i] {
			if gaps[i] > minGap {
				t.Fatalf("token %d: got %d, want %d, which leads by %.3g", i, got, tokens[i], gaps[i])
			}
			t.Logf("token %d differs within rounding (%.3g)", i, gaps[i])
			return
		}
		if last := i == len(tokens)-1; (rec.Flags == kernels.RingLimit) != last {
			t.Errorf("token %d: flags %d", i, rec.Flags)
		}
	}
	if got, want := int(params.Pos), len(prompt)+len(tokens)-1; got != want || params.Active != 0 {
		t.Errorf("position %d, active %d; want %d, 0", got, params.Active, want)
	}
}

// TestBF16 holds the noise of bf16 activations against f32 goldens, on models in which every expert is active.
func TestBF16(t *testing.T) {
	builds(t, func(t *testing.T, dev gpu.Device) {
		for _, name := range []string{"qwen_c", "nemotron_c"} {
			t.Run(name, func(t *testing.T) {
				files := unpack(t, goldenFolder+"/"+name)
				g := openGoldens(t, files)
				newRig(t, dev, files, kernels.BF16, 1).testNoise(g)
			})
		}
	})
}

func (r *rig) testNoise(g goldens) {
	got, want := r.read(r.session(), g.ids(r.t, "prompt")), g.floats(r.t, "prefill.logits")
	vocab := r.model.Spec.Vocab
	square, worst, agree := 0.0, 0.0, 0
	var cosines []float64
	rows := len(want) / vocab
	for i := range rows {
		a, b := got[i*vocab:(i+1)*vocab], want[i*vocab:(i+1)*vocab]
		ab, aa, bb := 0.0, 0.0, 0.0
		for j := range a {
			x, y := float64(a[j]), float64(b[j])
			square += (x - y) * (x - y)
			worst = max(worst, math.Abs(x-y))
			ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
		}
		cosines = append(cosines, ab/math.Sqrt(aa*bb))
		if argmax(a) == argmax(b) {
			agree++
		}
	}
	slices.Sort(cosines)
	rms, same, cosine := math.Sqrt(square/float64(len(want))), float64(agree)/float64(rows), cosines[rows/2]
	r.t.Logf("rms %.4f, max %.3f, argmax %.3f, median cosine %.5f", rms, worst, same, cosine)
	if !(rms <= 0.12 && worst <= 1.2 && same >= 0.90 && cosine >= 0.999) {
		r.t.Error("want rms <= 0.12, max <= 1.2, argmax >= 0.90, median cosine >= 0.999")
	}
}

// chat is a greedy answer of the built-in model by mlx-lm.
type chat struct {
	Prompt, Tokens []int32
	Gap            []float32
	Text           string
}

// TestBuiltIn compares greedy answers of the built-in models with mlx-lm's: the answers themselves with f32
// activations, the choice at each token of those answers with bf16.
func TestBuiltIn(t *testing.T) {
	for _, name := range []string{"qwen-tiny", "nemotron-tiny"} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(goldenFolder + "/chat-" + name + ".json")
			if err != nil {
				t.Fatal(err)
			}
			var chats []chat
			if err := json.Unmarshal(text, &chats); err != nil {
				t.Fatal(err)
			}
			files, dev := unpack(t, "../../assets/models/"+name), openDevice(t, "")
			exactly, rounded := newRig(t, dev, files, kernels.F32, 1), newRig(t, dev, files, kernels.BF16, 1)
			for i, c := range chats {
				t.Run(fmt.Sprint(i), func(t *testing.T) {
					exactly.in(t).answered(c)
					rounded.in(t).followed(c)
				})
			}
		})
	}
}

// answered compares an answer with mlx-lm's, up to a choice that rounding may change.
func (r *rig) answered(c chat) {
	for j, got := range r.answer(c.Prompt, len(c.Tokens)) {
		if got == c.Tokens[j] {
			continue
		}
		if c.Gap[j] > minGap {
			r.t.Errorf("token %d: got %d, want %d, which leads by %.3g", j, got, c.Tokens[j], c.Gap[j])
		}
		return
	}
}

// answer reads a prompt and lets the device choose n tokens.
func (r *rig) answer(prompt []int32, n int) []int32 {
	s := r.session()
	if err := s.Grow(len(prompt) + n); err != nil {
		r.t.Fatal(err)
	}
	p := s.Step().Params()
	p.Greedy, p.Limit = 1, uint32(n)
	r.begin(s, prompt)
	x := r.pass(nn.Options{Rows: 256, Logits: nn.LastLogits, Sampler: nn.Greedy}).exec
	out := make([]int32, n)
	for i := range out {
		r.run(x, s)
		x = r.pass(greedy1).exec
		rec, ok := s.Step().Record(uint32(i))
		if !ok {
			r.t.Fatalf("token %d: no record", i)
		}
		out[i] = int32(rec.Tokens[0])
	}
	return out
}

// roundedGap is the lead that bf16 activations must not overturn: four times what is usual on logits of this size.
const roundedGap = 1

// followed reads a prompt and its answer in one pass and compares the choices where they are clear.
func (r *rig) followed(c chat) {
	ids := append(slices.Clone(c.Prompt), c.Tokens[:len(c.Tokens)-1]...)
	logits, vocab := r.read(r.session(), ids), r.model.Spec.Vocab
	for i, want := range c.Tokens {
		row := logits[(len(c.Prompt)+i-1)*vocab:][:vocab]
		if got := argmax(row); int32(got) != want && c.Gap[i] > roundedGap {
			r.t.Errorf("bf16, token %d: got %d, want %d, which leads by %.3g", i, got, want, c.Gap[i])
		}
	}
}

func argmax(v []float32) int {
	best := 0
	for i := range v {
		if v[i] > v[best] {
			best = i
		}
	}
	return best
}
