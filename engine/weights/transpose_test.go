package weights

import (
	"bufio"
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestTransposeInBands cuts experts into bands of any width: the bytes do not depend on it.
func TestTransposeInBands(t *testing.T) {
	const experts, rows, cols = 2, 16, 192
	turned := func(name string, codes bool, rowSize, band int64) []byte {
		c := open(t, directory(modelFiles([]raw{
			random("x.weight", U32, experts, rows, cols/8), random("x.scales", BF16, experts, rows, cols/Group),
			random("y", BF16, 1), random("z", BF16, 1),
		})))
		tensor, err := c.Tensor(name)
		if err != nil {
			t.Fatal(err)
		}
		out := &bytes.Buffer{}
		b := builder{ctx: t.Context(), file: bufio.NewWriter(out), band: band}
		if err := b.transpose(part{tensor, rows, rowSize}, experts, codes); err != nil {
			t.Fatal(err)
		}
		if err := b.file.Flush(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	for _, s := range []struct {
		name    string
		codes   bool
		rowSize int64
	}{{"x.weight", true, cols / 2}, {"x.scales", false, cols / Group * 2}} {
		want := turned(s.name, s.codes, s.rowSize, bandBytes)
		for _, band := range []int64{1, 70, 300, 700, 1100} {
			if got := turned(s.name, s.codes, s.rowSize, band); !bytes.Equal(got, want) {
				t.Errorf("%s: bands of %d bytes give other bytes", s.name, band)
			}
		}
	}
}

func BenchmarkTurnCodes(b *testing.B) {
	const rows, words = 2688, 232 // one expert of the published Nemotron
	from, to := make([]byte, 4*rows*words), make([]byte, 4*rows*words)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range from {
		from[i] = byte(r.Uint32())
	}
	b.SetBytes(int64(len(from)))
	for b.Loop() {
		turnCodes(to, from, rows, words)
	}
}
