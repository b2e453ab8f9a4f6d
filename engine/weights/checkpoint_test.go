package weights

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"
)

// raw is a tensor that a test writes.
type raw struct {
	name  string
	dtype Dtype
	shape []int64
	data  []byte
}

// random fills a tensor with bytes that are finite numbers in every dtype used here.
func random(name string, dtype Dtype, shape ...int64) raw {
	n := dtype.Size()
	for _, s := range shape {
		n *= s
	}
	rng := rand.New(rand.NewPCG(uint64(n), uint64(len(name))))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(rng.Uint32())
		if dtype != U32 && i%int(dtype.Size()) == int(dtype.Size())-1 {
			data[i] = data[i]&0x80 | 0x3f
		}
	}
	return raw{name, dtype, append([]int64{}, shape...), data}
}

// file spells a safetensors file whose data start at an address that is odd modulo 4.
func file(odd int, tensors ...raw) []byte {
	head, data := map[string]any{}, []byte{}
	for _, t := range tensors {
		head[t.name] = map[string]any{
			"dtype": t.dtype, "shape": t.shape, "data_offsets": []int{len(data), len(data) + len(t.data)},
		}
		data = append(data, t.data...)
	}
	for pad := ""; ; pad += "x" {
		head["__metadata__"] = map[string]string{"format": "mlx" + pad}
		text, err := json.Marshal(head)
		if err != nil {
			panic(err)
		}
		if (8+len(text))%4 == odd {
			return prefixed(string(text), data)
		}
	}
}

// prefixed puts the length before a header.
func prefixed(header string, data []byte) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(out, header...), data...)
}

// directory makes a checkpoint of files.
func directory(files map[string][]byte) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, data := range files {
		fsys[name] = &fstest.MapFile{Data: data, Mode: 0o644}
	}
	return fsys
}

// open opens a checkpoint that must be fine.
func open(t *testing.T, fsys fs.FS) *Checkpoint {
	t.Helper()
	c, err := OpenCheckpoint(fsys)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestReadTensors(t *testing.T) {
	tensors := []raw{
		random("a.weight", U32, 3, 8), random("b", BF16, 5), random("c", F32, 2, 1, 3), random("scalar", U8),
		random("none", F32, 0, 4),
	}
	index := []byte(`{"metadata":{},"weight_map":{"a.weight":"model.safetensors","gone":"model-9.safetensors"}}`)
	for odd := range 4 {
		for name, files := range map[string]map[string][]byte{
			"one file": {"model.safetensors": file(odd, tensors...)},
			"two shards": {
				"model-1-of-2.safetensors": file(odd, tensors[:2]...),
				"model-2-of-2.safetensors": file(1, tensors[2:]...),
			},
			"with index":   {"model.safetensors": file(odd, tensors...), indexFile: index},
			"broken index": {"model.safetensors": file(odd, tensors...), indexFile: []byte(`{"weight_map":[`)},
			"with drafter": {"model.safetensors": file(odd, tensors...), "mtp.safetensors": []byte("not read")},
		} {
			t.Run(fmt.Sprintf("%s at %d", name, odd), func(t *testing.T) {
				c := open(t, directory(files))
				if got, want := c.Names(), []string{"a.weight", "b", "c", "none", "scalar"}; !slices.Equal(got, want) {
					t.Errorf("Names = %v, want %v", got, want)
				}
				for _, want := range tensors {
					got, ok := c.Lookup(want.name)
					if !ok || got.Dtype != want.dtype || !slices.Equal(got.Shape, want.shape) {
						t.Fatalf("Lookup(%q) = %v, %v", want.name, got, ok)
					}
					data, err := io.ReadAll(io.NewSectionReader(got, 0, got.Length))
					if err != nil || string(data) != string(want.data) {
						t.Errorf("%q: %x, %v, want %x", want.name, data, err, want.data)
					}
					in := files[got.File][got.Offset:][:got.Length]
					if string(in) != string(want.data) {
						t.Errorf("%q: offset %d of %s does not hold its data", want.name, got.Offset, got.File)
					}
				}
			})
		}
	}
}

func TestTensorReadAtBounds(t *testing.T) {
	c := open(t, directory(map[string][]byte{"model.safetensors": file(3, random("a", U8, 10), random("b", U8, 10))}))
	a, _ := c.Lookup("a")
	p := make([]byte, 8)
	if n, err := a.ReadAt(p, 5); n != 5 || !errors.Is(err, io.EOF) {
		t.Errorf("ReadAt(8 bytes at 5) = %d, %v, want 5, EOF", n, err)
	}
	for _, off := range []int64{-1, 11} {
		if n, err := a.ReadAt(p, off); n != 0 || err == nil || errors.Is(err, io.EOF) {
			t.Errorf("ReadAt(%d) = %d, %v, want an error", off, n, err)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	one := file(1, random("a", U8, 10))
	cases := []struct {
		name  string
		files map[string][]byte
		want  []string // parts of the message
	}{
		{"no weights", map[string][]byte{"config.json": []byte("{}"), "mtp.safetensors": one}, []string{"no weights"}},
		{
			"cut by a byte",
			map[string][]byte{"model.safetensors": one[:len(one)-1]},
			[]string{"model.safetensors", `"a"`, "cut short"},
		},
		{
			"a byte too many",
			map[string][]byte{"model.safetensors": append(slices.Clone(one), 0)},
			[]string{"model.safetensors", "1 bytes of data belong to no tensor"},
		},
		{
			"second shard broken",
			map[string][]byte{"model-1.safetensors": one, "model-2.safetensors": one[:5]},
			[]string{"model-2.safetensors", "too few"},
		},
		{
			"tensor in two shards",
			map[string][]byte{"model-1.safetensors": one, "model-2.safetensors": one},
			[]string{`"a"`, "model-1.safetensors", "model-2.safetensors"},
		},
		{"folder", map[string][]byte{"model.safetensors/x": one}, []string{"model.safetensors", "not a regular file"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := OpenCheckpoint(directory(c.files))
			wantParts(t, err, c.want...)
		})
	}
	if _, err := OpenCheckpoint(fstest.MapFS{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("empty folder: %v, want fs.ErrNotExist", err)
	}
	_, err := OpenCheckpoint(sequential{directory(map[string][]byte{"model.safetensors": one})})
	wantParts(t, err, "model.safetensors", "io.ReaderAt")
}

// TestOpenPipe does not wait for somebody to write into it.
func TestOpenPipe(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "model.safetensors"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := OpenCheckpoint(os.DirFS(dir))
	wantParts(t, err, "model.safetensors", "not a regular file")
}

// wantParts checks that there is an error and that its message is complete.
func wantParts(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not say %q", err, p)
		}
	}
}

// sequential is a file system without random access.
type sequential struct{ fs.FS }

func (s sequential) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	if dir, ok := f.(fs.ReadDirFile); ok {
		return dir, err
	}
	return struct{ fs.File }{f}, err
}

func TestMissingTensor(t *testing.T) {
	c := open(t, directory(map[string][]byte{
		"model-00001-of-00002.safetensors": file(2, random("a", U8, 10)),
		indexFile: []byte(`{"weight_map":{"a":"model-00001-of-00002.safetensors",
			"b":"model-00002-of-00002.safetensors","c":"model-00001-of-00002.safetensors"}}`),
	}))
	if _, err := c.Tensor("a"); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]MissingTensorError{
		"b": {Name: "b", File: "model-00002-of-00002.safetensors"}, "c": {Name: "c"}, "d": {Name: "d"},
	} {
		_, err := c.Tensor(name)
		var missing *MissingTensorError
		if !errors.As(err, &missing) || *missing != want {
			t.Errorf("Tensor(%q): %v, want %v", name, err, want)
			continue
		}
		wantParts(t, err, `"`+want.Name+`"`, want.File)
	}
}

func TestBits(t *testing.T) {
	c := open(t, directory(map[string][]byte{"model.safetensors": file(1,
		random("four.weight", U32, 3, 16), random("four.scales", BF16, 3, 2),
		random("eight.weight", U32, 2, 3, 32), random("eight.scales", BF16, 2, 3, 2),
		random("plain.weight", BF16, 3, 128), random("lone.scales", BF16, 3, 2),
		random("odd.weight", BF16, 3, 128), random("odd.scales", BF16, 3, 2),
		random("bare.weight", U32, 3, 16), random("bare.biases", BF16, 3, 2),
	)}))
	cases := []struct {
		module string
		cols   int
		want   int
		fails  bool
	}{
		{"four", 128, 4, false},
		{"eight", 128, 8, false},
		{"plain", 128, 0, false},
		{"four", 100, 0, true},
		{"four", 0, 0, true},
		{"four", 8, 0, true},
		{"four", 1 << 20, 0, true},
		{"odd", 128, 0, true},
		{"lone", 128, 0, true},
		{"absent", 128, 0, true},
		{"bare", 128, 0, true},
	}
	for _, k := range cases {
		got, err := c.Bits(k.module, k.cols)
		if got != k.want || (err != nil) != k.fails {
			t.Errorf("Bits(%q, %d) = %d, %v, want %d", k.module, k.cols, got, err, k.want)
		}
	}
}

func TestSourceChanges(t *testing.T) {
	big := random("big", U8, sampleWhole+1000)
	files := func() map[string][]byte {
		return map[string][]byte{
			"config.json":         []byte("{}"),
			"model-1.safetensors": file(1, random("a", U8, 100)),
			"model-2.safetensors": file(1, big),
		}
	}
	base := open(t, directory(files())).Source()
	if again := open(t, directory(files())).Source(); again != base {
		t.Errorf("the same files have two identities, %s and %s", base, again)
	}
	for name, change := range map[string]func(m map[string][]byte){
		"config":            func(m map[string][]byte) { m["config.json"] = []byte("{ }") },
		"no config":         func(m map[string][]byte) { delete(m, "config.json") },
		"one byte of small": func(m map[string][]byte) { f := m["model-1.safetensors"]; f[len(f)-50]++ },
		"first of large":    func(m map[string][]byte) { m["model-2.safetensors"][300]++ },
		"last of large":     func(m map[string][]byte) { f := m["model-2.safetensors"]; f[len(f)-1]++ },
		"fewer shards":      func(m map[string][]byte) { delete(m, "model-1.safetensors") },
		"other name": func(m map[string][]byte) {
			m["model-3.safetensors"] = m["model-2.safetensors"]
			delete(m, "model-2.safetensors")
		},
	} {
		m := files()
		change(m)
		if got := open(t, directory(m)).Source(); got == base {
			t.Errorf("%s: the identity did not change", name)
		}
	}
	touched := directory(files())
	touched["model-2.safetensors"].ModTime = touched["model-2.safetensors"].ModTime.Add(1)
	if got := open(t, touched).Source(); got == base {
		t.Error("date: the identity did not change")
	}
}
