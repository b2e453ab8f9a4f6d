package kernels

import "testing"

func TestNeuronSlices(t *testing.T) {
	for n, want := range map[int]int{64: 1, 1024: 1, 1088: 2, 1856: 2, 2048: 2, 3712: 4, 4096: 4, 4160: 5} {
		if got := NeuronSlices(n); got != want {
			t.Errorf("%d neurons: %d slices, want %d", n, got, want)
		}
	}
}

func TestNeuronGeometry(t *testing.T) {
	rows := func(dim, div int) []Limit { return []Limit{rowLimit(dim, div)} }
	checkGeometry(t, []geometry{
		{
			"shared up",
			UpRelu2{Rows: 1, I: 3712, K: 2688},
			"up_relu2_bf16_m1",
			[3]uint32{116, 1, 1},
			8, nil,
		},
		{
			"shared up of many",
			UpRelu2{DType: F32, Rows: 64, I: 3712, K: 2688},
			"up_relu2_f32_m4",
			[3]uint32{116, 16, 1},
			8, rows(1, 4),
		},
		{
			"up",
			ExpertUpRelu2{Rows: 2, TopK: 6, Experts: 128, I: 1856, K: 2688},
			"expert_up_relu2_bf16",
			[3]uint32{58, 6, 2},
			8, rows(2, 1),
		},
		{
			"up of many",
			ExpertUpRelu2Rows{Rows: 256, TopK: 6, Experts: 128, I: 1856, K: 2688},
			"expert_up_relu2_rows_bf16",
			[3]uint32{58 * 8, 6, 29},
			8, rows(2, 1),
		},
		{
			"shared down",
			NeuronDown{Format: NM, Rows: 3, N: 3712, D: 2688},
			"neuron_down_nm_bf16_m3",
			[3]uint32{11, 4, 1},
			15, nil,
		},
		{
			"shared down in tiles",
			NeuronDown{Format: NM20, DType: F32, Rows: 5, N: 64, D: 64},
			"neuron_down_nm20_f32_m4",
			[3]uint32{1, 1, 2},
			1, rows(2, 4),
		},
		{
			"down",
			ExpertNeuronDown{Format: NM20, Rows: 5, TopK: 6, Experts: 128, N: 1856, D: 2688},
			"expert_neuron_down_nm20_bf16",
			[3]uint32{11, 12, 5},
			15, rows(2, 1),
		},
		{
			"union",
			NeuronUnion{Rows: 256, TopK: 6, Experts: 128, N: 1856},
			"neuron_union",
			[3]uint32{22, 1, 1},
			8, nil,
		},
		{
			"down of many",
			ExpertNeuronDownRows{Format: NM, Rows: 256, TopK: 6, Experts: 128, N: 1856, D: 2688},
			"expert_neuron_down_rows_nm_bf16",
			[3]uint32{11, 6, 29},
			8, rows(2, 1),
		},
		{
			"shared down of many",
			NeuronDownRows{Format: NM, DType: F32, Rows: 256, N: 3712, D: 2688},
			"neuron_down_rows_nm_f32",
			[3]uint32{11, 8, 1},
			8, rows(1, 32),
		},
		{
			"combine",
			NeuronCombine{Rows: 2, TopK: 6, Slices: 2, Shared: 4, D: 2688},
			"neuron_combine_bf16",
			[3]uint32{2, 1, 1},
			11, rows(0, 1),
		},
		{
			"combine with norm",
			NeuronCombine{Rows: 1, TopK: 6, Slices: 2, Shared: 4, D: 64, Norm: true},
			"neuron_combine_norm_bf16",
			[3]uint32{1, 1, 1},
			1, rows(0, 1),
		},
		{
			"sigmoid routing",
			RouteSigmoid{Experts: 128, TopK: 6, Rows: 5, Stride: 128, Scale: 2.5},
			"route_sigmoid_e256",
			[3]uint32{2, 1, 1},
			4, rows(0, 4),
		},
	})
}

func TestNeuronRefusals(t *testing.T) {
	checkRefusals(t, UpRelu2{Rows: 1, I: 64, K: 64}, map[string]func(*UpRelu2){
		"format":      func(u *UpRelu2) { u.Format = Q8 },
		"type":        func(u *UpRelu2) { u.DType = 2 },
		"half a word": func(u *UpRelu2) { u.I = 96 },
		"odd inputs":  func(u *UpRelu2) { u.K = 96 },
		"no rows":     func(u *UpRelu2) { u.Rows = 0 },
	})
	checkRefusals(t, ExpertUpRelu2{Rows: 1, TopK: 2, Experts: 4, I: 64, K: 64}, map[string]func(*ExpertUpRelu2){
		"six rows":   func(u *ExpertUpRelu2) { u.Rows = 6 },
		"no choice":  func(u *ExpertUpRelu2) { u.TopK = 0 },
		"no neurons": func(u *ExpertUpRelu2) { u.I = 0 },
	})
	checkRefusals(t, ExpertUpRelu2Rows{Rows: 1, TopK: 2, Experts: 4, I: 64, K: 64},
		map[string]func(*ExpertUpRelu2Rows){
			"too many rows": func(u *ExpertUpRelu2Rows) { u.Rows = MaxRows + 1 },
			"no experts":    func(u *ExpertUpRelu2Rows) { u.Experts = 0 },
			"odd inputs":    func(u *ExpertUpRelu2Rows) { u.K = 100 },
		})
	checkRefusals(t, NeuronDown{Format: NM, Rows: 1, N: 64, D: 64}, map[string]func(*NeuronDown){
		"row-major":    func(n *NeuronDown) { n.Format = Q4 },
		"type":         func(n *NeuronDown) { n.DType = 2 },
		"six rows":     func(n *NeuronDown) { n.Rows = 6 },
		"half a group": func(n *NeuronDown) { n.N = 96 },
		"odd outputs":  func(n *NeuronDown) { n.D = 96 },
		"no outputs":   func(n *NeuronDown) { n.D = 0 },
	})
	checkRefusals(t, ExpertNeuronDown{Format: NM, Rows: 1, TopK: 2, Experts: 4, N: 64, D: 64},
		map[string]func(*ExpertNeuronDown){
			"six rows":     func(n *ExpertNeuronDown) { n.Rows = 6 },
			"more choices": func(n *ExpertNeuronDown) { n.TopK = 5 },
			"half a group": func(n *ExpertNeuronDown) { n.N = 32 },
		})
	checkRefusals(t, NeuronUnion{Rows: 1, TopK: 2, Experts: 4, N: 64}, map[string]func(*NeuronUnion){
		"no rows":       func(n *NeuronUnion) { n.Rows = 0 },
		"half a group":  func(n *NeuronUnion) { n.N = 32 },
		"negative":      func(n *NeuronUnion) { n.Dense = -1 },
		"more choices":  func(n *NeuronUnion) { n.TopK = 5 },
		"too many rows": func(n *NeuronUnion) { n.Rows = MaxRows + 1 },
	})
	checkRefusals(t, ExpertNeuronDownRows{Format: NM, Rows: 1, TopK: 2, Experts: 4, N: 64, D: 64},
		map[string]func(*ExpertNeuronDownRows){
			"no rows":   func(n *ExpertNeuronDownRows) { n.Rows = 0 },
			"row-major": func(n *ExpertNeuronDownRows) { n.Format = B16 },
		})
	checkRefusals(t, NeuronDownRows{Format: NM, Rows: 1, N: 64, D: 64}, map[string]func(*NeuronDownRows){
		"no rows":   func(n *NeuronDownRows) { n.Rows = 0 },
		"row-major": func(n *NeuronDownRows) { n.Format = Q4 },
	})
	checkRefusals(t, NeuronCombine{Rows: 1, TopK: 1, Slices: 1, Shared: 1, D: 64}, map[string]func(*NeuronCombine){
		"type":         func(n *NeuronCombine) { n.DType = 2 },
		"no slices":    func(n *NeuronCombine) { n.Slices = 0 },
		"no shared":    func(n *NeuronCombine) { n.Shared = 0 },
		"no choice":    func(n *NeuronCombine) { n.TopK = 0 },
		"odd outputs":  func(n *NeuronCombine) { n.D = 12 },
		"negative eps": func(n *NeuronCombine) { n.Eps = -1 },
		"a long norm":  func(n *NeuronCombine) { n.Norm, n.D = true, 4104 },
	})
	checkRefusals(t, RouteSigmoid{Experts: 8, TopK: 2, Rows: 1, Stride: 8, Scale: 1}, map[string]func(*RouteSigmoid){
		"short stride":     func(r *RouteSigmoid) { r.Stride = 7 },
		"no rows":          func(r *RouteSigmoid) { r.Rows = 0 },
		"uneven groups":    func(r *RouteSigmoid) { r.Groups, r.Keep = 3, 1 },
		"groups of one":    func(r *RouteSigmoid) { r.Groups, r.Keep = 8, 1 },
		"no groups kept":   func(r *RouteSigmoid) { r.Groups, r.Keep = 4, 0 },
		"more groups kept": func(r *RouteSigmoid) { r.Groups, r.Keep = 4, 5 },
		"no scale":         func(r *RouteSigmoid) { r.Scale = 0 },
	})
	checkRefusals(t, RouteScan{Experts: 8, TopK: 2, Rows: 1}, map[string]func(*RouteScan){
		"tile": func(r *RouteScan) { r.Tile = 16 },
	})
}
