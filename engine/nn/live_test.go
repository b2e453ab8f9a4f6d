package nn_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"sotto/engine/nn"
	"sotto/engine/state"
	"sotto/kernels"
)

// liveShares are the live neurons of nemotron-tiny in parts of a hundred as its training measured them, with mlx-lm on
// chats that it did not learn from: layer, routed experts, shared expert.
var liveShares = [][3]float64{
	{1, 2.7, 2.2}, {3, 1.9, 1.5}, {6, 2.1, 1.4}, {8, 2.5, 1.8}, {10, 4.3, 2.7}, {13, 9.3, 10.3},
}

// TestLiveShares reads the same chats and counts live neurons where the assistant writes.
func TestLiveShares(t *testing.T) {
	text, err := os.ReadFile(goldenFolder + "/held-out-nemotron-tiny.json")
	if err != nil {
		t.Fatal(err)
	}
	var chats []struct {
		IDs  []int32
		Runs [][2]int
	}
	if err := json.Unmarshal(text, &chats); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, openDevice(t, ""), unpack(t, "../../assets/models/nemotron-tiny"), kernels.BF16, 1)
	s, census := r.session(), nn.NewCensus(r.model)
	read := func(ids []int32, most int, count bool) {
		for chunk := range slices.Chunk(ids, most) {
			c := r.pass(nn.Options{Rows: classOf(len(chunk)), Masks: true})
			r.begin(s, chunk)
			r.run(c.exec, s)
			s.Step().Advance()
			if count {
				census.Add(c.Pass, c.scratch.Bytes(), len(chunk))
			}
		}
	}
	for _, c := range chats {
		s.Reset()
		from := 0
		for _, run := range c.Runs { // the row before a token is the one that writes it
			read(c.IDs[from:run[0]-1], 256, false)
			read(c.IDs[run[0]-1:run[1]-1], 5, true)
			from = run[1] - 1
		}
	}
	layers := census.Layers()
	if len(layers) != len(liveShares) {
		t.Fatalf("%d layers, want %d", len(layers), len(liveShares))
	}
	for i, n := range layers {
		got := [3]float64{float64(n.Layer), 100 * n.Routed.Share(), 100 * n.Shared.Share()}
		t.Logf("layer %d: live %.1f %% of routed, %.1f %% of shared neurons", n.Layer, got[1], got[2])
		if want := liveShares[i]; got[0] != want[0] || math.Abs(got[1]-want[1]) > 2 || math.Abs(got[2]-want[2]) > 2 {
			t.Errorf("got %.1f, want %.1f", got, want)
		}
	}
}

// TestPublishedCase counts a shared expert of the published size of which 12 of 100 neurons are alive: of 5.6 MB, their
// weights are 0.6, and with the metadata of the groups, nearly all of which have a live neuron, it is 1.2.
func TestPublishedCase(t *testing.T) {
	m := modelOf(t, "nemotron35_lightning.json", state.Config{Slots: 1})
	p := record(t, m, nn.Options{Rows: 1, Masks: true})
	scratch := make([]byte, p.Scratch.Size)
	random := rand.New(rand.NewPCG(1, 2))
	for _, k := range p.Masks {
		for neuron := range 3712 {
			if random.IntN(100) < 12 {
				scratch[k.Shared.Off+int64(neuron/8)] |= 1 << (neuron % 8)
			}
		}
	}
	census := nn.NewCensus(m)
	census.Add(p, scratch, 1)
	layers := census.Layers()
	if len(layers) != 23 {
		t.Fatalf("%d layers", len(layers))
	}
	for _, n := range layers {
		for _, c := range []struct {
			name        string
			got, lo, hi int64
		}{
			{name: "full", got: n.Shared.Full, lo: 5_612_544, hi: 5_612_544},
			{name: "live alone", got: n.Shared.LiveOnly, lo: 0.55e6, hi: 0.65e6},
			{name: "touched", got: n.Shared.Touched, lo: 1.15e6, hi: 1.3e6},
			{name: "routed, all dead", got: n.Routed.Touched},
			{name: "routed, full", got: n.Routed.Full, lo: 6 * 2_806_272, hi: 6 * 2_806_272},
		} {
			if c.got < c.lo || c.got > c.hi {
				t.Errorf("layer %d: %s %d bytes, want %d to %d", n.Layer, c.name, c.got, c.lo, c.hi)
			}
		}
	}
}
