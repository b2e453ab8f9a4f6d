package nn_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"sotto/engine/gpu"
	"sotto/engine/gpu/host"
	"sotto/engine/nn"
	"sotto/engine/state"
	"sotto/kernels"
)

// BenchmarkDecodeOps logs where the time of a decode step of the built-in model goes: for each kind of op, what its
// ops take together. Every op is submitted alone and in order, so ops that share a stage do not overlap here. A time
// is that of the fastest twentieth of the steps, which other programs disturb least, without the cost of a submission.
func BenchmarkDecodeOps(b *testing.B) {
	benchOps(b, nn.Options{Rows: 1, Logits: nn.LastLogits, Sampler: nn.Greedy, Context: 256})
}

// BenchmarkPrefillOps is the same for a chunk of a prompt.
func BenchmarkPrefillOps(b *testing.B) {
	for _, rows := range []int{16, 64, 256} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) { benchOps(b, nn.Options{Rows: rows}) })
	}
}

func benchOps(b *testing.B, o nn.Options) {
	for _, threads := range slices.Compact([]int{1, runtime.NumCPU()}) {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			dev, err := host.Open(host.Options{Threads: threads})
			if err != nil {
				b.Fatal(err)
			}
			defer dev.Close()
			timeOps(b, newRig(b, dev, unpack(b, "../../assets/models/qwen-tiny"), kernels.BF16, 1), o)
		})
	}
}

func timeOps(b *testing.B, r *rig, o nn.Options) {
	s, err := r.arena.Open()
	if err != nil {
		b.Fatal(err)
	}
	pass := record(b, r.model, o)
	bind := pass.Bind(r.pack, r.alloc(pass.Scratch.Size), r.arena.Buffers())
	ids := make([]int32, o.Rows)
	for i := range ids {
		ids[i] = int32(7*i + 1)
	}
	programs := []*gpu.Program{{Name: "nothing", Rows: o.Rows}}
	for i := range pass.Ops {
		programs = append(programs, &gpu.Program{Name: pass.Ops[i].Label, Rows: o.Rows, Ops: pass.Ops[i : i+1]})
	}
	var execs []gpu.Exec
	for _, p := range append(programs, pass.Program) {
		x, err := r.dev.Compile(b.Context(), p, bind)
		if err != nil {
			b.Fatal(err)
		}
		execs = append(execs, x)
	}
	took := make([][]time.Duration, len(execs))
	for b.Loop() {
		for i, x := range execs {
			if i == 0 || i > len(pass.Ops) { // the whole pass runs from where the parts began
				again(r, s, ids)
			}
			begin := time.Now()
			r.run(x, s)
			took[i] = append(took[i], time.Since(begin))
		}
	}
	fast := make([]time.Duration, len(took))
	for i, t := range took {
		slices.Sort(t)
		fast[i] = t[len(t)/20]
	}
	b.Log(table(programs[1:], fast[1:len(fast)-1], fast[0]))
	whole := fast[len(fast)-1].Seconds()
	b.ReportMetric(1e6*whole, "us/step")
	b.ReportMetric(float64(o.Rows)/whole, "tok/s")
	b.ReportMetric(0, "ns/op")
}

// table sums the times of programs of one op by kind: the op's label without its layer.
func table(programs []*gpu.Program, took []time.Duration, empty time.Duration) string {
	type row struct {
		kind  string
		ops   int
		time  time.Duration
		bytes int64
	}
	var rows []row
	for i, p := range programs {
		kind := strings.TrimSpace(p.Name[strings.LastIndexByte(p.Name, ':')+1:])
		at := slices.IndexFunc(rows, func(r row) bool { return r.kind == kind })
		if at < 0 {
			at, rows = len(rows), append(rows, row{kind: kind})
		}
		rows[at].ops++
		rows[at].time += max(took[i]-empty, 0)
		rows[at].bytes += p.Facts().Bytes
	}
	slices.SortStableFunc(rows, func(x, y row) int { return int(y.time - x.time) })
	var t strings.Builder
	for i, r := range rows {
		if i%3 == 0 { // a log keeps ten lines
			t.WriteByte('\n')
		}
		fmt.Fprintf(&t, "%-16s %2d ops %9.1f us %5.2f GB/s   ", r.kind, r.ops, float64(r.time)/1e3,
			float64(r.bytes)/float64(max(r.time, 1)))
	}
	return t.String()
}

// again sets the step to the same place: a decode step at position 200, or a chunk at 0.
func again(r *rig, s *state.Session, ids []int32) {
	p := s.Step().Params()
	p.Pos, p.Greedy, p.Limit, p.Step = 0, 1, 1<<31, 0
	if len(ids) == 1 {
		p.Pos = 200
	}
	r.begin(s, ids)
}
