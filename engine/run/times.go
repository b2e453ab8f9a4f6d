package run

import (
	"context"
	"time"

	"sotto/engine/gpu"
)

// PartTime is the time that decode took for one part of the model, passes one by one: what overlaps between parts when
// nobody measures does not do so here, and each pass of a part includes the cost of a submission.
type PartTime struct {
	Name   string          // "layer 3"
	Passes []time.Duration // in their order
}

// timing measures a request's decode passes part by part.
type timing struct {
	parts []PartTime
}

// run submits the parts of a pass and waits for each.
func (t *timing) run(d gpu.Device, x compiled, step gpu.Buffer) (uint64, error) {
	if t.parts == nil {
		for _, p := range x.parts {
			t.parts = append(t.parts, PartTime{Name: p.name})
		}
	}
	var last uint64
	for i, p := range x.parts {
		begin := time.Now()
		seq, err := d.Submit(p.Exec, step)
		if err == nil {
			err = d.Wait(context.Background(), seq)
		}
		if err != nil {
			return 0, err
		}
		last = seq
		t.parts[i].Passes = append(t.parts[i].Passes, time.Since(begin))
	}
	return last, nil
}
