package gpu

import "sotto/kernels"

// Stages numbers the ops of p: an op's stage is one more than the highest stage of the earlier ops that it
// conflicts with, and 1 without any. Two ops conflict when their ranges of a region overlap and at least one
// of them writes there. In a serial program every op has a stage of its own. Ops of one stage may run at the same
// time and in any order; a stage starts when the one before has finished. The number of stages is the highest number.
func (p *Program) Stages() []int {
	regions := map[*Region]*history{}
	stages := make([]int, len(p.Ops))
	for i := range p.Ops {
		if p.Serial {
			stages[i] = i + 1
			continue
		}
		op := &p.Ops[i]
		last := 0
		for j, s := range op.Args {
			if h := regions[s.Region]; h != nil && s.Len > 0 {
				last = max(last, h.conflict(s, op.Kernel.Args[j].Access))
			}
		}
		stages[i] = last + 1
		for j, s := range op.Args {
			if s.Len == 0 {
				continue
			}
			h := regions[s.Region]
			if h == nil {
				h = &history{}
				regions[s.Region] = h
			}
			h.record(s, op.Kernel.Args[j].Access, stages[i])
		}
	}
	return stages
}

// use is a range with the highest stage that used it so.
type use struct {
	off, end int64
	stage    int
}

// history holds what has been read and written of one region and can still decide a stage. A write supersedes
// whatever lies inside its range, since it comes after all of that; so the lists stay about as long as the
// region has distinct parts, however long the program is.
type history struct{ reads, writes []use }

// conflict is the highest stage that an access of s must come after.
func (h *history) conflict(s Slice, a kernels.Access) int {
	last := latest(h.writes, s)
	if a&kernels.Write != 0 {
		last = max(last, latest(h.reads, s))
	}
	return last
}

func latest(uses []use, s Slice) int {
	last := 0
	for _, u := range uses {
		if u.off < s.Off+s.Len && s.Off < u.end {
			last = max(last, u.stage)
		}
	}
	return last
}

func (h *history) record(s Slice, a kernels.Access, stage int) {
	u := use{s.Off, s.Off + s.Len, stage}
	if a&kernels.Write != 0 {
		h.reads = outside(h.reads, u)
		h.writes = append(outside(h.writes, u), u)
		return
	}
	for i := range h.reads {
		if r := &h.reads[i]; r.off == u.off && r.end == u.end {
			r.stage = max(r.stage, stage)
			return
		}
	}
	h.reads = append(h.reads, u)
}

// outside drops the uses of earlier stages that lie wholly inside w. A use of the same stage is one of the
// same op or of an op that does not overlap, and stays.
func outside(uses []use, w use) []use {
	kept := uses[:0]
	for _, u := range uses {
		if u.off < w.off || u.end > w.end || u.stage >= w.stage {
			kept = append(kept, u)
		}
	}
	return kept
}
