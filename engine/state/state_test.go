package state_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"sotto/engine/gpu"
	"sotto/engine/model"
	"sotto/engine/state"
	"sotto/kernels"
)

// device only hands out memory, until limit bytes are taken.
type device struct {
	gpu.Device
	limit, live int64
}

type memory struct {
	dev *device
	mem []byte
}

func (d *device) Alloc(n int64) (gpu.Buffer, error) {
	if d.live+n > d.limit {
		return nil, gpu.ErrOutOfMemory
	}
	d.live += n
	return &memory{d, make([]byte, n)}, nil
}

func (m *memory) Size() int64   { return int64(len(m.mem)) }
func (m *memory) Bytes() []byte { return m.mem }
func (m *memory) Free()         { m.dev.live -= m.Size(); m.mem = nil }

func spec(t *testing.T, name string) *model.Spec {
	t.Helper()
	config, err := os.ReadFile("../model/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := model.SpecFromConfig(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestNemotronFootprint counts what a session of the published Nemotron takes.
func TestNemotronFootprint(t *testing.T) {
	l, err := state.Plan(spec(t, "nemotron35_lightning.json"), state.Config{Slots: 1, Window: 4096})
	if err != nil {
		t.Fatal(err)
	}
	f := l.Footprint()
	if f.Recurrent != 46<<20 || f.Token != 6<<10 {
		t.Errorf("got %d bytes of recurrent state and %d a token, want 46 MiB and 6 KiB", f.Recurrent, f.Token)
	}
	if got, want := fmt.Sprintf("%.2f MiB", float64(f.Conv)/(1<<20)), "0.81 MiB"; got != want {
		t.Errorf("convolution tail: got %s, want %s", got, want)
	}
}

func TestFootprint(t *testing.T) {
	l, err := state.Plan(spec(t, "qwen36_35b_a3b.json"), state.Config{Slots: 2, Window: 4096})
	if err != nil {
		t.Fatal(err)
	}
	f := l.Footprint()
	if f.Recurrent != 60<<20 {
		t.Errorf("recurrent state: got %d bytes, want 60 MiB", f.Recurrent)
	}
	if got, want := fmt.Sprintf("%.2f MiB", float64(f.Conv)/(1<<20)), "1.41 MiB"; got != want {
		t.Errorf("convolution tail: got %s, want %s", got, want)
	}
	if f.Token != 20<<10 {
		t.Errorf("keys and values of a token: got %d bytes, want 20 KiB", f.Token)
	}
	if got, want := l.KV.Size, int64(2*4096*20<<10); got != want {
		t.Errorf("pages: got %d bytes, want %d", got, want)
	}
	if l.Pages != 32 || l.Window != 4096 || len(l.Regions()) != 3 {
		t.Errorf("%d pages, window %d, %d regions", l.Pages, l.Window, len(l.Regions()))
	}
	l32, err := state.Plan(spec(t, "qwen36_35b_a3b.json"), state.Config{Slots: 1, DType: kernels.F32})
	if err != nil {
		t.Fatal(err)
	}
	f32 := l32.Footprint()
	if f32.Recurrent != f.Recurrent || f32.Conv != 2*f.Conv || f32.Token != 2*f.Token {
		t.Errorf("f32 activations: %+v", f32)
	}
	if l32.Window != state.MaxWindow || l32.Pages != kernels.MaxPages {
		t.Errorf("window %d, %d pages", l32.Window, l32.Pages)
	}
}

func TestLayoutRanges(t *testing.T) {
	for _, tt := range []struct {
		config          string
		recurrent, keys int // blocks
		bytes           [2]int64
	}{
		{"tiny.json", 0, 6, [2]int64{3 * 4 * 128 * 128 * 4, 12 * 2 * 256 * 64 * 2}},
		{"nemotron_tiny.json", 0, 5, [2]int64{3 * 8 * 64 * 128 * 4, 12 * 2 * 256 * 64 * 2}},
	} {
		t.Run(tt.config, func(t *testing.T) {
			s := spec(t, tt.config)
			l, err := state.Plan(s, state.Config{Slots: 3, Window: 1000})
			if err != nil {
				t.Fatal(err)
			}
			testRanges(t, s, l)
			if got := [2]int64{l.Blocks[tt.recurrent].S.Len, l.Blocks[tt.keys].K.Len}; got != tt.bytes {
				t.Errorf("recurrent state and keys: got %d bytes, want %d", got, tt.bytes)
			}
		})
	}
}

func testRanges(t *testing.T, s *model.Spec, l *state.Layout) {
	t.Helper()
	ends := map[*gpu.Region]int64{}
	for i, b := range l.Blocks {
		parts := map[string]gpu.Slice{"S": b.S, "Conv": b.Conv, "K": b.K, "V": b.V}
		var want []string
		switch s.Blocks[i].Mixer.(type) {
		case *model.GatedDelta, *model.Mamba2:
			want = []string{"S", "Conv"}
		case *model.Attention:
			want = []string{"K", "V"}
		}
		for name, p := range parts {
			if (p.Len > 0) != slices.Contains(want, name) {
				t.Errorf("block %d: %s has %d bytes", i, name, p.Len)
			}
		}
		for _, name := range want {
			p := parts[name]
			if p.Off < ends[p.Region] || p.Off%gpu.Align != 0 || p.Off+p.Len > p.Region.Size {
				t.Errorf("block %d: %s at %d+%d of %s", i, name, p.Off, p.Len, p.Region.Name)
			}
			ends[p.Region] = p.Off + p.Len
		}
	}
}

func TestPlanRefused(t *testing.T) {
	s := spec(t, "tiny.json")
	huge := *s
	huge.Window = 1 << 18
	type unknown struct{ *model.MoE }
	odd := *s
	odd.Blocks = append([]model.Block{{Mixer: unknown{}}}, s.Blocks...)
	tests := []struct {
		name   string
		spec   *model.Spec
		config state.Config
	}{
		{"no sessions", s, state.Config{}},
		{"negative window", s, state.Config{Slots: 1, Window: -5}},
		{"negative pages", s, state.Config{Slots: 1, Pages: -1}},
		{"too many pages", &huge, state.Config{Slots: 1 << 20}},
		{"a kind of block that is not known", &odd, state.Config{Slots: 1}},
		{"too much state", s, state.Config{Slots: 1 << 40, Pages: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := state.Plan(tt.spec, tt.config); err == nil {
				t.Error("accepted")
			}
		})
	}
}

func newArena(t *testing.T, c state.Config) (*state.Arena, *device) {
	t.Helper()
	l, err := state.Plan(spec(t, "tiny.json"), c)
	if err != nil {
		t.Fatal(err)
	}
	d := &device{limit: 1 << 30}
	a, err := state.New(d, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.Free()
		if d.live != 0 {
			t.Errorf("%d bytes are still taken", d.live)
		}
	})
	return a, d
}

func open(t *testing.T, a *state.Arena) *state.Session {
	t.Helper()
	s, err := a.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// pages reads the page table from the step buffer.
func pages(s *state.Session, n int) []uint32 {
	out := make([]uint32, n)
	mem := s.Step().Buffer().Bytes()[kernels.PagesOffset:]
	for i := range out {
		out[i] = uint32(mem[4*i]) | uint32(mem[4*i+1])<<8
	}
	return out
}

func TestPages(t *testing.T) {
	a, _ := newArena(t, state.Config{Slots: 2, Window: 2048, Pages: 10})
	s, u := open(t, a), open(t, a)
	grow := func(s *state.Session, tokens, held, free int) {
		t.Helper()
		if err := s.Grow(tokens); err != nil {
			t.Fatal(err)
		}
		if s.Capacity() != held*256 || a.FreePages() != free {
			t.Errorf("%d tokens fit, %d pages are free; want %d, %d", s.Capacity(), a.FreePages(), held*256, free)
		}
	}
	grow(s, 0, 0, 10)
	grow(s, 1, 1, 9)
	grow(s, 256, 1, 9)
	grow(u, 257, 2, 7)
	grow(s, 600, 3, 5)
	grow(s, 20, 3, 5)
	if got, want := pages(s, 3), []uint32{0, 3, 4}; !slices.Equal(got, want) {
		t.Errorf("page table %v, want %v", got, want)
	}
	err := u.Grow(2048)
	if e, ok := errors.AsType[*state.FullError](err); !ok || e.Need != 6 || e.Free != 5 || e.Total != 10 {
		t.Errorf("got %v", err)
	} else if got, want := err.Error(), "6 more pages of 256 tokens needed, 5 of 10 are free"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if u.Capacity() != 512 || a.FreePages() != 5 {
		t.Errorf("a refused session took pages: %d tokens, %d free", u.Capacity(), a.FreePages())
	}
	err = s.Grow(2049)
	if e, ok := errors.AsType[*state.WindowError](err); !ok || e.Tokens != 2049 || e.Window != 2048 {
		t.Errorf("got %v", err)
	}
	s.Reset()
	grow(u, 2048, 8, 2)
	if got, want := pages(u, 8), []uint32{1, 2, 0, 3, 4, 5, 6, 7}; !slices.Equal(got, want) {
		t.Errorf("page table %v, want %v", got, want)
	}
	u.Close()
	u.Close()
	if a.FreePages() != 10 {
		t.Errorf("%d pages are free after closing", a.FreePages())
	}
	if err := u.Grow(1); err == nil {
		t.Error("a closed session grew")
	}
}

func TestSlots(t *testing.T) {
	a, d := newArena(t, state.Config{Slots: 2, Window: 256})
	s, u := open(t, a), open(t, a)
	if s.Slot() != 0 || u.Slot() != 1 || u.Step().Params().Slot != 1 {
		t.Errorf("slots %d, %d", s.Slot(), u.Slot())
	}
	_, err := a.Open()
	if _, ok := errors.AsType[*state.FullError](err); !ok || !strings.Contains(err.Error(), "0 of 2 are free") {
		t.Errorf("got %v", err)
	}
	// A reset empties one slot of every block and leaves the other alone.
	for _, b := range a.Buffers() {
		for i := range b.Bytes() {
			b.Bytes()[i] = 0xa5
		}
	}
	u.Reset()
	l := a.Layout()
	for i, b := range l.Blocks {
		for name, p := range map[string]gpu.Slice{"S": b.S, "Conv": b.Conv} {
			mem := []byte{}
			if p.Len > 0 {
				mem = a.Buffers()[p.Region].Bytes()[p.Off : p.Off+p.Len]
			}
			half := len(mem) / 2
			if i := slices.IndexFunc(mem[:half], func(c byte) bool { return c != 0xa5 }); i >= 0 {
				t.Errorf("%s: byte %d of slot 0 changed", name, i)
			}
			if j := slices.IndexFunc(mem[half:], func(c byte) bool { return c != 0 }); j >= 0 {
				t.Errorf("block %d, %s: byte %d of slot 1 is not zero", i, name, j)
			}
		}
	}
	s.Close()
	if again := open(t, a); again.Slot() != 0 {
		t.Errorf("slot %d, want the free one", again.Slot())
	}
	u.Close()
	d.limit = d.live
	if _, err := a.Open(); !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("got %v", err)
	}
}

func TestNewOutOfMemory(t *testing.T) {
	l, err := state.Plan(spec(t, "tiny.json"), state.Config{Slots: 1, Window: 256})
	if err != nil {
		t.Fatal(err)
	}
	d := &device{limit: l.Recurrent.Size + 1}
	if _, err := state.New(d, l); !errors.Is(err, gpu.ErrOutOfMemory) || d.live != 0 {
		t.Errorf("got %v, %d bytes still taken", err, d.live)
	}
}
