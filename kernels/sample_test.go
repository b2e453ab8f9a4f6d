package kernels

import "testing"

func TestSampleGeometry(t *testing.T) {
	tiny, full := Sampler{N: 4096, Parts: 16}, Sampler{N: 248320, Parts: 970}
	checkGeometry(t, []geometry{
		{"argmax", Argmax{N: 4096, Parts: 16}, "argmax", [3]uint32{1, 1, 1}, 32, nil},
		{"process of one token", launch(Sampler{N: 1, Parts: 1}.Process), "sample_process", [3]uint32{1, 1, 1}, 8, nil},
		{"process", launch(tiny.Process), "sample_process", [3]uint32{2, 1, 1}, 8, nil},
		{"process of the full vocabulary", launch(full.Process), "sample_process", [3]uint32{122, 1, 1}, 8, nil},
		{"final", launch(full.Final), "sample_final", [3]uint32{1, 1, 1}, 32, nil},
	})
	checkRefused(t, []refusal{
		{"argmax of nothing", Argmax{Parts: 1}},
		{"argmax without parts", Argmax{N: 4}},
		{"more parts than tokens", Argmax{N: 4, Parts: 5}},
		{"no tokens", launch(Sampler{Parts: 1}.Process)},
		{"no parts", launch(Sampler{N: 9}.Final)},
		{"too many tokens", launch(Sampler{N: 1 << 25, Parts: 1}.Final)},
	})
	sizes := []int64{full.StatsBytes(), full.ListBytes()}
	for i, want := range []int64{122 * 16, 122 * 1024 * 8} {
		if sizes[i] != want {
			t.Errorf("scratch %d of the full vocabulary: %d bytes, want %d", i, sizes[i], want)
		}
	}
}
