package screen

import "time"

// rate is how fast tokens come, from the times of the last ones.
type rate struct {
	times   [16]time.Time // the newest last
	n       int
	shown   float64 // tokens a second, 0 while unknown
	shownAt time.Time
}

const (
	rateFrom  = 4                      // tokens that are needed to tell
	rateEvery = 500 * time.Millisecond // how often the shown figure changes
)

// tick returns the rate after one more token.
func (r rate) tick(at time.Time) rate {
	copy(r.times[:], r.times[1:])
	r.times[len(r.times)-1] = at
	r.n = min(r.n+1, len(r.times))
	span := at.Sub(r.times[len(r.times)-r.n])
	if r.n >= rateFrom && span > 0 && (r.shown == 0 || at.Sub(r.shownAt) >= rateEvery) {
		r.shown, r.shownAt = float64(r.n-1)/span.Seconds(), at
	}
	return r
}
