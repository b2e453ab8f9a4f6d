package nn_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"sotto/engine/gpu"
	"sotto/engine/gpu/host"
	"sotto/engine/model"
	"sotto/engine/nn"
	"sotto/engine/state"
	"sotto/engine/weights"
	"sotto/kernels"
)

const goldenFolder = "../testdata/golden"

// golden checkpoints.
var cases = []string{"qwen_a", "qwen_b", "qwen_c", "nemotron_a", "nemotron_b", "nemotron_c"}

// small is a golden checkpoint of each family, large one with the head sizes of the published models.
var (
	small = []string{"qwen_a", "nemotron_a"}
	large = []string{"qwen_b", "nemotron_b"}
)

// unpack reads a folder of testdata; compressed files are unpacked.
func unpack(t testing.TB, folder string) fstest.MapFS {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	out := fstest.MapFS{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		name, zipped := strings.CutSuffix(e.Name(), ".gz")
		if zipped {
			z, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if data, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
		}
		out[name] = &fstest.MapFile{Data: data}
	}
	return out
}

// goldens are the tensors of a golden.safetensors.
type goldens struct{ ckpt *weights.Checkpoint }

func openGoldens(t testing.TB, files fstest.MapFS) goldens {
	t.Helper()
	c, err := weights.OpenCheckpoint(fstest.MapFS{"model.safetensors": files["golden.safetensors"]})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return goldens{c}
}

func (g goldens) bytes(t testing.TB, name string) []byte {
	t.Helper()
	x, err := g.ckpt.Tensor(name)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, x.Length)
	if _, err := x.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return b
}

func (g goldens) floats(t testing.TB, name string) []float32 {
	t.Helper()
	return floats(kernels.F32, g.bytes(t, name))
}

func (g goldens) ids(t testing.TB, name string) []int32 {
	t.Helper()
	b := g.bytes(t, name)
	out := make([]int32, len(b)/4)
	for i := range out {
		out[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return out
}

// floats decodes activations.
func floats(d kernels.DType, b []byte) []float32 {
	out := make([]float32, len(b)/int(d.Size()))
	for i := range out {
		if d == kernels.BF16 {
			out[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16)
		} else {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	}
	return out
}

// manifests keeps pack manifests in memory.
type manifests map[string][]byte

func (m manifests) Load(key string) ([]byte, error) { return m[key], nil }

func (m manifests) Save(key string, value []byte) error {
	m[key] = value
	return nil
}

// exact is the checking build of the kernels: it has 32 lanes and is slow. The fast one is embedded.
const exact = "../../build/kernels/exact.so"

// builds runs a test on both kernel libraries.
func builds(t *testing.T, run func(t *testing.T, dev gpu.Device)) {
	t.Helper()
	t.Run("exact", func(t *testing.T) { run(t, openDevice(t, exact)) })
	t.Run("fast", func(t *testing.T) { run(t, openDevice(t, "")) })
}

// slow tells whether a device runs one lane after another; tests give it less to do.
func slow(dev gpu.Device) bool { return dev.Caps().SIMD > 1 }

func openDevice(t testing.TB, library string) gpu.Device {
	t.Helper()
	dev, err := host.Open(host.Options{Library: library})
	if err != nil {
		t.Fatalf("%v (make kernels builds the libraries)", err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return dev
}

// rig runs programs of one checkpoint on one device.
type rig struct {
	t      testing.TB
	dev    gpu.Device
	model  nn.Model
	pack   gpu.Buffer
	arena  *state.Arena
	passes map[nn.Options]*compiled

	dense, masks bool    // of programs that read
	tolerance    float64 // largest distance from the goldens
	worst        float64 // so far
}

// compiled is a program with scratch of its own.
type compiled struct {
	*nn.Pass
	exec    gpu.Exec
	scratch gpu.Buffer
}

// floats copies a range of scratch.
func (c *compiled) floats(d kernels.DType, s gpu.Slice) []float32 {
	return floats(d, c.scratch.Bytes()[s.Off:s.Off+s.Len])
}

// newRig packs the weights of a checkpoint and maps them. slots is the number of sessions.
func newRig(t testing.TB, dev gpu.Device, files fstest.MapFS, d kernels.DType, slots int) *rig {
	t.Helper()
	return packedRig(t, dev, files, d, slots, func(c *weights.Checkpoint, r weights.Recipe) *weights.Pack {
		pack, err := weights.Ensure(context.Background(), c, r, t.TempDir(), manifests{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return pack
	})
}

// plainRig is newRig without scales of four bits.
func plainRig(t testing.TB, dev gpu.Device, files fstest.MapFS, d kernels.DType) *rig {
	t.Helper()
	return packedRig(t, dev, files, d, 1, func(c *weights.Checkpoint, r weights.Recipe) *weights.Pack {
		path := filepath.Join(t.TempDir(), "plain.pack")
		l, err := weights.Plan(r)
		if err != nil {
			t.Fatal(err)
		}
		m, err := weights.Build(context.Background(), c, l, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		pack, err := weights.Open(path, l, m, c.Source())
		if err != nil {
			t.Fatal(err)
		}
		return pack
	})
}

func packedRig(
	t testing.TB, dev gpu.Device, files fstest.MapFS, d kernels.DType, slots int,
	packed func(*weights.Checkpoint, weights.Recipe) *weights.Pack,
) *rig {
	t.Helper()
	c, err := weights.OpenCheckpoint(files)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	spec, _, err := model.Parse(files["config.json"].Data, nil, c)
	if err != nil {
		t.Fatal(err)
	}
	pack := packed(c, spec.Recipe())
	t.Cleanup(func() { _ = pack.Close() })
	layout, err := state.Plan(spec, state.Config{DType: d, Slots: slots, Window: 768})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{
		t: t, dev: dev, passes: map[nn.Options]*compiled{},
		model: nn.Model{Spec: spec, Weights: pack.Layout(), State: layout},
	}
	if r.pack, err = dev.Map(pack.Bytes()); err != nil {
		t.Fatal(err)
	}
	if r.arena, err = state.New(dev, layout); err != nil {
		t.Fatal(err)
	}
	return r
}

// session opens a session that is closed with the test.
func (r *rig) session() *state.Session {
	r.t.Helper()
	s, err := r.arena.Open()
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(s.Close)
	return s
}

// pass compiles a program once.
func (r *rig) pass(o nn.Options) *compiled {
	r.t.Helper()
	if c, ok := r.passes[o]; ok {
		return c
	}
	p := record(r.t, r.model, o)
	r.passes[o] = r.bind(p)
	return r.passes[o]
}

// bind compiles a program for the rig's weights and state.
func (r *rig) bind(p *nn.Pass) *compiled {
	r.t.Helper()
	scratch := r.alloc(p.Scratch.Size)
	x, err := r.dev.Compile(r.t.Context(), p.Program, p.Bind(r.pack, scratch, r.arena.Buffers()))
	if err != nil {
		r.t.Fatal(err)
	}
	return &compiled{p, x, scratch}
}

func (r *rig) alloc(n int64) gpu.Buffer {
	r.t.Helper()
	b, err := r.dev.Alloc(n)
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

// run submits one pass and waits for it.
func (r *rig) run(x gpu.Exec, s *state.Session) {
	r.t.Helper()
	n, err := r.dev.Submit(x, s.Step().Buffer())
	if err == nil {
		err = r.dev.Wait(context.Background(), n)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// classOf is the smallest row class that holds n rows.
func classOf(n int) int {
	for _, c := range []int{1, 2, 3, 4, 5, 16, 64, 256} {
		if n <= c {
			return c
		}
	}
	return 1024
}

// read runs one pass over ids, without a sampler, and returns the logits of every row.
func (r *rig) read(s *state.Session, ids []int32) []float32 {
	r.t.Helper()
	o := nn.Options{Rows: classOf(len(ids)), Logits: nn.AllLogits, Masks: r.masks}
	if r.dense {
		o.Without = nn.Sparse
	}
	c := r.pass(o)
	r.begin(s, ids)
	// What is not written in this pass must not be read either.
	poison(c.scratch.Bytes())
	r.run(c.exec, s)
	s.Step().Advance()
	return c.floats(kernels.F32, c.Logits)[:len(ids)*r.model.Spec.Vocab]
}

// poison fills memory with NaN in every type of activation, and with what is an index of nothing.
func poison(b []byte) {
	for i := range b {
		b[i] = 0xff
	}
}

func (r *rig) begin(s *state.Session, ids []int32) {
	r.t.Helper()
	if err := s.Grow(int(s.Step().Params().Pos) + len(ids)); err != nil {
		r.t.Fatal(err)
	}
	if err := s.Step().Begin(ids); err != nil {
		r.t.Fatal(err)
	}
}

// readCut is read in passes of at most n rows.
func (r *rig) readCut(s *state.Session, ids []int32, n int) []float32 {
	r.t.Helper()
	var out []float32
	for chunk := range slices.Chunk(ids, n) {
		out = append(out, r.read(s, chunk)...)
	}
	return out
}

// floats copies a range of state.
func (r *rig) floats(d kernels.DType, s gpu.Slice) []float32 {
	return floats(d, r.arena.Buffers()[s.Region].Bytes()[s.Off:s.Off+s.Len])
}

// snapshot returns the state of a session: recurrent state, the live half of the convolution, and keys and values in
// the order of positions, by name.
func (r *rig) snapshot(s *state.Session) map[string][]float32 {
	out := map[string][]float32{}
	p, d, l := s.Step().Params(), r.model.State.DType, r.model.State
	pages := s.Step().Buffer().Bytes()[kernels.PagesOffset:]
	for i, b := range r.model.Spec.Blocks {
		st, name := l.Blocks[i], "state."+string(rune('0'+b.Layer))
		switch m := b.Mixer.(type) {
		case *model.GatedDelta, *model.Mamba2:
			n := st.S.Len / int64(l.Slots)
			out[name+".rec"] = r.floats(kernels.F32, st.S.At(int64(s.Slot())*n, n))
			n = st.Conv.Len / int64(2*l.Slots)
			out[name+".conv"] = r.floats(d, st.Conv.At(int64(2*s.Slot()+int(p.Parity&1))*n, n))
		case *model.Attention:
			for which, arena := range map[string]gpu.Slice{".keys": st.K, ".values": st.V} {
				cache := r.floats(d, arena)
				for head := range m.KVHeads {
					for pos := range int(p.Pos) {
						page := int(binary.LittleEndian.Uint32(pages[4*(pos/kernels.KeyBlock):]))
						row := ((page*m.KVHeads+head)*kernels.KeyBlock + pos%kernels.KeyBlock) * m.Dim
						out[name+which] = append(out[name+which], cache[row:row+m.Dim]...)
					}
				}
			}
		}
	}
	return out
}

// differ returns the largest distance between two lists; NaN or unequal lengths count as infinite.
func differ(got, want []float32) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	worst := 0.0
	for i := range got {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= worst) {
			if worst = d; math.IsNaN(d) {
				return math.Inf(1)
			}
		}
	}
	return worst
}

// sameBits finds the first place where two lists differ in a bit; -1 for none.
func sameBits(got, want []float32) int {
	if len(got) != len(want) {
		return 0
	}
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			return i
		}
	}
	return -1
}
