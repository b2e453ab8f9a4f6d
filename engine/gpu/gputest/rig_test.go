package gputest

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// fake runs Go functions as kernels, op by op, on slices of plain memory. A kernel may run over the end of its
// argument by up to 16 bytes.
type fake struct {
	kernels map[string]func(seed uint64, args [][]byte)
	seed    uint64
	runs    int
}

type memory struct{ b []byte }

func (m *memory) Size() int64   { return int64(len(m.b)) }
func (m *memory) Bytes() []byte { return m.b }
func (m *memory) Free()         {}

type recorded struct {
	p    *gpu.Program
	bind map[*gpu.Region]gpu.Buffer
}

func (r *recorded) Program() *gpu.Program { return r.p }
func (r *recorded) Free()                 {}

func (f *fake) Caps() gpu.Caps                       { return gpu.Caps{} }
func (f *fake) SetSeed(s uint64)                     { f.seed = s }
func (f *fake) Map([]byte) (gpu.Buffer, error)       { return nil, gpu.ErrClosed }
func (f *fake) Wait(context.Context, uint64) error   { return nil }
func (f *fake) Close() error                         { return nil }
func (f *fake) Alloc(size int64) (gpu.Buffer, error) { return &memory{make([]byte, size)}, nil }
func (f *fake) kernel(name string, args ...kernels.Arg) kernels.Launch {
	return kernels.Launch{
		Kernel: &kernels.Kernel{Name: name, Args: args}, Grid: [3]uint32{1, 1, 1}, Simdgroups: 1,
	}
}

func (f *fake) Compile(_ context.Context, p *gpu.Program, bind map[*gpu.Region]gpu.Buffer) (gpu.Exec, error) {
	return &recorded{p, bind}, p.Validate()
}

func (f *fake) Submit(x gpu.Exec, step gpu.Buffer) (uint64, error) {
	f.runs++
	r := x.(*recorded)
	for i := range r.p.Ops {
		op := &r.p.Ops[i]
		var args [][]byte
		for _, s := range op.Args {
			switch s.Region {
			case nil:
				args = append(args, make([]byte, 64))
			case gpu.Step:
				args = append(args, step.Bytes())
			default:
				args = append(args, r.bind[s.Region].Bytes()[s.Off-16:s.Off+s.Len+16])
			}
		}
		f.kernels[op.Kernel.Name](f.seed, args)
	}
	return uint64(f.runs), nil
}

// failing is a test that is expected to fail.
type failing struct {
	testing.TB
	message string
}

func (f *failing) Helper()                   {}
func (f *failing) Fatal(args ...any)         { f.fatal(fmt.Sprint(args...)) }
func (f *failing) Fatalf(s string, a ...any) { f.fatal(fmt.Sprintf(s, a...)) }
func (f *failing) fatal(s string) {
	f.message = s
	runtime.Goexit()
}

// outcome is the message with which run fails, or "".
func outcome(t *testing.T, run func(t testing.TB)) string {
	f := &failing{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(f)
	}()
	<-done
	return f.message
}

// inside is where an argument of n bytes begins and ends in what a fake kernel gets.
func inside(b []byte) []byte { return b[16 : len(b)-16] }

func TestRigFindsMistakes(t *testing.T) {
	calls := 0
	dev := &fake{kernels: map[string]func(uint64, [][]byte){
		"good":           func(_ uint64, a [][]byte) { copy(inside(a[1]), inside(a[0])) },
		"nothing":        func(uint64, [][]byte) {},
		"over":           func(_ uint64, a [][]byte) { a[1][len(a[1])-16] = 1 },
		"under":          func(_ uint64, a [][]byte) { a[1][15] = 1 },
		"input":          func(_ uint64, a [][]byte) { inside(a[0])[3]++ },
		"over the input": func(_ uint64, a [][]byte) { a[0][len(a[0])-1] = 1 },
		"random": func(_ uint64, a [][]byte) {
			calls++
			inside(a[1])[2] = byte(calls)
		},
		"racy": func(seed uint64, a [][]byte) { inside(a[1])[1] = byte(seed) },
	}}
	for _, tc := range []struct{ name, want string }{
		{"good", ""},
		{"nothing", ""},
		{"over", "a guard word after variable 1 was overwritten, 0 bytes into"},
		{"under", "a guard word before variable 1 was overwritten"},
		{"input", "variable 0 is only read, but its byte 3 changed"},
		{"over the input", "a guard word after variable 0 was overwritten, 15 bytes into"},
		{"random", "second run: variable 1 differs from the first run at byte 2"},
		{"racy", "shuffled with seed 1: variable 1 differs from the first run at byte 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x, y := kernels.Arg{Name: "x", Access: kernels.Read}, kernels.Arg{Name: "y", Access: kernels.Write}
			got := outcome(t, func(t testing.TB) {
				RunOp(t, dev, dev.kernel(tc.name, x, y), Bytes([]byte("abcdefg")), Out(7))
			})
			if !strings.Contains(got, tc.want) || tc.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if dev.seed != 0 {
				t.Errorf("the device is left with seed %d", dev.seed)
			}
		})
	}
}

func TestRigStep(t *testing.T) {
	dev := &fake{kernels: map[string]func(uint64, [][]byte){
		"take": func(_ uint64, a [][]byte) { copy(inside(a[1]), a[0][kernels.IDsOffset:]) },
		"bump": func(_ uint64, a [][]byte) { a[0][0]++ },
		"over": func(_ uint64, a [][]byte) { a[0][kernels.StepBytes] = 0 },
	}}
	record := StepData(StepRecord{Params: kernels.StepParams{Pos: 7}, IDs: []uint32{5, 6}, Pages: []uint32{9}})
	read := kernels.Arg{Name: kernels.StepArg, Access: kernels.Read}
	write := kernels.Arg{Name: kernels.StepArg, Access: kernels.ReadWrite}
	out := RunOp(t, dev, dev.kernel("take", read, kernels.Arg{Name: "y", Access: kernels.Write}), record, Out(8))
	if got := ToU32(out[1]); got[0] != 5 || got[1] != 6 {
		t.Errorf("got ids %v, want [5 6]", got)
	}
	if got := ToU32(out[0][kernels.PagesOffset:])[0]; got != 9 {
		t.Errorf("got page %d, want 9", got)
	}
	if got := RunOp(t, dev, dev.kernel("bump", write), record)[0][0]; got != 8 {
		t.Errorf("got position %d, want 8", got)
	}
	for name, arg := range map[string]kernels.Arg{"bump": read, "over": write} {
		if got := outcome(t, func(t testing.TB) { RunOp(t, dev, dev.kernel(name, arg), record) }); got == "" {
			t.Errorf("%s: no failure", name)
		}
	}
}

func TestRigSharesVariables(t *testing.T) {
	add := func(_ uint64, a [][]byte) { inside(a[1])[0] += inside(a[0])[0] }
	dev := &fake{kernels: map[string]func(uint64, [][]byte){"add": add}}
	l := dev.kernel("add", kernels.Arg{Name: "x", Access: kernels.Read},
		kernels.Arg{Name: "y", Access: kernels.ReadWrite})
	r := NewRig(t, dev)
	x, y := r.Var(Bytes([]byte{1})), r.Var(Bytes([]byte{2}))
	r.Op(l, x, y)
	r.Op(l, y, x)
	r.Run()
	if x.Out()[0] != 4 || y.Out()[0] != 3 {
		t.Errorf("got %d and %d, want 4 and 3", x.Out()[0], y.Out()[0])
	}
	if want := 2 + len(seeds); dev.runs != want {
		t.Errorf("got %d runs, want %d", dev.runs, want)
	}
}
