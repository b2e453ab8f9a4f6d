package nn_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"sotto/engine/gpu"
	"sotto/engine/model"
	"sotto/engine/nn"
	"sotto/engine/weights"
	"sotto/kernels"
)

// TestSparseIsDense reads dead neurons too: not a bit may change, and neither where scales are kept in full. Half of
// the neurons of the small checkpoints are alive, and a few in a hundred of the built-in model's.
func TestSparseIsDense(t *testing.T) {
	builds(t, func(t *testing.T, dev gpu.Device) {
		for _, tt := range []struct {
			folder string
			dtype  kernels.DType
		}{
			{goldenFolder + "/nemotron_a", kernels.BF16},
			{goldenFolder + "/nemotron_b", kernels.F32},
			{"../../assets/models/nemotron-tiny", kernels.BF16},
		} {
			t.Run(filepath.Base(tt.folder)+" "+tt.dtype.String(), func(t *testing.T) {
				files := unpack(t, tt.folder)
				testSparse(t, newRig(t, dev, files, tt.dtype, 1), plainRig(t, dev, files, tt.dtype))
			})
		}
	})
}

func testSparse(t *testing.T, r, plain *rig) {
	prompt := make([]int32, 70)
	if slow(r.dev) {
		prompt = prompt[:9]
	}
	for i := range prompt {
		prompt[i] = int32((i*i*7 + 20) % min(r.model.Spec.Vocab, 400))
	}
	if got, other := compactItems(r), compactItems(plain); got == 0 || other != 0 {
		t.Fatalf("%d items with scales of four bits, and %d where none should be", got, other)
	}
	for _, n := range []int{1, 3, len(prompt)} {
		want := r.cuts(prompt, n)
		r.same(fmt.Sprintf("passes of %d, full scales", n), plain.cuts(prompt, n), want)
		r.dense, plain.dense = true, true
		r.same(fmt.Sprintf("passes of %d, dense", n), r.cuts(prompt, n), want)
		r.same(fmt.Sprintf("passes of %d, dense, full scales", n), plain.cuts(prompt, n), want)
		r.dense, plain.dense = false, false
	}
}

func compactItems(r *rig) int {
	n := 0
	for _, e := range r.model.Weights.Entries() {
		if e.Format == weights.NM20 {
			n++
		}
	}
	return n
}

// TestMasksChangeNothing keeps the bitmaps of live neurons.
func TestMasksChangeNothing(t *testing.T) {
	files := unpack(t, goldenFolder+"/nemotron_a")
	r := newRig(t, openDevice(t, ""), files, kernels.BF16, 1)
	prompt := openGoldens(t, files).ids(t, "prompt")
	want := r.cuts(prompt, 16)
	r.masks = true
	r.same("with masks", r.cuts(prompt, 16), want)
	if got := len(r.pass(nn.Options{Rows: 16, Logits: nn.AllLogits, Masks: true}).Masks); got != 3 {
		t.Errorf("masks of %d blocks, want 3", got)
	}
}

// activations finds the hidden rows of a layer's experts: the argument h of the op with this label.
func activations(t *testing.T, c *compiled, label string) []float32 {
	t.Helper()
	for _, op := range c.Ops {
		for i, a := range op.Kernel.Args {
			if op.Label == label && a.Name == "h" {
				return c.floats(kernels.BF16, op.Args[i])
			}
		}
	}
	t.Fatalf("no op %s with hidden rows", label)
	return nil
}

// direct counts what a reading of the down projection takes from the activations themselves: n neurons, each with half
// a byte a weight, and two numbers of a group of 64 neurons for every output.
func direct(h []float32, n, outputs int, scale float64) nn.Count {
	c := nn.Count{}
	for ; len(h) > 0; h = h[n:] {
		c.Visits++
		c.Neurons += int64(n)
		group := int64(float64(outputs) * (scale + 2))
		for g := range n / 64 {
			c.Full += group + 64*int64(outputs)/2
			live := int64(0)
			for _, v := range h[64*g : 64*g+64] {
				if v != 0 {
					live++
				}
			}
			c.Alive += live
			c.LiveOnly += live * int64(outputs) / 2
			c.Touched += live * int64(outputs) / 2
			if live > 0 {
				c.Touched += group
			}
		}
	}
	return c
}

// TestCensus compares what bitmaps say with what activations say, on the built-in model.
func TestCensus(t *testing.T) {
	files := unpack(t, "../../assets/models/nemotron-tiny")
	dev := openDevice(t, "")
	for _, tt := range []struct {
		name  string
		rig   *rig
		scale float64 // bytes of a scale
	}{
		{"scales of four bits", newRig(t, dev, files, kernels.BF16, 1), 0.5},
		{"full scales", plainRig(t, dev, files, kernels.BF16), 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.rig.in(t)
			p, err := nn.RecordSpread(r.model, nn.Options{Rows: 1, Masks: true}, 256)
			if err != nil {
				t.Fatal(err)
			}
			c, s := r.bind(p), r.session()
			census, want := nn.NewCensus(r.model), map[int]*nn.Neurons{}
			for id := range int32(12) {
				r.begin(s, []int32{40 + 3*id})
				r.run(c.exec, s)
				s.Step().Advance()
				census.Add(c.Pass, c.scratch.Bytes(), 1)
				for _, b := range r.model.Spec.Blocks {
					m, ok := b.Mixer.(*model.SparseMoE)
					if !ok {
						continue
					}
					if want[b.Layer] == nil {
						want[b.Layer] = &nn.Neurons{Layer: b.Layer}
					}
					label := fmt.Sprintf("layer %d: ", b.Layer)
					shared, routed := activations(t, c, label+"shared up"), activations(t, c, label+"experts up")
					sum(&want[b.Layer].Shared, direct(shared, m.SharedInner, 256, tt.scale))
					sum(&want[b.Layer].Routed, direct(routed, m.Inner, 256, tt.scale))
				}
			}
			for _, got := range census.Layers() {
				if got != *want[got.Layer] {
					t.Errorf("layer %d: got %+v, want %+v", got.Layer, got, *want[got.Layer])
				}
			}
			if got := len(census.Layers()); got != 6 {
				t.Errorf("%d layers, want 6", got)
			}
		})
	}
}

func sum(c *nn.Count, more nn.Count) {
	c.Visits += more.Visits
	c.Neurons += more.Neurons
	c.Alive += more.Alive
	c.Full += more.Full
	c.LiveOnly += more.LiveOnly
	c.Touched += more.Touched
}

// tilesOf counts neurons that are alive for a visit of a tile of up to 32, and for any visit, of visits that all are of
// one expert: bit n of line i of a bitmap.
func tilesOf(bits []byte, width int, visits []int) (c nn.Count) {
	for neuron := range width {
		tiles := map[int]bool{}
		for i, visit := range visits {
			if bits[visit*width/8+neuron/8]>>(neuron%8)&1 != 0 {
				tiles[i/32] = true
			}
		}
		c.TileAlive += int64(len(tiles))
		c.EverAlive += int64(min(len(tiles), 1))
	}
	c.TileNeurons, c.EverNeurons = int64((len(visits)+31)/32*width), int64(width)
	return c
}

// TestCensusOfTiles counts the unions of a pass of many rows neuron by neuron.
func TestCensusOfTiles(t *testing.T) {
	files := unpack(t, goldenFolder+"/nemotron_a")
	r := newRig(t, openDevice(t, ""), files, kernels.BF16, 1)
	prompt := openGoldens(t, files).ids(t, "prompt")
	c, s := r.pass(nn.Options{Rows: 256, Masks: true}), r.session()
	r.begin(s, prompt)
	r.run(c.exec, s)
	census := nn.NewCensus(r.model)
	census.Add(c.Pass, c.scratch.Bytes(), len(prompt))
	for i, got := range census.Layers() {
		k, scratch := c.Masks[i], c.scratch.Bytes()
		want := nn.Neurons{Layer: got.Layer}
		rows, experts := []int{}, map[byte][]int{}
		for row := range prompt {
			rows = append(rows, row)
			for slot := range 2 {
				visit := 2*row + slot
				expert := scratch[k.Chosen.Off:][4*visit]
				experts[expert] = append(experts[expert], visit)
			}
		}
		want.Shared = tilesOf(scratch[k.Shared.Off:], 256, rows)
		for _, visits := range experts {
			one := tilesOf(scratch[k.Routed.Off:], 128, visits)
			want.Routed.TileAlive += one.TileAlive
			want.Routed.TileNeurons += one.TileNeurons
			want.Routed.EverAlive += one.EverAlive
			want.Routed.EverNeurons += one.EverNeurons
		}
		if got != want {
			t.Errorf("layer %d: got %+v, want %+v", got.Layer, got, want)
		}
	}
}
