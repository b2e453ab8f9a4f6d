package main

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"strconv"
	"strings"

	"sotto/engine/weights"
)

// drawer makes weights up. An element depends on the seed, its tensor's name and its place, on nothing else.
//
// They are such that numbers stay of the size that those of trained models have: norms are about 1, a matrix of K
// inputs has weights of deviation 1/sqrt(K), so that what it makes of normed inputs is about 1 too, and what a block
// adds to the residual stream is small.
type drawer struct {
	seed   uint64
	inputs map[string]int64 // of a quantised matrix, by its module
	bits   map[string]int64 // of its codes
	relu2  bool             // experts with neurons that are 0: see [drawer.tilt]
}

// Deviation of the outputs of a matrix, for inputs of deviation 1.
const (
	usual  = 1
	branch = 0.3 // of what goes into the residual stream
	head   = 2.5 // of logits
)

// dead is how far below 0 the input of a neuron lies, in deviations, when 10 % of a normal distribution are above 0.
const dead = 1.2816

// embedMean is the mean of all embeddings where neurons are to be steered, in their deviations. With it every input of
// a neuron has a mean, by which the biases of its weights shift all of them.
const embedMean = 0.5

// growth is what a layer adds to the variance of the residual stream, that of embeddings being 1.
const growth = 0.06

func newDrawer(seed uint64, tensors []tensor) *drawer {
	d := &drawer{seed: seed, inputs: map[string]int64{}, bits: map[string]int64{}}
	words := map[string]int64{}
	for _, t := range tensors {
		last := t.shape[len(t.shape)-1]
		if module, ok := strings.CutSuffix(t.name, ".scales"); ok {
			d.inputs[module] = last * weights.Group
		}
		if module, ok := strings.CutSuffix(t.name, ".weight"); ok && t.dtype == weights.U32 {
			words[module] = last
		}
		d.relu2 = d.relu2 || strings.HasSuffix(t.name, "switch_mlp.fc1.weight")
	}
	for module, n := range d.inputs {
		d.bits[module] = words[module] * 32 / n
	}
	return d
}

// draw fills p with what is at byte at of a tensor; both are multiples of the size of an element.
func (d *drawer) draw(t tensor, at int64, p []byte) {
	module, what := t.name, ""
	if i := strings.LastIndexByte(t.name, '.'); i >= 0 {
		module, what = t.name[:i], t.name[i+1:]
	}
	first := uint64(at / t.dtype.Size())
	switch {
	case t.dtype == weights.U32:
		d.codes(t.name, uint64(at), p)
	case d.inputs[module] > 0:
		d.groups(module, what == "biases", first, p)
	default:
		low, high, of := d.vector(t, module, what)
		r := d.key(t.name)
		put(p, t.dtype, func(i uint64) float64 { return of(low + (high-low)*unit(mix(r+(first+i)*golden))) })
	}
}

// codes draws words of codes, two at a time.
func (d *drawer) codes(name string, at uint64, p []byte) {
	r := d.key(name)
	for len(p) > 0 {
		var pair [8]byte
		binary.LittleEndian.PutUint64(pair[:], mix(r+at/8*golden))
		n := copy(p, pair[at%8:])
		p, at = p[n:], at+uint64(n)
	}
}

// groups draws scales or biases, which go by pairs: as mlx has it, a bias is a whole number of steps of its scale,
// and either may be negative.
func (d *drawer) groups(module string, biases bool, first uint64, p []byte) {
	codes := float64(int64(1) << d.bits[module]) // 16 or 256
	deviation, shift := d.matrix(module)
	deviation /= math.Sqrt((codes*codes - 1) / 12) // of codes
	r := d.key(module)
	put(p, weights.BF16, func(i uint64) float64 {
		v := mix(r + (first+i)*golden)
		steps := codes/2 - float64(v&1) // half of them, so that weights have no mean
		bias := steps * deviation * (0.75 + unit(v)/2)
		if v&2 != 0 {
			bias = -bias
		}
		if bias = float64(bf16(bias)); biases {
			return bias + shift
		}
		return -bias / steps
	})
}

// matrix is the deviation of the weights of a quantised matrix, and what is added to all of them.
func (d *drawer) matrix(module string) (deviation, shift float64) {
	name := module[strings.LastIndexByte(module, '.')+1:]
	root := math.Sqrt(float64(d.inputs[module]))
	switch {
	case name == "embed_tokens":
		return 1, 0
	case name == "embeddings":
		return 1, embedMean
	case name == "lm_head":
		return head / root, 0
	case d.relu2 && (name == "fc1" || name == "up_proj"):
		return usual / root, d.tilt(module)
	case name == "o_proj" || name == "out_proj" || name == "down_proj" || name == "fc2":
		return branch / root, 0
	}
	return usual / root, 0
}

// tilt is what the weights of neurons are shifted by, so that 10 % of them are above 0: their inputs have a mean, the
// smaller the more layers have added to the residual stream.
func (d *drawer) tilt(module string) float64 {
	_, rest, _ := strings.Cut(module, "layers.")
	digits, _, _ := strings.Cut(rest, ".")
	layer, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	mean := embedMean / math.Sqrt(1+embedMean*embedMean+growth*float64(layer))
	return -dead / (mean * float64(d.inputs[module]))
}

// vector is how what is no quantised matrix is drawn: evenly from low to high, and then as of says.
func (d *drawer) vector(t tensor, module, what string) (low, high float64, of func(float64) float64) {
	same := func(v float64) float64 { return v }
	root := math.Sqrt(float64(t.shape[len(t.shape)-1]))
	switch {
	case what == "A_log":
		return 1, 16, math.Log
	case what == "D":
		return 1, 1, same
	case what == "dt_bias": // of steps from 0.001 to 0.1, after a softplus
		return math.Log(0.001), math.Log(0.1), func(v float64) float64 { return math.Log(math.Expm1(math.Exp(v))) }
	case strings.HasSuffix(module, "conv1d"):
		return -0.5, 0.5, same
	case what == "e_score_correction_bias":
		return -0.01, 0.01, same
	case strings.HasSuffix(module, "gate"): // of a router that is not quantised
		return -math.Sqrt(3) / root, math.Sqrt(3) / root, same
	}
	return 0.9, 1.1, same // norms
}

// put writes values as elements of a type, which is BF16 or F32.
func put(p []byte, t weights.Dtype, value func(i uint64) float64) {
	if t == weights.F32 {
		for i := 0; i < len(p); i += 4 {
			binary.LittleEndian.PutUint32(p[i:], math.Float32bits(float32(value(uint64(i/4)))))
		}
		return
	}
	for i := 0; i < len(p); i += 2 {
		binary.LittleEndian.PutUint16(p[i:], uint16(math.Float32bits(bf16(value(uint64(i/2))))>>16))
	}
}

// bf16 rounds a finite number, ties to even.
func bf16(v float64) float32 {
	b := math.Float32bits(float32(v))
	return math.Float32frombits((b + 0x7fff + b>>16&1) &^ 0xffff)
}

// golden is the odd number nearest to 2^64 over the golden ratio.
const golden = 0x9e3779b97f4a7c15

// key is where the numbers of a name begin.
func (d *drawer) key(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return mix(h.Sum64() ^ mix(d.seed))
}

// mix is the finisher of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
func mix(v uint64) uint64 {
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// unit makes a number from 0 to 1 of the upper bits.
func unit(v uint64) float64 { return float64(v>>11) / (1 << 53) }
