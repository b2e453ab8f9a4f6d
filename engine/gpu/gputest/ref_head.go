package gputest

import "math"

// refArgMax is the greatest of v and its lowest index, and whether a NaN is among v; NaN is never the greatest.
func refArgMax(v []float32) (best float32, id int, nan bool) {
	best, id = float32(math.Inf(-1)), -1
	for i, x := range v {
		switch {
		case x != x:
			nan = true
		case id < 0 || x > best:
			best, id = x, i
		}
	}
	return best, id, nan
}
