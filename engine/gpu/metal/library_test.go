package metal

import (
	"errors"
	"io/fs"
	"testing"

	"sotto/kernels"
)

func TestSourceMissing(t *testing.T) {
	_, err := sourceTexts([]kernels.Kernel{{Name: "k", File: "none.metal"}})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want %v", err, fs.ErrNotExist)
	}
}
