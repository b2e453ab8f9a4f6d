package kernels

// Geometry of the sampler. A chunk is what one threadgroup of Process reads; Candidates bounds what is sorted.
const (
	sampleChunk   = 2048
	Candidates    = 1024
	pairBytes     = 8  // (u32 or f32, u32)
	statBytes     = 16 // sampleStat: one a chunk
	argmaxGroup   = 32
	processGroup  = 8
	finalGroup    = 32
	maxVocabulary = 1 << 24
)

// ArgmaxParams is buffer 0 of argmax.
type ArgmaxParams struct {
	Parts uint32 // pairs of part
}

// Argmax ends a greedy pass: the best pair of part (greatest value, ties to the lower id) is the token. It goes to
// the ring and to ids[0], and the step record moves on (common/advance.h says how). Buffers after step (which is
// read and written): part (f32, u32)[Parts]. A NaN in part, or nothing but -inf, sets RingNaN and
// clears Active.
type Argmax struct {
	N, Parts int // vocabulary, and Head.Parts
}

// Launch is the dispatch of a.
func (a Argmax) Launch() (Launch, error) {
	if a.N < 1 || a.N > maxVocabulary || a.Parts < 1 || a.Parts > a.N {
		return Launch{}, unsupported("argmax", "N=%d in %d parts", a.N, a.Parts)
	}
	k := argmaxKernel()
	return Launch{
		Kernel: &k, Params: pack(ArgmaxParams{Parts: uint32(a.Parts)}),
		Grid: [3]uint32{1, 1, 1}, Simdgroups: argmaxGroup,
	}, nil
}

// SampleParams is buffer 0 of sample_*.
type SampleParams struct {
	N      uint32 // vocabulary
	Parts  uint32 // pairs of part
	Chunks uint32 // threadgroups of Process
}

// Sampler ends a pass with a sampled token, or with the greedy one, and with log-probabilities where the step
// record asks for them. Two launches, to be recorded in this order:
//
//	Process  step, logits f32[N], part (f32, u32)[Parts], stats [StatsBytes], lists [ListBytes]
//	Final    step (read and written), logits, part, stats, lists
//
// Rules, in the order of mlx-lm's samplers: on the probabilities of the unscaled logits, top-p keeps a token when
// the mass of all greater ones is below TopP of the whole (so ties stay together and the best stays always), then
// min-p keeps those of at least MinP times the best probability, then top-k keeps the first TopK of what is left
// (ties to the lower id). The temperature divides the logits last, and one token is drawn from the softmax of
// what was kept, as the arg-max of logit/Temp plus Gumbel noise. The noise of token i is word i%4 of
// Philox4x32-10 with key (SeedLo, SeedHi) and counter (i/4, Step, 0, 0): a draw depends on no order, no slot and no
// path. A Temp below 1e-6 means greedy. The result is exact at any size of the kept set.
//
// Logits of -inf are never drawn. A NaN, or nothing but -inf, sets RingNaN and clears Active.
type Sampler struct {
	N, Parts int // vocabulary, and Head.Parts
}

func (s Sampler) chunks() int { return int(ceilDiv(s.N, sampleChunk)) }

// StatsBytes is the size of the sums of the chunks.
func (s Sampler) StatsBytes() int64 { return int64(s.chunks()) * statBytes }

// ListBytes is the size of the chunks' candidates.
func (s Sampler) ListBytes() int64 { return int64(s.chunks()) * Candidates * pairBytes }

// Process is the first launch.
func (s Sampler) Process() (Launch, error) {
	return s.launch(processKernel(), s.chunks(), processGroup)
}

// Final is the last launch.
func (s Sampler) Final() (Launch, error) { return s.launch(finalKernel(), 1, finalGroup) }

func (s Sampler) launch(k Kernel, groups, simdgroups int) (Launch, error) {
	if s.N < 1 || s.N > maxVocabulary || s.Parts < 1 || s.Parts > s.N {
		return Launch{}, unsupported("sample", "N=%d in %d parts", s.N, s.Parts)
	}
	p := SampleParams{N: uint32(s.N), Parts: uint32(s.Parts), Chunks: uint32(s.chunks())}
	return Launch{
		Kernel: &k, Params: pack(p), Grid: [3]uint32{uint32(groups), 1, 1}, Simdgroups: uint32(simdgroups),
	}, nil
}

func argmaxKernel() Kernel {
	return Kernel{
		Name: "argmax", File: "sample.metal", Params: ArgmaxParams{},
		Args: []Arg{{StepArg, ReadWrite}, {"part", Read}},
	}
}

func processKernel() Kernel {
	return Kernel{
		Name: "sample_process", File: "sample.metal", Params: SampleParams{},
		Args: []Arg{{StepArg, Read}, {"logits", Read}, {"part", Read}, {"stats", Write}, {"lists", Write}},
	}
}

func finalKernel() Kernel {
	return Kernel{
		Name: "sample_final", File: "sample_final.metal", Params: SampleParams{},
		Args: []Arg{{StepArg, ReadWrite}, {"logits", Read}, {"part", Read}, {"stats", Read}, {"lists", Read}},
	}
}

// sampleKernels is this family's part of the catalogue.
func sampleKernels() []Kernel {
	return []Kernel{argmaxKernel(), processKernel(), finalKernel()}
}
