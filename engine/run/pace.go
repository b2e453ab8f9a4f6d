package run

import (
	"math/bits"
	"time"

	"sotto/kernels"
)

// A chunk of a prompt should take no longer than chunkTime: that is how long a cancelled request goes on, and how long
// the device keeps others from drawing. Twice the rows take at most twice the time, because rows share the weights:
// what takes less than shortTime can be doubled. A higher bound would go too far, a lower one would keep for ever what
// a single slow chunk, such as the first, whose weights come from the disk, has made of the rows.
const (
	chunkTime = 100 * time.Millisecond
	shortTime = chunkTime / 2
)

// growth is how much longer than the device's own guess chunks may become, as a factor: scratch memory grows with them.
const growth = 4

// pace is how many rows of a prompt are read at once. It follows the time that chunks take, for a device only guesses
// what a model needs: a single row comes first, and the guess is followed if that was quick. A guess made for a small
// model would keep a large one, whose weights are still on disk, busy for many seconds. Where a prompt is cut changes
// no bit of what is computed.
type pace struct {
	rows, most int
	guess      int // rows; 0: a row has been timed
}

// chunk is the number of rows that is asked for or that the device suggests.
func (c Config) chunk() int {
	if c.Chunk > 0 {
		return min(c.Chunk, kernels.MaxRows)
	}
	return min(max(c.Device.Caps().Chunk, 1), kernels.MaxRows)
}

// newPace begins with what is asked for, and then keeps to it, or with one row.
func newPace(c Config) pace {
	if c.Chunk > 0 {
		return pace{rows: c.chunk()}
	}
	return pace{rows: 1, guess: c.chunk(), most: min(growth*c.chunk(), kernels.MaxRows)}
}

// widest is the largest chunk there can be.
func (p pace) widest() int { return max(p.rows, p.most) }

// took notes how long a chunk of n rows took.
func (p *pace) took(n int, d time.Duration) {
	switch {
	case p.most == 0:
	case p.guess > 0:
		if d < shortTime {
			p.rows = p.guess
		}
		p.guess = 0
	case d > chunkTime:
		fit := max(int(int64(n)*int64(chunkTime)/int64(d)), 1)
		p.rows = min(p.rows, 1<<(bits.Len(uint(fit))-1)) // a power of two, as row classes are
	case n == p.rows && d < shortTime:
		p.rows = min(2*p.rows, p.most)
	}
}
