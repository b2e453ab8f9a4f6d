package weights

import (
	"context"
	"encoding/binary"
)

// bandBytes is what is transposed at a time: the expert of a large model in one piece.
const bandBytes = 16 << 20

// transpose writes one stream of an item that is stored by input: for each expert, what a tensor has in rows of outputs
// comes in rows of inputs (of groups of inputs for metadata). Codes are words of eight inputs, metadata single values.
func (b *builder) transpose(p part, experts int64, codes bool) error {
	unit, turn := int64(2), turnHalves
	if codes {
		unit, turn = 4, turnCodes
	}
	width := p.rowSize / unit
	band := min(width, max(1, b.band/(p.rows*unit)))
	for expert := range experts {
		for first := int64(0); first < width; first += band {
			if b.ctx.Err() != nil {
				return context.Cause(b.ctx)
			}
			n := min(band, width-first)
			b.raw, b.out = grow(b.raw, p.rows*n*unit), grow(b.out, p.rows*n*unit)
			if err := readBand(b.raw, p, expert, first*unit, n*unit); err != nil {
				return err
			}
			turn(b.out, b.raw, int(p.rows), int(n))
			if err := b.put(b.out); err != nil {
				return err
			}
		}
	}
	return nil
}

// readBand reads n bytes from byte off of every row of an expert.
func readBand(to []byte, p part, expert, off, n int64) error {
	if n == p.rowSize {
		_, err := p.tensor.ReadAt(to, expert*p.rows*p.rowSize)
		return err
	}
	for row := range p.rows {
		if _, err := p.tensor.ReadAt(to[row*n:(row+1)*n], (expert*p.rows+row)*p.rowSize+off); err != nil {
			return err
		}
	}
	return nil
}

// turnHalves transposes a matrix of values of 16 bits.
func turnHalves(to, from []byte, rows, cols int) {
	for c := range cols {
		for r := range rows {
			v := binary.LittleEndian.Uint16(from[2*(r*cols+c):])
			binary.LittleEndian.PutUint16(to[2*(c*rows+r):], v)
		}
	}
}

// turnCodes transposes a matrix of 4-bit codes, eight to a word along a row; rows is a multiple of 8 and cols counts
// words.
func turnCodes(to, from []byte, rows, cols int) {
	var w [8]uint32
	out := rows / 8 // words of a row of to
	for c := range cols {
		for r := range out {
			for i := range w {
				w[i] = binary.LittleEndian.Uint32(from[4*((8*r+i)*cols+c):])
			}
			turnBlock(&w)
			for i, v := range w {
				binary.LittleEndian.PutUint32(to[4*((8*c+i)*out+r):], v)
			}
		}
	}
}

// turnBlock transposes 8 words of 8 codes: quarters are exchanged in blocks of four, then of two, then of one.
func turnBlock(w *[8]uint32) {
	for i := range 4 {
		exchange(&w[i], &w[i+4], 16, 0x0000ffff)
	}
	for _, i := range [...]int{0, 1, 4, 5} {
		exchange(&w[i], &w[i+2], 8, 0x00ff00ff)
	}
	for _, i := range [...]int{0, 2, 4, 6} {
		exchange(&w[i], &w[i+1], 4, 0x0f0f0f0f)
	}
}

// exchange swaps the upper parts of a with the lower parts of b.
func exchange(a, b *uint32, shift, mask uint32) {
	t := (*a>>shift ^ *b) & mask
	*b ^= t
	*a ^= t << shift
}
