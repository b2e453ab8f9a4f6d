package bench

import (
	"fmt"
	"io"
	"text/tabwriter"

	"sotto/engine/run"
)

// LiveReport compares decode with dead neurons read and passed over, layer by layer.
type LiveReport struct {
	Model  string     `json:"model"`
	Device string     `json:"device"`
	Tokens int        `json:"decoded_tokens"` // of each answer
	Rounds int        `json:"rounds"`
	Parts  []LivePart `json:"parts"` // in the order of a pass
}

// LivePart is a layer, or what comes before the first and after the last.
type LivePart struct {
	Name   string     `json:"name"` // "layer 3"
	Kind   string     `json:"kind"` // "mamba", "experts"; "" for what is no layer
	Routed *LiveCount `json:"routed,omitempty"`
	Shared *LiveCount `json:"shared,omitempty"`
	// Dense and Sparse are microseconds a token, of each round the median; Ratio is dense over sparse in the same
	// round.
	Dense  Spread `json:"dense_us"`
	Sparse Spread `json:"sparse_us"`
	Ratio  Spread `json:"ratio"`
}

// LiveCount tells of the down projections of one kind of expert. Bytes are those of a decoded token.
type LiveCount struct {
	Share    float64 `json:"live_share"`
	Full     float64 `json:"full_bytes"`
	LiveOnly float64 `json:"live_only_bytes"`
	Touched  float64 `json:"touched_bytes"`
	// Tile is the share of neurons that are alive for one of up to 32 prompt rows, Prompt for any row of the prompt.
	Tile   float64 `json:"tile_share"`
	Prompt float64 `json:"prompt_share"`
}

// Round is the times of one answer with dead neurons read and of one without.
type Round struct{ Dense, Sparse []run.PartTime }

// NewLiveReport joins a census of one answer with times of several.
func NewLiveReport(kinds []string, neurons []run.Neurons, rounds []Round) *LiveReport {
	r := &LiveReport{Rounds: len(rounds)}
	if len(rounds) == 0 {
		return r
	}
	for i, part := range rounds[0].Dense {
		p := LivePart{Name: part.Name}
		var layer int
		if n, _ := fmt.Sscanf(part.Name, "layer %d", &layer); n == 1 && layer < len(kinds) {
			p.Kind = kinds[layer]
			for _, l := range neurons {
				if l.Layer == layer {
					rows := l.Shared.Visits // every row visits the shared expert once
					p.Routed, p.Shared = liveCount(l.Routed, rows), liveCount(l.Shared, rows)
				}
			}
		}
		dense := func(n int) float64 { return median(rounds[n].Dense[i]) }
		sparse := func(n int) float64 { return median(rounds[n].Sparse[i]) }
		p.Dense, p.Sparse = spread(len(rounds), dense), spread(len(rounds), sparse)
		p.Ratio = spread(len(rounds), func(n int) float64 { return dense(n) / sparse(n) })
		r.Parts = append(r.Parts, p)
	}
	return r
}

// median is that of the passes, in microseconds: one that was disturbed does not count for many.
func median(t run.PartTime) float64 {
	micros := func(i int) float64 { return float64(t.Passes[i].Nanoseconds()) / 1e3 }
	return spread(len(t.Passes), micros).Median
}

// liveCount spreads what was counted over so many rows.
func liveCount(c run.Count, rows int64) *LiveCount {
	per := 1 / float64(max(rows, 1))
	return &LiveCount{
		Share: c.Share(), Full: float64(c.Full) * per, LiveOnly: float64(c.LiveOnly) * per,
		Touched: float64(c.Touched) * per, Tile: c.TileShare(), Prompt: c.EverShare(),
	}
}

// Table writes the report as text.
func (r *LiveReport) Table(out io.Writer) error {
	fmt.Fprintf(out, "%s on %s; %d rounds, %d tokens decoded each\n", r.Model, r.Device, r.Rounds, r.Tokens)
	unit, size := r.unit()
	fmt.Fprintf(out, "live: neurons that are not 0 in decode; in a tile of 32 prompt rows; in the whole prompt\n"+
		"%s of the down projection a token: of all neurons, of live ones, of these with their groups' scales\n"+
		"time: median of rounds, of each the median of its tokens, dead neurons read (dense) and not\n\n", unit)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "part\tkind\t\tlive %%\ttile %%\tprompt %%\tfull %s\tlive %[1]s\ttouched %[1]s\tdense µs\t"+
		"sparse µs\tratio\t\n", unit)
	dense, sparse := 0.0, 0.0
	for _, p := range r.Parts {
		dense, sparse = dense+p.Dense.Median, sparse+p.Sparse.Median
		first := fmt.Sprintf("%.1f\t%.1f\t%.2f\t", p.Dense.Median, p.Sparse.Median, p.Ratio.Median)
		if p.Routed == nil {
			fmt.Fprintf(w, "%s\t%s\t\t\t\t\t\t\t\t%s\n", p.Name, p.Kind, first)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\trouted\t%s\t%s\n", p.Name, p.Kind, p.Routed.cells(size), first)
		fmt.Fprintf(w, "\t\tshared\t%s\t\t\t\t\n", p.Shared.cells(size))
	}
	fmt.Fprintf(w, "all\t\t\t\t\t\t\t\t\t%.1f\t%.1f\t%.2f\t\n", dense, sparse, dense/sparse)
	return w.Flush()
}

// unit is what byte counts are printed in, one for all so that they compare: MB where the largest has any.
func (r *LiveReport) unit() (name string, size float64) {
	for _, p := range r.Parts {
		if p.Routed != nil && max(p.Routed.Full, p.Shared.Full) >= 1e6 {
			return "MB", 1e6
		}
	}
	return "kB", 1e3
}

func (c *LiveCount) cells(size float64) string {
	return fmt.Sprintf("%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f", 100*c.Share, 100*c.Tile, 100*c.Prompt, c.Full/size,
		c.LiveOnly/size, c.Touched/size)
}
