package metal

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sotto/engine/gpu"
)

// wait returns when submission n has finished, with what befell it, or when ctx ends.
func (q *queue) wait(ctx context.Context, n uint64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n > q.submitted {
		return fmt.Errorf("submission %d does not exist, the last is %d", n, q.submitted)
	}
	if q.done < n {
		q.wanted = max(q.wanted, n)
		if q.open.first <= n {
			q.commit()
		}
		q.waiters.Wait(ctx, &q.mu, n)
	}
	if q.done < n {
		return context.Cause(ctx)
	}
	return q.verdict(n)
}

// verdict is the first failure of submission n or of one before it. What has been told is told again only of
// submissions that were made before. The lock is held.
func (q *queue) verdict(n uint64) error {
	for i := range q.failures {
		f := &q.failures[i]
		if f.from <= n && (n <= f.to || !f.told) {
			f.told = true
			return f.err
		}
	}
	return nil
}

// untold is a failure that nobody has been told of. The lock is held.
func (q *queue) untold() error {
	if n := len(q.failures); n > 0 && !q.failures[n-1].told {
		q.failures[n-1].told = true
		return q.failures[n-1].err
	}
	return nil
}

// fail records that submission from has failed, and with it all that have been encoded or are being so. When the
// device is lost, nothing more is waited for. The lock is held.
func (q *queue) fail(from uint64, err error) {
	if n := len(q.failures); n == 0 || q.failures[n-1].to < from {
		if len(q.failures) == keptFailures {
			q.failures = slices.Delete(q.failures, 0, 1)
		}
		q.failures = append(q.failures, failure{from: from, to: q.submitted, err: err})
	}
	q.spoilt = q.encoding
	if errors.Is(err, gpu.ErrLost) {
		q.lose(err)
	}
	if !q.encoding {
		q.discard()
	}
}

// lose ends everything: what is in flight counts as finished for whoever waits. The watch still sees it to its end,
// since the device may use its memory until then; nobody does so for what makes no progress. The lock is held.
func (q *queue) lose(err error) {
	if q.lost == nil {
		q.lost = err
	}
	q.failures[len(q.failures)-1].to = q.submitted
	if errors.Is(err, errNoProgress) {
		for ; q.n > 0; q.n-- {
			q.release(&q.flights[q.head])
			q.flights[q.head] = flight{}
			q.head = (q.head + 1) % len(q.flights)
		}
	}
	q.done = q.submitted
}
