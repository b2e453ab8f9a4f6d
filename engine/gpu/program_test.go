package gpu

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sotto/kernels"
)

var update = flag.Bool("update", false, "rewrite golden files")

type addParams struct{ N uint32 }

// add is y = x + w for a record of the step; fold is y += x.
func add() *kernels.Kernel {
	return &kernels.Kernel{Name: "add_bf16", File: "add.metal", Params: addParams{}, Args: []kernels.Arg{
		{Name: kernels.StepArg, Access: kernels.Read},
		{Name: "x", Access: kernels.Read},
		{Name: "w", Access: kernels.Read},
		{Name: "y", Access: kernels.Write},
	}}
}

func fold() *kernels.Kernel {
	return &kernels.Kernel{Name: "fold_bf16", File: "add.metal", Args: []kernels.Arg{
		{Name: "x", Access: kernels.Read}, {Name: "y", Access: kernels.ReadWrite},
	}}
}

func advance() *kernels.Kernel {
	return &kernels.Kernel{Name: "advance", File: "add.metal", Args: []kernels.Arg{
		{Name: kernels.StepArg, Access: kernels.ReadWrite},
	}}
}

func launch(k *kernels.Kernel) kernels.Launch {
	l := kernels.Launch{Kernel: k, Grid: [3]uint32{2, 1, 1}, Simdgroups: 4}
	if k.Params != nil {
		l.Params = make([]byte, reflect.TypeOf(k.Params).Size())
	}
	return l
}

// memory of the sample: weights, and activations a, b, c of 256 bytes each.
type sample struct{ weights, act *Region }

func newSample() sample {
	return sample{&Region{Name: "weights", Size: 1 << 20}, &Region{Name: "activations", Size: 768}}
}

func (s sample) w() Slice      { return Slice{s.weights, 4096, 512} }
func (s sample) a() Slice      { return Slice{s.act, 0, 256} }
func (s sample) b() Slice      { return Slice{s.act, 256, 256} }
func (s sample) c() Slice      { return Slice{s.act, 512, 256} }
func (s sample) record() Slice { return Slice{Step, 0, 256} }

func (s sample) add(label string, x, y Slice) Op {
	return Op{Launch: launch(add()), Label: label, Args: []Slice{s.record(), x, s.w(), y}}
}

func (s sample) fold(label string, x, y Slice) Op {
	return Op{Launch: launch(fold()), Label: label, Args: []Slice{x, y}}
}

func (s sample) advance() Op {
	return Op{Launch: launch(advance()), Label: "advance", Args: []Slice{s.record()}}
}

func TestStages(t *testing.T) {
	s := newSample()
	half := func(x Slice, i int64) Slice { return x.At(128*i, 128) }
	for _, tc := range []struct {
		name string
		ops  []Op
		want []int
	}{
		{"nothing", nil, []int{}},
		{"read after write", []Op{s.add("", s.a(), s.b()), s.add("", s.b(), s.c())}, []int{1, 2}},
		{"write after read", []Op{s.add("", s.a(), s.b()), s.add("", s.c(), s.a())}, []int{1, 2}},
		{"write after write", []Op{s.add("", s.a(), s.b()), s.add("", s.a(), s.b())}, []int{1, 2}},
		{"both read", []Op{s.add("", s.a(), s.b()), s.add("", s.a(), s.c())}, []int{1, 1}},
		{"neighbours", []Op{
			s.add("", s.a(), half(s.b(), 0)), s.add("", s.a(), half(s.b(), 1)),
			s.add("", s.b(), s.c()),
		}, []int{1, 1, 2}},
		{"overlap by a part", []Op{s.add("", s.a(), s.b()), s.add("", half(s.b(), 1), s.c())}, []int{1, 2}},
		{
			"in place",
			[]Op{s.fold("", s.a(), s.b()), s.fold("", s.a(), s.b()), s.fold("", s.a(), s.c())},
			[]int{1, 2, 1},
		},
		{"step is read by all and written by the last", []Op{
			s.add("", s.a(), s.b()), s.add("", s.a(), s.c()),
			s.advance(), s.add("", s.a(), s.b()),
		}, []int{1, 1, 2, 3}},
		{"an earlier stage that is superseded in part", []Op{
			s.add("", s.a(), s.b()), s.add("", s.b(), s.c()),
			s.add("", s.a(), half(s.b(), 0)), s.add("", half(s.b(), 1), s.a()),
		}, []int{1, 2, 3, 4}},
		{"later in the list, earlier in time", []Op{
			s.add("", s.a(), s.b()), s.add("", s.b(), s.c()),
			s.advance(), s.add("", half(s.a(), 0), half(s.a(), 1)),
		}, []int{1, 2, 3, 4}},
		{
			"empty ranges conflict with nothing",
			[]Op{s.fold("", Slice{}, s.b()), s.fold("", s.b().At(0, 0), s.c())},
			[]int{1, 1},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &Program{Name: "test", Rows: 1, Ops: tc.ops}
			if got := p.Stages(); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// slowStages is the definition, op against op.
// TestSerial gives every op a stage of its own.
func TestSerial(t *testing.T) {
	s := newSample()
	p := &Program{Name: "serial", Rows: 1, Serial: true, Ops: []Op{s.add("a", s.a(), s.b()), s.add("b", s.a(), s.c())}}
	if got := p.Stages(); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("got stages %v, want 1 and 2", got)
	}
	if p.Serial = false; !slices.Equal(p.Stages(), []int{1, 1}) {
		t.Error("the ops of the example depend on each other")
	}
}

func slowStages(p *Program) []int {
	stages := make([]int, len(p.Ops))
	for i := range p.Ops {
		stages[i] = 1
		for j := range i {
			if conflict(&p.Ops[i], &p.Ops[j]) {
				stages[i] = max(stages[i], stages[j]+1)
			}
		}
	}
	return stages
}

func conflict(a, b *Op) bool {
	for i, s := range a.Args {
		for j, o := range b.Args {
			overlap := s.Region == o.Region && s.Off < o.Off+o.Len && o.Off < s.Off+s.Len && s.Len > 0 && o.Len > 0
			if overlap && (a.Kernel.Args[i].Access|b.Kernel.Args[j].Access)&kernels.Write != 0 {
				return true
			}
		}
	}
	return false
}

// FuzzStages compares the numbering with its definition on programs drawn from the input.
func FuzzStages(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"))
	f.Add([]byte("in place, in place, in place: x reads and y is read and written, over and over again"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newSample()
		piece := func(b byte) Slice { return s.act.slice(int64(b>>4)*16, int64(b&15)*16) }
		p := &Program{Name: "fuzz", Rows: 1}
		for ; len(data) >= 3 && len(p.Ops) < 200; data = data[3:] {
			switch data[0] % 8 {
			case 0:
				p.Ops = append(p.Ops, s.advance())
			case 1, 2, 3:
				p.Ops = append(p.Ops, s.fold("", piece(data[1]), piece(data[2])))
			default:
				p.Ops = append(p.Ops, s.add("", piece(data[1]), piece(data[2])))
			}
		}
		if got, want := p.Stages(), slowStages(p); !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func (r *Region) slice(off, n int64) Slice { return Slice{r, off, n} }

func TestPrint(t *testing.T) {
	s := newSample()
	clamped := s.add("layer 0: add", s.a(), s.b())
	clamped.Limits = []kernels.Limit{{Dim: 0, Offset: 4, Div: 16}}
	clamped.Touch = []int64{0, 0, 128, 0}
	optional := s.fold("layer 0: nothing in", Slice{}, s.c())
	p := &Program{Name: "decode 1", Rows: 1, Ops: []Op{
		clamped, s.add("layer 0: beside", s.a(), s.c()), optional, s.fold("layer 1: fold", s.b(), s.c()), s.advance(),
	}}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := p.Print(&got); err != nil {
		t.Fatal(err)
	}
	golden(t, "program.txt", got.Bytes())
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (rewrite it with -update):\n got:\n%s\nwant:\n%s", path, got, want)
	}
}

func TestValidate(t *testing.T) {
	s := newSample()
	good := func() *Program {
		return &Program{Name: "test", Rows: 1, Ops: []Op{s.add("first", s.a(), s.b())}}
	}
	if err := good().Validate(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		spoil func(p *Program, op *Op)
		want  string
	}{
		{"rows", func(p *Program, _ *Op) { p.Rows = 0 }, "0 rows"},
		{"kernel", func(_ *Program, op *Op) { op.Kernel = nil }, "no kernel"},
		{"too few buffers", func(_ *Program, op *Op) { op.Args = op.Args[:3] }, "3 buffers"},
		{"touched sizes", func(_ *Program, op *Op) { op.Touch = []int64{1} }, "1 touched sizes"},
		{"negative touch", func(_ *Program, op *Op) { op.Touch = []int64{0, 0, 0, -1} }, "touches -1"},
		{"parameters", func(_ *Program, op *Op) { op.Params = op.Params[:3] }, "3 bytes of parameters, want 4"},
		{"empty grid", func(_ *Program, op *Op) { op.Grid[1] = 0 }, "grid [2 0 1]"},
		{"huge grid", func(_ *Program, op *Op) { op.Grid = [3]uint32{1 << 16, 1 << 16, 1} }, "grid"},
		{"grid that overflows", func(_ *Program, op *Op) { op.Grid = [3]uint32{1 << 31, 1 << 31, 4} }, "grid"},
		{"no simdgroup", func(_ *Program, op *Op) { op.Simdgroups = 0 }, "0 simdgroups"},
		{"many simdgroups", func(_ *Program, op *Op) { op.Simdgroups = 33 }, "33 simdgroups"},
		{"limit past the record", func(_ *Program, op *Op) {
			op.Limits = []kernels.Limit{{Offset: 256, Div: 1}}
		}, "limit"},
		{"limit that wraps", func(_ *Program, op *Op) {
			op.Limits = []kernels.Limit{{Offset: 1<<32 - 4, Div: 1}}
		}, "limit"},
		{"limit over zero", func(_ *Program, op *Op) { op.Limits = []kernels.Limit{{}} }, "limit"},
		{"limit of dimension 3", func(_ *Program, op *Op) { op.Limits = []kernels.Limit{{Dim: 3, Div: 1}} }, "limit"},
		{"three limits", func(_ *Program, op *Op) { op.Limits = make([]kernels.Limit, 3) }, "3 limits"},
		{"range past the end", func(_ *Program, op *Op) { op.Args[1].Len = 769 }, "outside region activations"},
		{"offset past the end", func(_ *Program, op *Op) { op.Args[1].Off = 784 }, "outside region"},
		{"negative offset", func(_ *Program, op *Op) { op.Args[1].Off = -16 }, "outside region"},
		{"length that wraps", func(_ *Program, op *Op) { op.Args[1] = Slice{s.act, 16, 1<<63 - 8} }, "outside region"},
		{"alignment", func(_ *Program, op *Op) { op.Args[1].Off = 8 }, "not a multiple of 16"},
		{"range of nothing", func(_ *Program, op *Op) { op.Args[1].Region = nil }, "without a region"},
		{"unbound output", func(_ *Program, op *Op) { op.Args[3] = Slice{} }, "the kernel writes it"},
		{"step elsewhere", func(_ *Program, op *Op) { op.Args[0] = s.a() }, "start of the step buffer"},
		{"step in the middle", func(_ *Program, op *Op) { op.Args[0].Off = 16 }, "start of the step buffer"},
		{"other argument in step", func(_ *Program, op *Op) { op.Args[1] = s.record() }, "start of the step buffer"},
		{"region of the same name", func(_ *Program, op *Op) {
			op.Args[1].Region = &Region{Name: "weights", Size: 1 << 20}
		}, "two regions are named weights"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := good()
			tc.spoil(p, &p.Ops[0])
			err := p.Validate()
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

// BenchmarkStages numbers a program as long as a token of the large models.
func BenchmarkStages(b *testing.B) {
	s := newSample()
	p := &Program{Name: "long", Rows: 1}
	for len(p.Ops) < 500 {
		p.Ops = append(p.Ops, s.add("", s.a(), s.b()), s.add("", s.a(), s.c()), s.fold("", s.b(), s.a()))
	}
	for b.Loop() {
		p.Stages()
	}
}
