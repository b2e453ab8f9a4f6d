package weights

import (
	"fmt"
	"slices"
)

// ShapeError reports a tensor whose shape or dtype is not the one that the recipe needs.
type ShapeError struct {
	Name, File string
	Dtype      Dtype
	Shape      []int64
	WantDtype  string // "BF16 or F32"
	WantShape  []int64
}

func (e *ShapeError) Error() string {
	if !slices.Equal(e.Shape, e.WantShape) {
		return fmt.Sprintf("%s: tensor %q: shape %v, want %v", e.File, e.Name, e.Shape, e.WantShape)
	}
	return fmt.Sprintf("%s: tensor %q: dtype %s, want %s", e.File, e.Name, e.Dtype, e.WantDtype)
}

// Check compares the tensors that a layout takes with what its recipe says of them. The error wraps a
// *MissingTensorError or a *ShapeError.
func (c *Checkpoint) Check(l *Layout) error {
	for i := range l.entries {
		for s := range l.entries[i].streams() {
			if _, err := c.parts(&l.entries[i].Item, s); err != nil {
				return fmt.Errorf("weights of %q: %w", l.entries[i].Name, err)
			}
		}
	}
	return nil
}

// part is what one source gives to a stream.
type part struct {
	tensor  *Tensor
	rows    int64 // of one expert
	rowSize int64 // bytes of a row in the checkpoint
}

// parts finds and checks the tensors of stream s of an item.
func (c *Checkpoint) parts(it *Item, s int) ([]part, error) {
	st := it.streams()[s]
	list := make([]part, len(it.Sources))
	for i, src := range it.Sources {
		t, err := c.Tensor(src.Name + st.suffix)
		if err != nil {
			return nil, err
		}
		want := []int64{int64(src.Rows), int64(st.width)}
		if it.Experts > 0 {
			want = append([]int64{int64(it.Experts)}, want...)
		}
		got := t.Shape
		if it.Format == Vector {
			got, want = squeeze(got), squeeze(want)
		}
		dtypes := []Dtype{st.dtype}
		if it.Format == Vector || it.Format == B16 {
			dtypes = []Dtype{BF16, F32}
		}
		if !slices.Equal(got, want) || !slices.Contains(dtypes, t.Dtype) {
			wantDtype := string(dtypes[0])
			if len(dtypes) > 1 {
				wantDtype += " or " + string(dtypes[1])
			}
			return nil, &ShapeError{t.Name, t.File, t.Dtype, got, wantDtype, want}
		}
		list[i] = part{tensor: t, rows: int64(src.Rows), rowSize: int64(st.width) * t.Dtype.Size()}
	}
	return list, nil
}

// squeeze drops dimensions of 1.
func squeeze(shape []int64) []int64 {
	return slices.DeleteFunc(slices.Clone(shape), func(n int64) bool { return n == 1 })
}
