package kernels

import "fmt"

// Geometry of the head: a threadgroup makes headTile logits and one (max, id) pair.
const (
	headSimdgroups = 8
	headTile       = 256
)

// HeadParams is buffer 0 of head_*.
type HeadParams struct {
	N uint32 // vocabulary
	K uint32 // inputs
}

// Head makes the logits of one row, and for every headTile of them the greatest with the lowest id: logits[n] =
// sum_k x[k] * w[n][k]. Buffers after step: x T[K], codes, scales, biases (the last two absent for B16),
// logits f32[N], part (f32 value, u32 id)[Parts()]. The value of a part is NaN when one of its logits is.
type Head struct {
	Format Format
	DType  DType
	N, K   int
}

// Parts is the number of pairs in part.
func (h Head) Parts() int { return int(ceilDiv(h.N, headTile)) }

// Launch is the dispatch of h.
func (h Head) Launch() (Launch, error) {
	if err := checkMatrix("head", h.Format, h.DType, h.N, h.K); err != nil {
		return Launch{}, err
	}
	k := headKernel(h.Format, h.DType)
	return Launch{
		Kernel: &k, Params: pack(HeadParams{N: uint32(h.N), K: uint32(h.K)}),
		Grid: [3]uint32{uint32(h.Parts()), 1, 1}, Simdgroups: headSimdgroups,
	}, nil
}

func headKernel(f Format, d DType) Kernel {
	return Kernel{
		Name: fmt.Sprintf("head_%v_%v", f, d), File: "head.metal", Params: HeadParams{},
		Args: matrixArgs(f, Arg{"logits", Write}, Arg{"part", Write}),
	}
}

// headKernels is this family's part of the catalogue.
func headKernels() []Kernel {
	var list []Kernel
	for _, f := range []Format{Q4, Q8, B16} {
		for _, d := range []DType{BF16, F32} {
			list = append(list, headKernel(f, d))
		}
	}
	return list
}
