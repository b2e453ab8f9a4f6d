package weights

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// modelTensors are sources for [modelRecipe]: every format, dtype and way of stacking. Some are longer than a
// chunk of the writer.
func modelTensors() []raw {
	quant := func(name string, bits int64, shape ...int64) []raw {
		lead, cols := shape[:len(shape)-1], shape[len(shape)-1]
		return []raw{
			random(name+".weight", U32, append(slices.Clone(lead), cols*bits/32)...),
			random(name+".scales", BF16, append(slices.Clone(lead), cols/Group)...),
			random(name+".biases", BF16, append(slices.Clone(lead), cols/Group)...),
		}
	}
	return slices.Concat(
		quant("q", 4, 5, 128), quant("k", 4, 3, 128), quant("v", 4, 1, 128),
		quant("gate", 4, 7, 64), quant("up", 4, 7, 64),
		quant("experts.gate", 4, 3, 5, 64), quant("experts.up", 4, 3, 5, 64), quant("experts.down", 8, 3, 5, 64),
		quant("neurons", 4, 3, 24, 128), quant("wide", 4, 40, 1856),
		quant("router", 8, 4, 192), quant("router1", 8, 1, 192),
		quant("long", 8, 1500, 1024), quant("long2", 8, 1500, 1024),
		[]raw{
			random("plain.weight", BF16, 6, 10), random("plain32.weight", F32, 2, 10),
			random("each.weight", F32, 2, 3, 4), random("each2.weight", BF16, 2, 3, 4),
			random("conv.weight", BF16, 9, 4, 1), random("norm", BF16, 300), random("A_log", F32, 11),
			random("dt_bias", BF16, 11), random("one", F32, 1),
		},
	)
}

func modelRecipe() Recipe {
	return Recipe{Items: []Item{
		{Name: "qkv", Sources: []Source{{"q", 5}, {"k", 3}, {"v", 1}}, Rows: 9, Cols: 128, Format: Q4},
		{Name: "gate up", Sources: []Source{{"gate", 7}, {"up", 7}}, Interleave: true, Rows: 14, Cols: 64, Format: Q4},
		{
			Name: "expert gate up", Sources: []Source{{"experts.gate", 5}, {"experts.up", 5}},
			Interleave: true, Experts: 3, Rows: 10, Cols: 64, Format: Q4,
		},
		{
			Name: "expert stack", Sources: []Source{{"experts.gate", 5}, {"experts.up", 5}},
			Experts: 3, Rows: 10, Cols: 64, Format: Q4,
		},
		{Name: "expert down", Sources: []Source{{"experts.down", 5}}, Experts: 3, Rows: 5, Cols: 64, Format: Q8},
		{Name: "router", Sources: []Source{{"router", 4}, {"router1", 1}}, Rows: 5, Cols: 192, Format: Q8},
		{
			Name: "long", Sources: []Source{{"long", 1500}, {"long2", 1500}},
			Interleave: true, Rows: 3000, Cols: 1024, Format: Q8,
		},
		{Name: "long again", Sources: []Source{{"long2", 1500}}, Rows: 1500, Cols: 1024, Format: Q8},
		{Name: "plain", Sources: []Source{{"plain", 6}, {"plain32", 2}}, Rows: 8, Cols: 10, Format: B16},
		{
			Name: "each", Sources: []Source{{"each", 3}, {"each2", 3}}, Interleave: true,
			Experts: 2, Rows: 6, Cols: 4, Format: B16,
		},
		{Name: "conv", Sources: []Source{{"conv.weight", 9}}, Rows: 9, Cols: 4, Format: Vector, Dtype: BF16},
		{Name: "norm", Sources: []Source{{"norm", 300}}, Rows: 300, Cols: 1, Format: Vector, Dtype: F32},
		{Name: "norm row", Sources: []Source{{"norm", 1}}, Rows: 1, Cols: 300, Format: Vector, Dtype: BF16},
		{
			Name: "decay", Sources: []Source{{"A_log", 11}, {"dt_bias", 11}},
			Rows: 22, Cols: 1, Format: Vector, Dtype: F32,
		},
		{Name: "decay16", Sources: []Source{{"A_log", 11}}, Rows: 11, Cols: 1, Format: Vector, Dtype: BF16},
		{Name: "one", Sources: []Source{{"one", 1}}, Rows: 1, Cols: 1, Format: Vector, Dtype: F32},
		{Name: "neurons", Sources: []Source{{"neurons", 24}}, Experts: 3, Rows: 24, Cols: 128, Format: NM},
		{Name: "wide", Sources: []Source{{"wide", 40}}, Rows: 40, Cols: 1856, Format: NM},
	}}
}

// modelFiles spreads the tensors over shards whose data start at odd addresses.
func modelFiles(tensors []raw) map[string][]byte {
	n := len(tensors)
	return map[string][]byte{
		"config.json":                      []byte(`{"model_type":"test"}`),
		"model-00001-of-00003.safetensors": file(1, tensors[:n/3]...),
		"model-00002-of-00003.safetensors": file(3, tensors[n/3:n/2]...),
		"model-00003-of-00003.safetensors": file(2, tensors[n/2:]...),
	}
}

// oracle says what a row of an item must be, element by element, from the doc comments alone.
type oracle map[string]raw

func (o oracle) row(it Item, suffix string, expert, row int) (raw, int64) {
	s, r := 0, row
	if it.Interleave {
		s, r = row%len(it.Sources), row/len(it.Sources)
	} else {
		for r >= it.Sources[s].Rows {
			r -= it.Sources[s].Rows
			s++
		}
	}
	return o[it.Sources[s].Name+suffix], int64(expert*it.Sources[s].Rows + r)
}

// element is the value of element i of a tensor as an F32, or the word itself.
func (r raw) element(i int64) float64 {
	switch r.dtype {
	case BF16:
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(r.data[2*i:])) << 16))
	case F32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(r.data[4*i:])))
	default:
		return float64(binary.LittleEndian.Uint32(r.data[4*i:]))
	}
}

// compare checks one stream of an item; to is its dtype in the pack, width its elements a row.
func (o oracle) compare(t *testing.T, e Entry, suffix string, to Dtype, width int64, pack []byte) {
	t.Helper()
	got := raw{dtype: to, data: pack}
	for expert := range max(e.Experts, 1) {
		for row := range e.Rows {
			from, r := o.row(e.Item, suffix, expert, row)
			at := (int64(expert)*int64(e.Rows) + int64(row)) * width
			for i := range width {
				g, w := got.element(at+i), from.element(r*width+i)
				// A rounded value lies within half of the last of 8 bits.
				if g != w && (from.dtype == to || to != BF16 || math.Abs(g-w) > math.Abs(w)/256) {
					t.Fatalf("%q%s: expert %d, row %d, element %d = %v, want %v", e.Name, suffix, expert, row, i, g, w)
				}
			}
		}
	}
}

func (o oracle) compareAll(t *testing.T, l *Layout, pack []byte) {
	t.Helper()
	at := func(x Extent) []byte { return pack[x.Offset:][:x.Length] }
	for _, e := range l.Entries() {
		switch e.Format {
		case Q4, Q8:
			o.compare(t, e, ".weight", U32, int64(e.Cols*e.Format.Bits()/32), at(e.Codes))
			o.compare(t, e, ".scales", BF16, int64(e.Cols/Group), at(e.Scales))
			o.compare(t, e, ".biases", BF16, int64(e.Cols/Group), at(e.Biases))
		case B16:
			o.compare(t, e, ".weight", BF16, int64(e.Cols), at(e.Codes))
		case NM, NM20:
			if e.Format == NM20 {
				t.Fatalf("%q is more compact than these tests know", e.Name)
			}
			o.compareTurned(t, e, at(e.Codes), at(e.Scales), at(e.Biases))
		case Vector:
			o.compare(t, e, "", e.Dtype, int64(e.Cols), at(e.Codes))
		}
	}
}

// code is element i of a row of 4-bit codes that starts at word at.
func code(words []byte, at, i int) uint32 {
	return binary.LittleEndian.Uint32(words[4*(at+i/8):]) >> (4 * (i % 8)) & 15
}

// compareTurned checks an item that is stored by input, code by code and group by group.
func (o oracle) compareTurned(t *testing.T, e Entry, codes, scales, biases []byte) {
	t.Helper()
	name, groups := e.Sources[0].Name, e.Cols/Group
	from := o[name+".weight"].data
	half := func(b []byte, i int) uint16 { return binary.LittleEndian.Uint16(b[2*i:]) }
	for expert := range max(e.Experts, 1) {
		for row := range e.Rows {
			for in := range e.Cols {
				want := code(from, (expert*e.Rows+row)*e.Cols/8, in)
				got := code(codes, (expert*e.Cols+in)*e.Rows/8, row)
				if got != want {
					t.Fatalf("%q: expert %d, row %d, input %d: code %d, want %d", e.Name, expert, row, in, got, want)
				}
			}
			for g := range groups {
				src, dst := (expert*e.Rows+row)*groups+g, (expert*groups+g)*e.Rows+row
				if got, want := half(scales, dst), half(o[name+".scales"].data, src); got != want {
					t.Fatalf("%q: expert %d, row %d, group %d: scale %04x, want %04x",
						e.Name, expert, row, g, got, want)
				}
				if got, want := half(biases, dst), half(o[name+".biases"].data, src); got != want {
					t.Fatalf("%q: expert %d, row %d, group %d: bias %04x, want %04x", e.Name, expert, row, g, got, want)
				}
			}
		}
	}
}

func plan(t *testing.T, r Recipe) *Layout {
	t.Helper()
	l, err := Plan(r)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestBuildWritesEveryItem(t *testing.T) {
	tensors := modelTensors()
	o := oracle{}
	for _, x := range tensors {
		o[x.name] = x
	}
	l := plan(t, modelRecipe())
	for name, files := range map[string]map[string][]byte{
		"shards":   modelFiles(tensors),
		"one file": {"model.safetensors": file(1, tensors...)},
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, directory(files))
			path := filepath.Join(t.TempDir(), "test.pack")
			var last Progress
			m, err := Build(t.Context(), c, l, path, func(p Progress) {
				if p.Stage != Packing || p.Done < last.Done || p.Done > p.Total {
					t.Errorf("progress %v after %v", p, last)
				}
				last = p
			})
			if err != nil {
				t.Fatal(err)
			}
			if last.Done != last.Total || last.Total == 0 {
				t.Errorf("progress ends with %v", last)
			}
			p, err := Open(path, l, m, c.Source())
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			o.compareAll(t, p.Layout(), p.Bytes())
			if err := p.Verify(t.Context(), nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// left lists the files of a folder.
func left(t *testing.T, dir string) []string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}

func TestCancelledBuildLeavesNothing(t *testing.T) {
	c := open(t, directory(modelFiles(modelTensors())))
	l := plan(t, modelRecipe())
	why := errors.New("changed my mind")
	for i, e := range l.Entries() {
		before := int64(0)
		for _, x := range l.Entries()[:i] {
			before += x.bytes()
		}
		dir := t.TempDir()
		ctx, cancel := context.WithCancelCause(t.Context())
		_, err := Build(ctx, c, l, filepath.Join(dir, "test.pack"), func(p Progress) {
			if p.Done >= before {
				cancel(why)
			}
		})
		if !errors.Is(err, why) {
			t.Errorf("cancelled at %q: %v, want %v", e.Name, err, why)
		}
		if names := left(t, dir); len(names) > 0 {
			t.Errorf("cancelled at %q: %v is left", e.Name, names)
		}
	}
}

func TestCancelledBuildKeepsTheOldPack(t *testing.T) {
	c := open(t, directory(modelFiles(modelTensors())))
	path := filepath.Join(t.TempDir(), "test.pack")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Build(ctx, c, plan(t, modelRecipe()), path, func(p Progress) {
		if p.Done == p.Total {
			cancel()
		}
	})
	if got, _ := os.ReadFile(path); string(got) != "old" || !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v, want the old pack and %v", got, err, context.Canceled)
	}
}

// failing is a file system whose files cannot be read from an offset on, once armed.
type failing struct {
	fs.FS
	from int64
}

var errDisk = errors.New("disk on fire")

func (f *failing) Open(name string) (fs.File, error) {
	inner, err := f.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if _, ok := inner.(fs.ReadDirFile); ok {
		return inner, nil
	}
	return failingFile{inner, f}, nil
}

type failingFile struct {
	fs.File
	in *failing
}

func (f failingFile) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.in.from {
		return 0, errDisk
	}
	return f.File.(interface {
		ReadAt(p []byte, off int64) (int, error)
	}).ReadAt(p, off)
}

func TestFailedReadLeavesNothing(t *testing.T) {
	fsys := &failing{directory(modelFiles(modelTensors())), math.MaxInt64}
	c := open(t, fsys)
	fsys.from = 10_000
	dir := t.TempDir()
	_, err := Build(t.Context(), c, plan(t, modelRecipe()), filepath.Join(dir, "test.pack"), nil)
	if !errors.Is(err, errDisk) {
		t.Errorf("%v, want %v", err, errDisk)
	}
	wantParts(t, err, "test.pack", "item ", ".safetensors: tensor ")
	if names := left(t, dir); len(names) > 0 {
		t.Errorf("%v is left", names)
	}
}

func TestBuildChecksShapesFirst(t *testing.T) {
	l := plan(t, modelRecipe())
	change := func(name string, dtype Dtype, shape ...int64) fs.FS {
		tensors := modelTensors()
		for i, x := range tensors {
			if x.name == name {
				tensors[i] = random(name, dtype, shape...)
			}
		}
		return directory(modelFiles(tensors))
	}
	fewer := slices.DeleteFunc(modelTensors(), func(x raw) bool { return x.name == "up.biases" })
	cases := []struct {
		name string
		fsys fs.FS
		want string
	}{
		{"fewer inputs", change("k.weight", U32, 3, 8), `"k.weight": shape [3 8], want [3 16]`},
		{"eight bits", change("q.weight", U32, 5, 32), `"q.weight": shape [5 32], want [5 16]`},
		{"other groups", change("q.scales", BF16, 5, 4), `"q.scales": shape [5 4], want [5 2]`},
		{"experts", change("experts.up.biases", BF16, 2, 5, 1), `"experts.up.biases": shape [2 5 1], want [3 5 1]`},
		{"scale dtype", change("q.scales", F16, 5, 2), `"q.scales": dtype F16, want BF16`},
		{"vector dtype", change("norm", F16, 300), `"norm": dtype F16, want BF16 or F32`},
		{"vector shape", change("conv.weight", BF16, 4, 9, 1), `"conv.weight": shape [4 9], want [9 4]`},
		{"missing", directory(modelFiles(fewer)), `tensor "up.biases" is missing`},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			dir := t.TempDir()
			_, err := Build(t.Context(), open(t, k.fsys), l, filepath.Join(dir, "test.pack"), nil)
			wantParts(t, err, k.want)
			var shape *ShapeError
			var missing *MissingTensorError
			if !errors.As(err, &shape) && !errors.As(err, &missing) {
				t.Errorf("%v has no type", err)
			}
			if names := left(t, dir); len(names) > 0 {
				t.Errorf("%v is left", names)
			}
		})
	}
}

func TestSpace(t *testing.T) {
	dir := t.TempDir()
	if err := checkSpace(dir, 1); err != nil {
		t.Error(err)
	}
	var full *SpaceError
	err := checkSpace(dir, 1<<60)
	if !errors.As(err, &full) || full.Need != 1<<60 || full.Free <= 0 {
		t.Errorf("%v, want a *SpaceError", err)
	}
	wantParts(t, err, "1152921504.61 GB", fmt.Sprintf("%s are free in %s", size(full.Free), dir))
	full = &SpaceError{Dir: "packs", Need: 9_050_123, Free: 0}
	wantParts(t, full, "the pack needs 9.05 MB, 0 B are free in packs")
	for n, want := range map[int64]string{
		1: "1 B", 999: "999 B", 1000: "1 kB", 999_499: "999 kB", 999_500: "1 MB", 123_456_789: "123 MB",
		999_600_000: "1.00 GB", 20_400_000_000: "20.40 GB",
	} {
		if got := size(n); got != want {
			t.Errorf("%d bytes: got %q, want %q", n, got, want)
		}
	}
	if err := checkSpace(filepath.Join(dir, "absent"), 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want %v", err, fs.ErrNotExist)
	}
}

// TestSyncer writes more than may wait, and to a file that takes nothing any more.
func TestSyncer(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	s := &syncer{file: f, step: 10}
	var want []byte
	for i := range byte(50) {
		part := bytes.Repeat([]byte{i}, int(i))
		want = append(want, part...)
		if n, err := s.Write(part); n != len(part) || err != nil {
			t.Fatalf("%d of %d bytes, %v", n, len(part), err)
		}
	}
	if s.busy == nil {
		t.Error("nothing was synced")
	}
	if err := s.wait(); err != nil || s.busy != nil {
		t.Errorf("%v, under way: %v", err, s.busy != nil)
	}
	if got, err := os.ReadFile(f.Name()); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d, %v", len(got), len(want), err)
	}
	f.Close()
	if _, err := s.Write(want); !errors.Is(err, os.ErrClosed) {
		t.Errorf("written to a closed file: %v", err)
	}
	s.busy = make(chan error, 1)
	s.busy <- errors.New("the disk is broken")
	wantParts(t, s.wait(), "the disk is broken")
}

func TestRoundBF16(t *testing.T) {
	cases := []struct {
		name string
		in   uint32
		want uint16
	}{
		{"exact", 0x3f800000, 0x3f80},
		{"down", 0x3f807fff, 0x3f80},
		{"up", 0x3f808001, 0x3f81},
		{"tie to even, down", 0x3f808000, 0x3f80},
		{"tie to even, up", 0x3f818000, 0x3f82},
		{"carry", 0x3fffffff, 0x4000},
		{"largest", 0x7f7fffff, 0x7f80},
		{"infinity", 0xff800000, 0xff80},
		{"negative zero", 0x80000000, 0x8000},
		{"smallest", 0x00000001, 0x0000},
		{"subnormal", 0x00018000, 0x0002},
		{"NaN", 0x7f800001, 0x7fc0},
		{"NaN of all ones", 0xffffffff, 0xffff},
	}
	for _, c := range cases {
		if got := roundBF16(c.in); got != c.want {
			t.Errorf("%s: %#x gives %#x, want %#x", c.name, c.in, got, c.want)
		}
	}
}
