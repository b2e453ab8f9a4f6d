package metal

import (
	"cmp"
	"fmt"
	"slices"
)

// span is a range of bytes of mapped memory.
type span struct{ off, end int64 }

func (s span) size() int64 { return s.end - s.off }

// piece is a part of mapped memory with a buffer of its own. A buffer cannot be as large as some packs are, so mapped
// memory is covered by pieces, each a whole number of pages, so that every range that a program binds lies in one.
type piece struct {
	span
	obj object
	set int // of residency
}

// cut covers ranges with as few pieces as it can: pages that no range touches are left out, a range is never divided,
// and pieces are at most limit bytes long unless a single range is longer. No range may be longer than most. Ranges
// that share pages come into one piece where that fits. The order of ranges does not matter.
func cut(ranges []span, page, limit, most int64) ([]span, error) {
	sorted := slices.Clone(ranges)
	slices.SortFunc(sorted, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(b.end, a.end))
	})
	var pieces []span
	for _, r := range sorted {
		r = span{r.off / page * page, (r.end + page - 1) / page * page}
		if r.size() > most {
			return nil, fmt.Errorf("%d bytes in one piece, at most %d fit a buffer", r.size(), most)
		}
		if n := len(pieces); n > 0 {
			last := &pieces[n-1]
			whole := span{last.off, max(last.end, r.end)}
			if r.off <= last.end && (whole.size() <= limit || r.end <= last.end) {
				*last = whole
				continue
			}
		}
		pieces = append(pieces, r)
	}
	return pieces, nil
}

// inside finds the piece that holds a range.
func inside(pieces []piece, r span) *piece {
	for i := range pieces {
		if p := &pieces[i]; p.off <= r.off && r.end <= p.end {
			return p
		}
	}
	return nil
}
