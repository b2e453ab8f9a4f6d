package host

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"sotto/engine/gpu"
)

// job is one submission.
type job struct {
	x    *exec
	step *buffer
	seed uint64
}

// queue runs jobs in order on a goroutine of its own, which keeps its thread. Nothing in it allocates once it
// has had as many waiters as it will have at a time.
type queue struct {
	run func(job) error

	mu        sync.Mutex
	changed   sync.Cond // on any change of the fields below
	jobs      [gpu.MaxInFlight]job
	submitted uint64
	done      uint64
	err       error // the first failure: nothing runs after it
	errAt     uint64
	closing   bool
	waiters   gpu.Waiters
	ended     chan struct{}
}

func newQueue(run func(job) error) *queue {
	q := &queue{run: run, ended: make(chan struct{})}
	q.changed.L = &q.mu
	go q.loop()
	return q
}

func (q *queue) loop() {
	runtime.LockOSThread() // the library's first worker is this thread
	defer close(q.ended)
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for q.done == q.submitted && !q.closing {
			q.changed.Wait()
		}
		if q.done == q.submitted {
			return
		}
		j := q.jobs[(q.done+1)%gpu.MaxInFlight]
		if q.err == nil {
			q.mu.Unlock()
			err := q.run(j)
			q.mu.Lock()
			if err != nil {
				q.err, q.errAt = err, q.done+1
			}
		}
		q.done++
		q.waiters.Wake(q.done)
		q.changed.Broadcast()
	}
}

// submit queues a job, waiting for room, and returns its number.
func (q *queue) submit(j job) uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.submitted-q.done >= gpu.MaxInFlight {
		q.changed.Wait()
	}
	q.submitted++
	q.jobs[q.submitted%gpu.MaxInFlight] = j
	q.changed.Broadcast()
	return q.submitted
}

// wait returns when job n has finished, with the first error up to it, or when ctx ends.
func (q *queue) wait(ctx context.Context, n uint64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n > q.submitted {
		return fmt.Errorf("submission %d does not exist, the last is %d", n, q.submitted)
	}
	if q.done < n {
		q.waiters.Wait(ctx, &q.mu, n)
	}
	switch {
	case q.done < n:
		return context.Cause(ctx)
	case q.err != nil && q.errAt <= n:
		return q.err
	}
	return nil
}

// drain waits until nothing is in flight.
func (q *queue) drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.done < q.submitted {
		q.changed.Wait()
	}
}

// close lets what is in flight finish and ends the goroutine.
func (q *queue) close() {
	q.mu.Lock()
	q.closing = true
	q.changed.Broadcast()
	q.mu.Unlock()
	<-q.ended
}
