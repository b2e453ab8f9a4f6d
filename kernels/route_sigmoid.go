package kernels

import "fmt"

// RouteSigmoidParams is buffer 0 of route_sigmoid_*.
type RouteSigmoidParams struct {
	Experts uint32
	TopK    uint32
	Stride  uint32  // f32 values between rows of logits
	Groups  uint32  // runs of neighbouring experts
	Keep    uint32  // groups whose experts may be chosen
	Norm    uint32  // 1: the scores of a row's choice are divided by their sum
	Scale   float32 // of the weights
}

// RouteSigmoid chooses experts by score + bias and weighs them by the score alone: s = sigmoid(logit); the TopK largest
// of s + bias, ties to the lower id, in descending order; w = s / (sum over the chosen + 1e-20) * Scale, without the
// division if Norm is false or TopK is 1. With more than one group only Keep of them take part, those with the
// largest sums of their two best choices; experts of the others have the choice value 0, as in the published models.
// Ids are distinct and in range whatever the logits are; a row with a NaN gets NaN weights. Args after step: logits
// f32[rows][Stride], bias f32[Experts], idx u32[rows][TopK], w f32[rows][TopK].
type RouteSigmoid struct {
	Experts int // 1 to MaxExperts
	TopK    int // 1 to MaxTopK
	Rows    int // 1 to MaxRows
	Stride  int
	Groups  int // divides Experts into groups of at least two; 0 and 1 for none
	Keep    int // 1 to Groups
	Norm    bool
	Scale   float32
}

// Launch returns the dispatch: a simdgroup a row.
func (r RouteSigmoid) Launch() (Launch, error) {
	const op = "route_sigmoid"
	if err := checkRoute(op, r.Experts, r.TopK, r.Rows); err != nil {
		return Launch{}, err
	}
	if err := checkStride(op, r.Stride, r.Experts); err != nil {
		return Launch{}, err
	}
	if r.Groups <= 1 {
		r.Groups, r.Keep = 1, 1
	}
	size := r.Experts / r.Groups
	switch {
	case r.Groups > 1 && (r.Experts%r.Groups != 0 || size < 2):
		return Launch{}, unsupported(op, "%d experts in %d groups", r.Experts, r.Groups)
	case r.Keep < 1 || r.Keep > r.Groups:
		return Launch{}, unsupported(op, "%d groups of %d", r.Keep, r.Groups)
	case !(r.Scale > 0):
		return Launch{}, unsupported(op, "scale %v", r.Scale)
	}
	capacity := routeCapacity(r.Experts)
	groups := min(r.Rows, routeGroups)
	p := RouteSigmoidParams{
		Experts: uint32(r.Experts), TopK: uint32(r.TopK), Stride: uint32(r.Stride), Groups: uint32(r.Groups),
		Keep: uint32(r.Keep), Norm: flag(r.Norm && r.TopK > 1), Scale: r.Scale,
	}
	grid := [3]uint32{ceilDiv(r.Rows, groups), 1, 1}
	return moeLaunch(routeSigmoidKernel(capacity), p, grid, uint32(groups), rowLimit(0, groups)), nil
}

func routeSigmoidKernel(capacity int) Kernel {
	return Kernel{
		Name: fmt.Sprintf("route_sigmoid_e%d", capacity), File: "route_sigmoid.metal", Params: RouteSigmoidParams{},
		Args: []Arg{{StepArg, Read}, {"logits", Read}, {"bias", Read}, {"idx", Write}, {"w", Write}},
	}
}
