package weights

import (
	"errors"
	"fmt"
	"math/bits"
)

// Group is the number of inputs that share one scale and one bias in Q4 and Q8.
const Group = 64

// Format is how an item is stored in the pack. The first three have the values of the kernels' weight formats.
type Format uint8

// Formats of an item. R is the rows in all, K the inputs; every stream is row-major without gaps and starts at
// a multiple of [StreamAlign] bytes. With experts every stream has a leading [E].
//
//	Q4      codes u32 [E][R][K/8], element j of a row is (word[j/8] >> 4*(j%8)) & 15;
//	        scales bf16 [E][R][K/64], biases bf16 [E][R][K/64]; w = scale*code + bias
//	Q8      codes u32 [E][R][K/4], element j of a row is (word[j/4] >> 8*(j%4)) & 255; the rest as Q4
//	B16     codes bf16 [E][R][K], no other stream
//	Vector  codes [E][R][K] of Item.Dtype (bf16 or f32), no other stream
//	NM      Q4 in the checkpoint, but by input here (a neuron's weights lie together): codes u32 [E][K][R/8], element
//	        r of an input is (word[r/8] >> 4*(r%8)) & 15; scales and biases bf16 [E][K/64][R]; R a multiple of 8
//	NM20    NM with four bits q in place of a scale, u32 [E][K/64][R/8] packed as codes are: the scale is
//	        bf16(bias / -(q+7)), bit for bit; see [Compact]
//
// Everything is little endian.
const (
	Q4 Format = iota
	Q8
	B16
	Vector
	NM
	NM20
)

// String is the name of the format.
func (f Format) String() string {
	if f > NM20 {
		return fmt.Sprintf("format %d", uint8(f))
	}
	return [...]string{"q4", "q8", "b16", "vector", "nm", "nm20"}[f]
}

// Bits is the width of a code, 0 for formats without codes.
func (f Format) Bits() int {
	switch f {
	case Q4, NM, NM20:
		return 4
	case Q8:
		return 8
	default:
		return 0
	}
}

// byInput tells whether a matrix is transposed in the pack.
func (f Format) byInput() bool { return f == NM || f == NM20 }

// Recipe lists what a pack holds, in the order of the file.
type Recipe struct {
	Items []Item
}

// Item is one matrix or vector of the pack, stacked from one or more tensors of the checkpoint.
type Item struct {
	Name    string   // unique in the recipe, such as "layers.3.attn.in"
	Sources []Source // at least one
	// Interleave says how the rows of the sources follow each other: false: all rows of the first, then all of
	// the second; true: row 0 of each source in turn, then row 1 (gate beside up); their row counts are equal.
	Interleave bool
	Experts    int    // 0: plain; E > 0: every source has a leading [E], and each expert is stacked by itself
	Rows       int    // rows in all (of one expert): the sum over the sources
	Cols       int    // inputs of a row; a multiple of 64 for Q4 and Q8; 1 for a 1-D vector
	Format     Format // of every source: a quantised tensor is never converted
	// Dtype of a Vector in the pack: BF16 or F32. The source may be either; F32 is rounded to BF16 to nearest
	// even. The other formats leave it empty; a B16 source may be F32 too and is rounded in the same way.
	Dtype Dtype
}

// Source is one tensor (or one .weight, .scales, .biases triple) of the checkpoint.
type Source struct {
	// Name is the module path for matrices, without ".weight"; for Vector the whole tensor name. The shape in the
	// checkpoint is [E][Rows][Cols] (E as Item.Experts says, Cols*bits/32 words for codes and Cols/64 for scales
	// and biases); for Vector dimensions of 1 do not count, so that [C,4,1] is Rows C, Cols 4.
	Name string
	Rows int
}

// stream is the part of an item that one kind of tensor fills.
type stream struct {
	suffix string // of the tensor's name
	dtype  Dtype  // in the pack
	width  int    // elements a row
}

// streams lists the parts of a valid item as the checkpoint has them: codes, then scales and biases if the format has
// them.
func (it *Item) streams() []stream {
	switch it.Format {
	case Q4, Q8, NM, NM20:
		groups := it.Cols / Group
		return []stream{
			{".weight", U32, it.Cols / 32 * it.Format.Bits()},
			{".scales", BF16, groups},
			{".biases", BF16, groups},
		}
	case B16:
		return []stream{{".weight", BF16, it.Cols}}
	default:
		return []stream{{"", it.Dtype, it.Cols}}
	}
}

// check validates what needs no checkpoint.
func (it *Item) check() error {
	switch {
	case it.Name == "":
		return errors.New("no name")
	case it.Format > NM20:
		return fmt.Errorf("unknown %v", it.Format)
	case it.Rows <= 0 || it.Cols <= 0 || it.Experts < 0:
		return fmt.Errorf("%d experts, %d rows, %d inputs", it.Experts, it.Rows, it.Cols)
	case it.Format.Bits() > 0 && it.Cols%Group != 0:
		return fmt.Errorf("%d inputs are not a multiple of %d", it.Cols, Group)
	case it.Format.byInput() && (it.Rows%8 != 0 || len(it.Sources) > 1):
		return fmt.Errorf("%d rows of %d sources cannot be stored by input", it.Rows, len(it.Sources))
	}
	if err := it.checkDtype(); err != nil {
		return err
	}
	return it.checkSources()
}

// checkDtype allows a dtype for vectors only.
func (it *Item) checkDtype() error {
	switch {
	case it.Format == Vector && it.Dtype != BF16 && it.Dtype != F32:
		return fmt.Errorf("dtype %q, want %s or %s", it.Dtype, BF16, F32)
	case it.Format != Vector && it.Dtype != "":
		return fmt.Errorf("dtype %q is set on a matrix", it.Dtype)
	}
	return nil
}

// checkSources compares the rows of the sources with those of the item.
func (it *Item) checkSources() error {
	if len(it.Sources) == 0 {
		return errors.New("no sources")
	}
	left := it.Rows
	for _, s := range it.Sources {
		if s.Name == "" || s.Rows <= 0 || s.Rows > left {
			return fmt.Errorf("source %q: %d rows where %d are left", s.Name, s.Rows, left)
		}
		if it.Interleave && s.Rows != it.Sources[0].Rows {
			return fmt.Errorf("source %q: %d rows to interleave with %d", s.Name, s.Rows, it.Sources[0].Rows)
		}
		left -= s.Rows
	}
	if left != 0 {
		return fmt.Errorf("sources have %d rows, want %d", it.Rows-left, it.Rows)
	}
	return nil
}

// product multiplies non-negative factors; ok is false when the result exceeds an int64.
func product(factors ...int64) (p int64, ok bool) {
	u := uint64(1)
	for _, f := range factors {
		hi, lo := bits.Mul64(u, uint64(f))
		if f < 0 || hi != 0 || lo > 1<<63-1 {
			return 0, false
		}
		u = lo
	}
	return int64(u), true
}
