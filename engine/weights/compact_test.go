package weights

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// quantised makes scales and biases as the quantiser of mlx does (MLX, affine_quantize): the edge of a group with the
// larger magnitude is its bias, and the scale is that edge divided by a whole number of steps. Weights are bf16.
func quantised(r *rand.Rand, groups int) (scales, biases []byte) {
	for range groups {
		lo, hi := float32(math.Inf(1)), float32(math.Inf(-1))
		for range Group {
			w := math.Float32frombits(uint32(roundBF16(math.Float32bits(float32(r.NormFloat64()*0.02)))) << 16)
			lo, hi = min(lo, w), max(hi, w)
		}
		scale, edge := max((hi-lo)/15, 1e-7), hi
		if -lo > hi {
			edge = lo
		} else {
			scale = -scale
		}
		scale = edge / float32(math.Round(float64(edge/scale)))
		scales = binary.LittleEndian.AppendUint16(scales, roundBF16(math.Float32bits(scale)))
		biases = binary.LittleEndian.AppendUint16(biases, roundBF16(math.Float32bits(edge)))
	}
	return scales, biases
}

// withMetadata are the tensors of NM items: "good" as mlx makes it, "bad" the same with one scale that is a bit off.
func withMetadata() (tensors []raw, r Recipe) {
	const experts, rows, cols = 3, 24, 192
	rng := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"good", "bad"} {
		scales, biases := quantised(rng, experts*rows*cols/Group)
		if name == "bad" {
			scales[2*100] ^= 1
		}
		tensors = append(tensors, random(name+".weight", U32, experts, rows, cols/8),
			raw{name + ".scales", BF16, []int64{experts, rows, cols / Group}, scales},
			raw{name + ".biases", BF16, []int64{experts, rows, cols / Group}, biases})
		r.Items = append(r.Items, Item{
			Name: name, Sources: []Source{{name, rows}}, Experts: experts, Rows: rows, Cols: cols, Format: NM,
		})
	}
	return append(tensors, random("x", BF16, 3), random("y", BF16, 3)), r
}

func TestEnsureCompact(t *testing.T) {
	tensors, r := withMetadata()
	b := &bench{
		t: t, files: modelFiles(tensors), recipe: r, dir: filepath.Join(t.TempDir(), "model"), kept: newMemory(),
	}
	for _, stages := range [][]Stage{{Surveying, Packing, Verifying}, nil} { // the second time nothing is read
		p, err := b.ensure(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(b.stages, stages) {
			t.Errorf("stages %v, want %v", b.stages, stages)
		}
		var formats []Format
		for _, e := range p.Layout().Entries() {
			formats = append(formats, e.Format)
		}
		if want := []Format{NM20, NM}; !slices.Equal(formats, want) {
			t.Errorf("formats %v, want %v", formats, want)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	b.change(func(data []byte) []byte { data[len(data)/3] ^= 1; return data })
	if _, err := b.ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []Stage{Verifying, Surveying, Packing, Verifying}; !slices.Equal(b.stages, want) {
		t.Errorf("a damaged pack: stages %v, want %v", b.stages, want)
	}
}

// TestCompactIsExact rebuilds the scales of an NM20 pack, which must be those of the plain pack in every bit.
func TestCompactIsExact(t *testing.T) {
	tensors, r := withMetadata()
	c := open(t, directory(modelFiles(tensors)))
	compact, err := Compact(t.Context(), c, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	packed := func(r Recipe) (Entry, []byte) {
		path, l := filepath.Join(t.TempDir(), "pack"), plan(t, r)
		m, err := Build(t.Context(), c, l, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Open(path, l, m, c.Source())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		e, _ := l.Lookup("good")
		return e, p.Bytes()
	}
	one, plain := packed(r)
	two, small := packed(compact)
	at := func(data []byte, x Extent) []byte { return data[x.Offset:][:x.Length] }
	for name, x := range map[string][2]Extent{"codes": {one.Codes, two.Codes}, "biases": {one.Biases, two.Biases}} {
		if got, want := at(small, x[1]), at(plain, x[0]); !slices.Equal(got, want) {
			t.Errorf("%s differ", name)
		}
	}
	if one.Scales.Length != 4*two.Scales.Length {
		t.Errorf("%d bytes of scales became %d", one.Scales.Length, two.Scales.Length)
	}
	scales, biases, quotients := at(plain, one.Scales), at(small, two.Biases), at(small, two.Scales)
	for i := range len(scales) / 2 {
		q := code(quotients, 0, i)
		bias := math.Float32frombits(uint32(binary.LittleEndian.Uint16(biases[2*i:])) << 16)
		got, want := roundBF16(math.Float32bits(bias/-float32(q+7))), binary.LittleEndian.Uint16(scales[2*i:])
		if got != want {
			t.Fatalf("scale %d: %04x, want %04x", i, got, want)
		}
	}
}

func TestQuotient(t *testing.T) {
	half := func(f float32) uint16 { return roundBF16(math.Float32bits(f)) }
	nan := float32(math.NaN())
	for _, tt := range []struct {
		scale, bias float32
		q           int // -1: none
	}{
		{1, -7, 0},
		{1, -8, 1},
		{-1, 8, 1},
		{1, -15, 8},
		{1, -22, 15},
		{1, -23, -1},
		{1, -6, -1},
		{1, 8, -1},
		{0, 0, -1},
		{1, 0, -1},
		{0, -1, -1},
		{nan, -8, -1},
		{1, nan, -1},
		{1, float32(math.Inf(-1)), -1},
		{1.0078125, -8, -1}, // one bit off
		{1e-38, -7e-38, -1}, // too small a scale
		// Rounded up from a quotient that is in the middle, and too small for kernels to hit it.
		{-0x1p-126, 0x1.fep-124, -1},
		{0x1p-126, -0x1.fep-123, -1},
		{0x1.02p-126, -0x1.02p-123, 1},
	} {
		t.Run(fmt.Sprint(tt.scale, " ", tt.bias), func(t *testing.T) {
			q, ok := quotient(half(tt.scale), half(tt.bias))
			if ok != (tt.q >= 0) || ok && int(q) != tt.q {
				t.Errorf("got %d, %v, want %d", q, ok, tt.q)
			}
		})
	}
}

func TestCompactFails(t *testing.T) {
	tensors, r := withMetadata()
	c := open(t, directory(modelFiles(tensors)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Compact(ctx, c, r, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	forced := Recipe{Items: slices.Clone(r.Items)}
	forced.Items[1].Format = NM20
	path := filepath.Join(t.TempDir(), "pack")
	_, err := Build(t.Context(), c, plan(t, forced), path, nil)
	wantParts(t, err, `item "bad"`, "cannot be rebuilt from bias")
	other := Recipe{Items: []Item{{
		Name: "odd", Sources: []Source{{"good", 20}}, Experts: 3, Rows: 20, Cols: 192, Format: NM,
	}}}
	_, err = Plan(other)
	wantParts(t, err, `item "odd"`, "20 rows of 1 sources cannot be stored by input")
}

// TestSpaceBeforeSurvey packs more than any disk holds: that is told before a byte of it is read.
func TestSpaceBeforeSurvey(t *testing.T) {
	const rows, cols = 1 << 20, 1 << 22
	dir := t.TempDir()
	head := fmt.Sprintf(`{"m.weight":{"dtype":"U32","shape":[%d,%d],"data_offsets":[0,%d]},`+
		`"m.scales":{"dtype":"BF16","shape":[%d,%d],"data_offsets":[%d,%d]},`+
		`"m.biases":{"dtype":"BF16","shape":[%d,%d],"data_offsets":[%d,%d]}}`,
		rows, cols/8, rows*cols/2, rows, cols/Group, rows*cols/2, rows*cols/2+rows*cols/32,
		rows, cols/Group, rows*cols/2+rows*cols/32, rows*cols/2+rows*cols/16)
	name := filepath.Join(dir, "model.safetensors")
	raw := append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...)
	if err := os.WriteFile(name, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, int64(len(raw))+rows*cols/2+rows*cols/16); err != nil {
		t.Skipf("no sparse file of this size: %v", err)
	}
	c, err := OpenCheckpoint(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	packs := filepath.Join(t.TempDir(), "packs")
	recipe := Recipe{Items: []Item{{
		Name: "m", Sources: []Source{{"m", rows}}, Rows: rows, Cols: cols, Format: NM,
	}}}
	var full *SpaceError
	_, err = Ensure(t.Context(), c, recipe, packs, newMemory(), func(p Progress) { t.Fatalf("%s", p.Stage) })
	if !errors.As(err, &full) {
		t.Errorf("%v, want a *SpaceError", err)
	}
	if names := left(t, packs); len(names) > 0 {
		t.Errorf("%v is left", names)
	}
}
