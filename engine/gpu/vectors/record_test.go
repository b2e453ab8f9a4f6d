//go:build linux && amd64

package vectors

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/gob"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"sotto/engine/gpu"
	"sotto/engine/gpu/gputest"
	"sotto/engine/gpu/host"
	"sotto/kernels"
)

var update = flag.Bool("update", false, "record the vectors anew")

const exactLibrary = "../../../build/kernels/exact.so"

func open(t *testing.T, library string) gpu.Device {
	t.Helper()
	d, err := host.Open(host.Options{Library: library})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// TestRecord makes the file from the kernel suites.
func TestRecord(t *testing.T) {
	if !*update {
		t.Skip("only with -update")
	}
	r := &recorder{Device: open(t, exactLibrary), best: map[string]*candidate{}}
	for _, s := range gputest.Suites() {
		t.Run(s.Name, func(t *testing.T) { s.Run(t, r) })
	}
	var data bytes.Buffer
	z, _ := gzip.NewWriterLevel(&data, gzip.BestCompression)
	if err := gob.NewEncoder(z).Encode(r.set(t)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("vectors.gob.gz", data.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// keyBytes weighs a position of text against bytes of memory: what attention reads cannot be told from its arguments.
const keyBytes = 4096

// recorder is a device that keeps, for every entry point, the smallest program with it that ran.
type recorder struct {
	gpu.Device
	best map[string]*candidate
	last *candidate
}

type candidate struct {
	program    *gpu.Program
	slices     []gpu.Slice // variables
	before     [][]byte
	after      [][]byte // nil where nothing writes
	step       []byte
	stepAfter  []byte // nil if nothing writes it
	buffers    []gpu.Buffer
	stepBuffer gpu.Buffer
	size       int
	args       [][]int
}

type recordedExec struct {
	gpu.Exec
	bind map[*gpu.Region]gpu.Buffer
}

func (r *recorder) Compile(ctx context.Context, p *gpu.Program, bind map[*gpu.Region]gpu.Buffer) (gpu.Exec, error) {
	x, err := r.Device.Compile(ctx, p, bind)
	if err != nil {
		return nil, err
	}
	return &recordedExec{x, bind}, nil
}

// Submit takes the memory before a run, if the program would be the smallest for any of its kernels.
func (r *recorder) Submit(x gpu.Exec, step gpu.Buffer) (uint64, error) {
	e := x.(*recordedExec)
	c := describe(e)
	c.size += keyBytes * int(binary.LittleEndian.Uint32(step.Bytes())) // StepParams.Pos
	if r.wanted(c) {
		for i, s := range c.slices {
			c.before = append(c.before, bytes.Clone(c.buffers[i].Bytes()[s.Off:s.Off+s.Len]))
		}
		c.step, c.stepBuffer = bytes.Clone(step.Bytes()[:kernels.StepBytes]), step
		r.last = c
	}
	return r.Device.Submit(e.Exec, step)
}

// Wait takes the memory afterwards.
func (r *recorder) Wait(ctx context.Context, n uint64) error {
	err := r.Device.Wait(ctx, n)
	c := r.last
	r.last = nil
	if err != nil || c == nil {
		return err
	}
	c.after = make([][]byte, len(c.slices))
	for i, op := range c.program.Ops {
		for j, v := range c.args[i] {
			switch written := op.Kernel.Args[j].Access&kernels.Write != 0; {
			case written && v >= 0:
				s := c.slices[v]
				c.after[v] = bytes.Clone(c.buffers[v].Bytes()[s.Off : s.Off+s.Len])
			case written && v == StepArg:
				c.stepAfter = bytes.Clone(c.stepBuffer.Bytes()[:kernels.StepBytes])
			}
		}
	}
	if !c.says() {
		return nil
	}
	c.buffers, c.stepBuffer = nil, nil
	for _, op := range c.program.Ops {
		if old := r.best[op.Kernel.Name]; old == nil || c.size < old.size {
			r.best[op.Kernel.Name] = c
		}
	}
	return nil
}

// describe lists the variables of a program and its size in bytes.
func describe(e *recordedExec) *candidate {
	c := &candidate{program: e.Program()}
	index := map[gpu.Slice]int{}
	for _, op := range c.program.Ops {
		var args []int
		for _, s := range op.Args {
			switch {
			case s.Len == 0:
				args = append(args, Unbound)
				continue
			case s.Region == gpu.Step:
				args = append(args, StepArg)
				continue
			}
			i, ok := index[s]
			if !ok {
				i = len(c.slices)
				index[s] = i
				c.slices, c.buffers = append(c.slices, s), append(c.buffers, e.bind[s.Region])
				c.size += int(s.Len)
			}
			args = append(args, i)
		}
		c.args = append(c.args, args)
	}
	c.size += 256 * len(c.program.Ops)
	return c
}

func (r *recorder) wanted(c *candidate) bool {
	for i := range c.slices {
		if c.size > 64<<20 || c.buffers[i] == nil {
			return false
		}
	}
	return slices.ContainsFunc(c.program.Ops, func(op gpu.Op) bool {
		old := r.best[op.Kernel.Name]
		return old == nil || c.size < old.size
	})
}

// says tells whether the run changed anything, with more than a few numbers in it: a pass without live rows says little
// of a kernel.
func (c *candidate) says() bool {
	distinct := map[uint32]bool{}
	for i, after := range c.after {
		for j := 0; j+4 <= len(after); j += 4 {
			if string(after[j:j+4]) != string(c.before[i][j:j+4]) {
				distinct[binary.LittleEndian.Uint32(after[j:])] = true
			}
		}
	}
	if c.stepAfter != nil && !bytes.Equal(c.step, c.stepAfter) {
		return true
	}
	return len(distinct) >= 3
}

// set gathers what was kept; equal contents are kept once.
func (r *recorder) set(t *testing.T) *Set {
	t.Helper()
	s := &Set{}
	blobs := map[[32]byte]int{}
	blob := func(b []byte) int {
		if b == nil {
			return -1
		}
		key := sha256.Sum256(b)
		i, ok := blobs[key]
		if !ok {
			i = len(s.Blobs)
			blobs[key] = i
			s.Blobs = append(s.Blobs, b)
		}
		return i
	}
	covers := map[*candidate][]string{}
	for name, c := range r.best {
		covers[c] = append(covers[c], name)
	}
	order := []*candidate{}
	for c := range covers {
		slices.Sort(covers[c])
		order = append(order, c)
	}
	slices.SortFunc(order, func(a, b *candidate) int { return cmp.Compare(covers[a][0], covers[b][0]) })
	for _, c := range order {
		minimise(t, r.Device, c)
		v := Vector{Covers: covers[c], Ops: c.ops(), Step: blob(c.step), StepAfter: blob(change(c.step, c.stepAfter))}
		for i := range c.slices {
			x := Var{Before: blob(c.before[i]), After: blob(change(c.before[i], c.after[i]))}
			if c.after[i] != nil && strings.Contains(covers[c][0], "bf16") && halves(c.before[i], c.after[i]) {
				x.Element = Half
			}
			v.Vars = append(v.Vars, x)
		}
		s.Vectors = append(s.Vectors, v)
	}
	return s
}

func (c *candidate) ops() []Op {
	var list []Op
	for i, op := range c.program.Ops {
		list = append(list, Op{
			Kernel: op.Kernel.Name, Params: op.Params, Grid: op.Grid, Simdgroups: op.Simdgroups, Limits: op.Limits,
			Args: c.args[i],
		})
	}
	return list
}

// change is what turns before into after, as [Var.After] has it.
func change(before, after []byte) []byte {
	if after == nil {
		return nil
	}
	c := make([]byte, len(after))
	subtle.XORBytes(c, before, after)
	return c
}

// halves tells bfloat16 from words of 32 bits by what was written: the lower half of a float32 is seldom a number of a
// usual size eight times in a row, nor is that of an integer.
func halves(before, after []byte) bool {
	usual, seen := 0, 0
	for i := 0; i+4 <= len(after); i += 4 {
		if string(after[i:i+4]) == string(before[i:i+4]) {
			continue
		}
		seen++
		low := binary.LittleEndian.Uint16(after[i:])
		if e := low >> 7 & 0xff; low<<1 == 0 || e > 127-30 && e < 127+16 || low == 0x7fc1 {
			usual++
		}
		if low == 0 && after[i+3] == 0 && after[i+2] == 0 {
			usual--
		}
	}
	return seen > 0 && usual == seen
}
