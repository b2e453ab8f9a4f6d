package weights

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
)

// quotientBase is what is added to the four bits of an NM20 item: quotients go from 7 to 22. The quantiser of mlx keeps
// the edge of a group as its bias and divides it by a whole number of steps, -7 to -15 of which are usual.
const quotientBase = 7

// Compact returns the recipe in which every NM item is NM20 whose scales can all be rebuilt from its biases: it reads
// the scales and biases of these items, and one that does not come out bit for bit leaves its item as it is. progress
// may be nil. A checkpoint of another quantiser than that of mlx stays as it is as a rule.
func Compact(ctx context.Context, c *Checkpoint, r Recipe, progress func(Progress)) (Recipe, error) {
	out := Recipe{Items: append([]Item(nil), r.Items...)}
	total := int64(0)
	for i := range out.Items {
		if it := &out.Items[i]; it.Format == NM {
			n, ok := product(2*int64(max(it.Experts, 1)), int64(it.Rows), int64(it.Cols/Group), BF16.Size())
			if !ok || n > math.MaxInt64-total {
				return Recipe{}, errTooLarge
			}
			total += n
		}
	}
	if total == 0 {
		return out, nil
	}
	s := surveyor{ctx: ctx, ckpt: c, meter: newMeter(progress, Surveying, total)}
	for i := range out.Items {
		if it := &out.Items[i]; it.Format == NM {
			ok, err := s.item(it)
			if err != nil {
				return Recipe{}, fmt.Errorf("weights of %q: %w", it.Name, err)
			}
			if ok {
				it.Format = NM20
			}
		}
	}
	return out, nil
}

// leastSize is the size of the pack if every item can be stored compactly: what is needed at least, known before a
// survey.
func leastSize(r Recipe) (int64, error) {
	out := Recipe{Items: append([]Item(nil), r.Items...)}
	for i := range out.Items {
		if it := &out.Items[i]; it.Format == NM {
			it.Format = NM20
		}
	}
	l, err := Plan(out)
	if err != nil {
		return 0, err
	}
	return l.Size(), nil
}

// surveyor compares scales with biases.
type surveyor struct {
	ctx            context.Context //nolint:containedctx // lives for one Compact
	ckpt           *Checkpoint
	scales, biases []byte
	meter          meter
}

// item tells whether all scales of an item can be rebuilt.
func (s *surveyor) item(it *Item) (bool, error) {
	scales, err := s.ckpt.parts(it, 1)
	if err != nil {
		return false, err
	}
	biases, err := s.ckpt.parts(it, 2)
	if err != nil {
		return false, err
	}
	a, b := scales[0].tensor, biases[0].tensor
	good := true
	for off := int64(0); off < a.Length; off += chunkSize {
		if s.ctx.Err() != nil {
			return false, context.Cause(s.ctx)
		}
		n := min(chunkSize, a.Length-off)
		s.meter.add(2 * n)
		if !good {
			continue
		}
		s.scales, s.biases = grow(s.scales, n), grow(s.biases, n)
		if _, err := a.ReadAt(s.scales, off); err != nil {
			return false, err
		}
		if _, err := b.ReadAt(s.biases, off); err != nil {
			return false, err
		}
		good = rebuildable(s.scales, s.biases)
	}
	return good, nil
}

// rebuildable tells whether every scale follows from its bias.
func rebuildable(scales, biases []byte) bool {
	for i := 0; i < len(scales); i += 2 {
		if _, ok := quotient(binary.LittleEndian.Uint16(scales[i:]), binary.LittleEndian.Uint16(biases[i:])); !ok {
			return false
		}
	}
	return true
}

// quotient finds the four bits q for which bf16(bias / -(q+7)) is the scale in every bit, on any device: numbers too
// small for a full mantissa, which some devices take for 0, have none, and neither has a scale that may be the rounding
// of such a number.
func quotient(scale, bias uint16) (q uint32, ok bool) {
	if !normal(scale) || !normal(bias) || scale&0x7fff == smallest {
		return 0, false
	}
	s, b := math.Float32frombits(uint32(scale)<<16), math.Float32frombits(uint32(bias)<<16)
	steps := math.Round(-float64(b) / float64(s))
	if !(steps >= quotientBase && steps < quotientBase+16) {
		return 0, false
	}
	return uint32(steps) - quotientBase, roundBF16(math.Float32bits(b/-float32(steps))) == scale
}

// smallest is the bf16 of the smallest magnitude with a full mantissa.
const smallest = 0x0080

// normal tells whether a bf16 is a finite number with a full mantissa.
func normal(half uint16) bool {
	exponent := half >> 7 & 0xff
	return exponent != 0 && exponent != 0xff
}

// quotients writes the scales of an NM20 item.
func (b *builder) quotients(scales, biases part, experts int64) error {
	groups := scales.rowSize / 2
	band := min(groups, max(1, b.band/(scales.rows*2)))
	var turned [2][]byte
	for expert := range experts {
		for first := int64(0); first < groups; first += band {
			if b.ctx.Err() != nil {
				return context.Cause(b.ctx)
			}
			n := min(band, groups-first)
			for i, p := range []part{scales, biases} {
				b.raw, turned[i] = grow(b.raw, p.rows*n*2), grow(turned[i], p.rows*n*2)
				if err := readBand(b.raw, p, expert, first*2, n*2); err != nil {
					return err
				}
				turnHalves(turned[i], b.raw, int(p.rows), int(n))
			}
			b.out = grow(b.out, scales.rows*n/2)
			if err := packQuotients(b.out, turned[0], turned[1]); err != nil {
				return err
			}
			if err := b.put(b.out); err != nil {
				return err
			}
		}
	}
	return nil
}

// packQuotients packs the quotients of values of 16 bits, two to a byte.
func packQuotients(to, scales, biases []byte) error {
	clear(to)
	for i := range len(scales) / 2 {
		s, b := binary.LittleEndian.Uint16(scales[2*i:]), binary.LittleEndian.Uint16(biases[2*i:])
		q, ok := quotient(s, b)
		if !ok {
			return fmt.Errorf("scale %04x cannot be rebuilt from bias %04x", s, b)
		}
		to[i/2] |= byte(q << (4 * (i % 2)))
	}
	return nil
}
