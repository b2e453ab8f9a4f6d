package nn_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"
	"unsafe"

	"sotto/engine/gpu"
	"sotto/engine/nn"
	"sotto/kernels"
)

// What must be the same in every bit, on one device: a second run, any order of simdgroups, threadgroups and ops of a
// stage, a prompt cut anywhere (hence prefill and decode, scan and step), rows of one pass and passes of one row.

// outcome is all that a session leaves: logits and state.
type outcome struct {
	logits []float32
	state  map[string][]float32
}

func (r *rig) same(what string, got, want outcome) {
	r.t.Helper()
	if i := sameBits(got.logits, want.logits); i >= 0 {
		r.t.Errorf("%s: logit %d of row %d differs", what, i%r.model.Spec.Vocab, i/r.model.Spec.Vocab)
	}
	for _, name := range slices.Sorted(maps.Keys(want.state)) {
		if i := sameBits(got.state[name], want.state[name]); i >= 0 {
			r.t.Errorf("%s: %s differs at %d", what, name, i)
		}
	}
}

// cuts reads a prompt in passes of n rows each.
func (r *rig) cuts(ids []int32, n int) outcome {
	r.t.Helper()
	s, err := r.arena.Open()
	if err != nil {
		r.t.Fatal(err)
	}
	defer s.Close()
	logits := r.readCut(s, ids, n)
	return outcome{logits, r.snapshot(s)}
}

func TestCutAnywhere(t *testing.T) {
	builds(t, func(t *testing.T, dev gpu.Device) {
		for _, name := range slices.Concat(small, large) {
			for _, d := range []kernels.DType{kernels.F32, kernels.BF16} {
				if slow(dev) && (d == kernels.BF16) != slices.Contains(small, name) {
					continue
				}
				t.Run(name+" "+d.String(), func(t *testing.T) {
					files := unpack(t, goldenFolder+"/"+name)
					r := newRig(t, dev, files, d, 1)
					prompt, sizes := openGoldens(t, files).ids(t, "prompt"), []int{1, 2, 3, 4, 5, 7, 16, 33}
					if slow(dev) {
						prompt, sizes = prompt[:20], []int{1, 4, 7, 17}
					}
					want := r.cuts(prompt, len(prompt))
					for _, n := range sizes {
						r.same(fmt.Sprintf("passes of %d", n), r.cuts(prompt, n), want)
					}
					r.same("second run", r.cuts(prompt, len(prompt)), want)
				})
			}
		}
	})
}

// TestCutLong cuts where a key block ends, and elsewhere.
func TestCutLong(t *testing.T) {
	for _, name := range small {
		t.Run(name, func(t *testing.T) {
			files := unpack(t, goldenFolder+"/"+name)
			r := newRig(t, openDevice(t, ""), files, kernels.BF16, 1)
			long := openGoldens(t, files).ids(t, "prompt.long")
			want := r.cuts(long, len(long))
			for _, n := range []int{1, 64, 255, 256, 257} {
				r.same(fmt.Sprintf("passes of %d", n), r.cuts(long, n), want)
			}
		})
	}
}

// TestHead compares the head of one row with the one of many.
func TestHead(t *testing.T) {
	builds(t, func(t *testing.T, dev gpu.Device) {
		for _, name := range small {
			files := unpack(t, goldenFolder+"/"+name)
			r := newRig(t, dev, files, kernels.BF16, 1)
			prompt := openGoldens(t, files).ids(t, "prompt")
			all := r.cuts(prompt, len(prompt)).logits
			s := r.session()
			r.begin(s, prompt)
			c := r.pass(nn.Options{Rows: 256, Logits: nn.LastLogits})
			r.run(c.exec, s)
			last := c.floats(kernels.F32, c.Logits)
			if i := sameBits(last, all[len(all)-len(last):]); i >= 0 {
				t.Errorf("%s: logit %d differs", name, i)
			}
		}
	})
}

// TestAnyOrder shuffles the exact build.
func TestAnyOrder(t *testing.T) {
	dev := openDevice(t, exact)
	shuffler, ok := dev.(interface{ SetSeed(seed uint64) })
	if !ok {
		t.Fatal("the device cannot shuffle")
	}
	for _, name := range small {
		t.Run(name, func(t *testing.T) {
			files := unpack(t, goldenFolder+"/"+name)
			r := newRig(t, dev, files, kernels.BF16, 1)
			prompt := openGoldens(t, files).ids(t, "prompt")[:20]
			for _, n := range []int{1, 3, 20} {
				want := r.cuts(prompt, n)
				for _, seed := range []uint64{1, 2, 0x9e3779b97f4a7c15} {
					shuffler.SetSeed(seed)
					r.same(fmt.Sprintf("passes of %d, seed %d", n, seed), r.cuts(prompt, n), want)
				}
				shuffler.SetSeed(0)
			}
		})
	}
}

// TestSessions runs two sessions side by side: neither may notice the other.
func TestSessions(t *testing.T) {
	for _, name := range small {
		t.Run(name, func(t *testing.T) {
			files := unpack(t, goldenFolder+"/"+name)
			newRig(t, openDevice(t, ""), files, kernels.BF16, 2).testSessions(openGoldens(t, files).ids(t, "prompt"))
		})
	}
}

func (r *rig) testSessions(prompt []int32) {
	other := slices.Clone(prompt)
	slices.Reverse(other)
	want, wantOther := r.cuts(prompt, 16), r.cuts(other, 16)
	s, u := r.session(), r.session()
	var got, gotOther outcome
	for i := 0; i < len(prompt); i += 16 {
		end := min(i+16, len(prompt))
		gotOther.logits = append(gotOther.logits, r.read(u, other[i:end])...)
		got.logits = append(got.logits, r.read(s, prompt[i:end])...)
	}
	got.state, gotOther.state = r.snapshot(s), r.snapshot(u)
	r.same("first", got, want)
	r.same("second", gotOther, wantOther)
}

// TestGuards surrounds every range of a program with guard bytes and poisons what has not been written: nothing but
// the ranges that ops declare as written may change, and no result may hold a NaN.
func TestGuards(t *testing.T) {
	builds(t, func(t *testing.T, dev gpu.Device) {
		for _, name := range large {
			files := unpack(t, goldenFolder+"/"+name)
			r := newRig(t, dev, files, kernels.BF16, 3)
			prompt := openGoldens(t, files).ids(t, "prompt")
			for _, o := range []nn.Options{
				{Rows: 16, Logits: nn.AllLogits},
				{Rows: 3, Logits: nn.AllLogits},
				greedy1, sampled1,
				{Rows: 64, Logits: nn.LastLogits, Sampler: nn.Sampled},
			} {
				t.Run(fmt.Sprintf("%s %+v", name, o), func(t *testing.T) { r.in(t).testGuards(o, prompt) })
			}
		}
	})
}

func (r *rig) testGuards(o nn.Options, prompt []int32) {
	p, err := nn.RecordSpread(r.model, o, 1024)
	if err != nil {
		r.t.Fatal(err)
	}
	c := r.bind(p)
	defer c.scratch.Free()
	defer c.exec.Free()
	poison(c.scratch.Bytes())
	poison(r.arena.Buffers()[r.model.State.KV].Bytes())
	before := r.session() // its slot and pages must not change
	s := r.session()
	r.begin(before, prompt[:1])
	r.begin(s, prompt[:max(1, o.Rows-1)])
	s.Step().Params().Limit = 100

	buffers := p.Bind(r.pack, c.scratch, r.arena.Buffers())
	step := bytes.Clone(s.Step().Buffer().Bytes())
	images := map[*gpu.Region][]byte{}
	for region, b := range buffers {
		images[region] = bytes.Clone(b.Bytes())
	}
	r.run(c.exec, s)
	for region, b := range buffers {
		r.untouched(p.Program, region, b.Bytes(), images[region])
	}
	r.untouchedSlots(s.Slot(), images)
	r.untouchedStep(o, s.Step().Buffer().Bytes(), step)
	if bad := slices.IndexFunc(c.floats(kernels.F32, p.Logits)[:r.model.Spec.Vocab], isNaN); bad >= 0 {
		r.t.Errorf("logit %d is NaN", bad)
	}
}

func isNaN(f float32) bool { return f != f }

// untouched compares everything of a region that no op writes.
func (r *rig) untouched(p *gpu.Program, region *gpu.Region, got, want []byte) {
	r.t.Helper()
	got = bytes.Clone(got)
	for _, op := range p.Ops {
		for i, a := range op.Args {
			if a.Region == region && op.Kernel.Args[i].Access&kernels.Write != 0 {
				copy(got[a.Off:a.Off+a.Len], want[a.Off:a.Off+a.Len])
			}
		}
	}
	for i := range got {
		if got[i] != want[i] {
			r.t.Errorf("region %s: byte %d changed, which no op writes", region.Name, i)
			return
		}
	}
}

// untouchedStep compares the parts of the step buffer that a pass may not write: without a sampler all of it, with one
// everything but the record, the first token's place in the ring and in the alternatives, and the first id.
func (r *rig) untouchedStep(o nn.Options, got, want []byte) {
	r.t.Helper()
	got = bytes.Clone(got)
	if o.Sampler != nn.NoSampler {
		ring, alts := int(unsafe.Sizeof(kernels.RingRecord{})), 8*kernels.MaxAlternatives
		for _, part := range [][2]int{
			{kernels.StepOffset, kernels.RingOffset},
			{kernels.RingOffset, kernels.RingOffset + ring},
			{kernels.AltsOffset, kernels.AltsOffset + alts},
			{kernels.IDsOffset, kernels.IDsOffset + 4},
		} {
			copy(got[part[0]:part[1]], want[part[0]:part[1]])
		}
	}
	for i := range got {
		if got[i] != want[i] {
			r.t.Errorf("byte %d of the step buffer changed", i)
			return
		}
	}
}

// untouchedSlots compares the state of other slots and pages that the session does not hold.
func (r *rig) untouchedSlots(slot int, images map[*gpu.Region][]byte) {
	r.t.Helper()
	l := r.model.State
	for i, b := range l.Blocks {
		for name, a := range map[string]gpu.Slice{"recurrent state": b.S, "convolution": b.Conv} {
			if a.Len == 0 {
				continue
			}
			n := a.Len / int64(l.Slots)
			now := r.arena.Buffers()[a.Region].Bytes()
			for other := range l.Slots {
				from := a.Off + int64(other)*n
				if other != slot && !bytes.Equal(now[from:from+n], images[a.Region][from:from+n]) {
					r.t.Errorf("block %d: %s of slot %d changed", i, name, other)
				}
			}
		}
		for name, a := range map[string]gpu.Slice{"keys": b.K, "values": b.V} {
			n := a.Len / int64(l.Pages)
			for page := range l.Pages {
				from := a.Off + int64(page)*n
				// The sessions hold pages 0 and 1; the second one ran.
				if a.Len > 0 && page != 1 && !bytes.Equal(
					r.arena.Buffers()[a.Region].Bytes()[from:from+n], images[a.Region][from:from+n]) {
					r.t.Errorf("block %d: %s of page %d changed", i, name, page)
				}
			}
		}
	}
}
