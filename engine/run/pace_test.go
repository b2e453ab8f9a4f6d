package run

import (
	"testing"
	"time"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// capable is a device of which only the caps are asked.
type capable struct {
	gpu.Device
	chunk int
	limit int64
}

func (d capable) Caps() gpu.Caps { return gpu.Caps{Chunk: d.chunk, MemoryLimit: d.limit} }

func TestPace(t *testing.T) {
	const ms = time.Millisecond
	type chunk struct {
		rows int
		took time.Duration
		then int
	}
	for _, c := range []struct {
		name            string
		suggests, asked int
		chunks          []chunk
	}{
		{"fits", 64, 0, []chunk{{1, ms, 64}, {64, 99 * ms, 64}, {64, 50 * ms, 64}, {3, ms, 64}}},
		{"slow", 64, 0, []chunk{
			{1, 3 * ms, 64},
			{64, 150 * ms, 32},
			{32, 101 * ms, 16},
			{16, 40 * time.Second, 1},
			{1, time.Hour, 1},
		}},
		{"slow in the last, short chunk", 64, 0, []chunk{{1, ms, 64}, {10, 200 * ms, 4}}},
		{"quick", 64, 0, []chunk{
			{1, ms, 64},
			{64, 10 * ms, 128},
			{64, 10 * ms, 128},
			{128, 20 * ms, 256},
			{256, ms, 256},
		}},
		{"slow, then quick", 64, 0, []chunk{
			{1, ms, 64},
			{64, time.Second, 4},
			{4, ms, 8},
			{8, 2 * ms, 16},
			{16, 60 * ms, 16},
		}},
		{"as asked", 64, 48, []chunk{{48, time.Hour, 48}, {48, ms, 48}}},
		{"not a power of two", 100, 0, []chunk{{1, ms, 100}, {100, 110 * ms, 64}, {64, ms, 128}}},
		{"largest", kernels.MaxRows, 0, []chunk{{1, ms, kernels.MaxRows}, {kernels.MaxRows, ms, kernels.MaxRows}}},
		{"asked too much", 64, 1 << 20, []chunk{{kernels.MaxRows, time.Hour, kernels.MaxRows}}},
		{"no suggestion", 0, 0, []chunk{{1, ms, 1}, {1, ms, 2}}},
		{"weights on disk", 64, 0, []chunk{{1, time.Second, 1}, {1, 20 * ms, 2}, {2, 21 * ms, 4}, {4, 60 * ms, 4}}},
		{"a row takes all", 64, 0, []chunk{{1, 90 * ms, 1}, {1, 90 * ms, 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPace(Config{Device: capable{chunk: c.suggests}, Chunk: c.asked})
			for i, s := range c.chunks {
				if p.took(s.rows, s.took); p.rows != s.then || p.rows > p.widest() {
					t.Fatalf("after chunk %d: %d rows, want %d; at most %d", i, p.rows, s.then, p.widest())
				}
			}
		})
	}
}

// TestPaceRecovers reads a long prompt on devices of several speeds, where the first chunk takes seconds because the
// weights come from the disk: the pace gets back to rows that take at least half of the time that a chunk may take.
func TestPaceRecovers(t *testing.T) {
	for _, c := range []struct {
		suggests int
		fixed    time.Duration // for what all rows share
		row      time.Duration
	}{
		{512, 37 * time.Millisecond, 100 * time.Microsecond},
		{128, 30 * time.Millisecond, 400 * time.Microsecond},
		{32, 20 * time.Millisecond, 4 * time.Millisecond},
	} {
		p := newPace(Config{Device: capable{chunk: c.suggests}})
		took := func() time.Duration { return c.fixed + time.Duration(p.rows)*c.row }
		p.took(p.rows, took()+4*time.Second)
		for range 20 {
			p.took(p.rows, took())
		}
		if d := took(); d < chunkTime/2 || d > chunkTime {
			t.Errorf("%d rows suggested: %d rows after a slow chunk, which take %v", c.suggests, p.rows, took())
		}
	}
}
