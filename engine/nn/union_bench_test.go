package nn_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// BenchmarkUnion measures from which share of live neurons on it pays to take a tile of 32 rows as wholly alive: down
// projections of experts of the published size, one tile each, by the neurons of unions of rising shares. The arms
// take turns, and the median of each is reported in milliseconds; what a union costs at 100 is what a switch to dense
// would cost at any share.
func BenchmarkUnion(b *testing.B) {
	const experts, neurons, outputs, top = 4, 1856, 2688, 4
	dev := openDevice(b, "")
	rows := experts * kernels.NeuronTile / top
	l, err := kernels.ExpertNeuronDownRows{
		Format: kernels.NM20, DType: kernels.BF16, Rows: rows, TopK: top, Experts: experts, N: neurons, D: outputs,
	}.Launch()
	if err != nil {
		b.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	bind := map[*gpu.Region]gpu.Buffer{}
	data := func(name string, size int, fill func(i int) uint32) gpu.Slice {
		r := &gpu.Region{Name: name, Size: int64(size)}
		buf, err := dev.Alloc(r.Size)
		if err != nil {
			b.Fatal(err)
		}
		for i := 0; i+4 <= size && fill != nil; i += 4 {
			binary.LittleEndian.PutUint32(buf.Bytes()[i:], fill(i/4))
		}
		bind[r] = buf
		return gpu.Slice{Region: r, Len: r.Size}
	}
	halves := func(int) uint32 { return 0x3e003e00 | random.Uint32()&0x007f007f } // 1/8 to 1/4
	slots := rows * top
	h := data("h", slots*neurons*2, halves)
	order := data("order", slots*4, func(i int) uint32 { return uint32(i) })
	tiles := data("tiles", 4*3*kernels.MaxNeuronTiles(experts, top, rows), func(i int) uint32 {
		return [...]uint32{uint32(i / 3), uint32(i / 3 * kernels.NeuronTile), kernels.NeuronTile}[i%3]
	})
	count := data("ntiles", 16, func(int) uint32 { return experts })
	codes := data("codes", experts*neurons*outputs/2, func(int) uint32 { return random.Uint32() })
	scales := data("scales", experts*neurons/64*outputs/2, func(int) uint32 { return random.Uint32() })
	biases := data("biases", experts*neurons/64*outputs*2, halves)
	out := data("d", slots*outputs*4, nil)
	step, err := dev.Alloc(kernels.StepBytes)
	if err != nil {
		b.Fatal(err)
	}
	binary.LittleEndian.PutUint32(step.Bytes()[4:], uint32(rows))

	shares := []int{25, 50, 70, 80, 85, 90, 95, 100}
	execs, times := make([]gpu.Exec, len(shares)), make([][]time.Duration, len(shares))
	for i, share := range shares {
		join := data(fmt.Sprint("join ", share), 4*kernels.MaxNeuronTiles(experts, top, rows)*neurons/32,
			func(int) (word uint32) {
				for bit := range 32 {
					if random.IntN(100) < share {
						word |= 1 << bit
					}
				}
				return word
			})
		p := &gpu.Program{Name: fmt.Sprint(share), Rows: rows, Ops: []gpu.Op{{
			Launch: l, Args: []gpu.Slice{
				{Region: gpu.Step, Len: kernels.StepBytes}, h, join, order, tiles, count, codes, scales, biases, out,
			},
		}}}
		if execs[i], err = dev.Compile(b.Context(), p, bind); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		for i, x := range execs {
			start := time.Now()
			n, err := dev.Submit(x, step)
			if err == nil {
				err = dev.Wait(context.Background(), n)
			}
			if err != nil {
				b.Fatal(err)
			}
			times[i] = append(times[i], time.Since(start))
		}
	}
	b.ReportMetric(0, "ns/op")
	for i, share := range shares {
		slices.Sort(times[i])
		b.ReportMetric(times[i][len(times[i])/2].Seconds()*1e3, fmt.Sprintf("ms/%d%%", share))
	}
}
