package metal

import (
	"fmt"
	"runtime"
	"time"

	"sotto/engine/gpu"
)

// slice bounds how long the watch stays with the event before it looks at the command buffer, which may have failed
// without a signal.
const slice = 50 * time.Millisecond

// Values of MTLCommandBufferStatus.
const (
	statusCompleted = 4
	statusError     = 5
)

// errNoProgress is why a device is lost that does not answer.
var errNoProgress = fmt.Errorf("%w: no progress", gpu.ErrLost)

// keptFailures is how many failures are remembered: more than there can be that nobody has been told of, since each has
// at least one submission and Submit tells of the last one first.
const keptFailures = 2 * gpu.MaxInFlight

// failure is what befell some submissions.
type failure struct {
	from, to uint64
	err      error
	told     bool
}

// watch waits for one command buffer after the other, on a thread of its own.
func (q *queue) watch() {
	runtime.LockOSThread()
	defer close(q.ended)
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for q.n == 0 && !q.closing {
			q.changed.Wait()
		}
		if q.n == 0 {
			return
		}
		f := q.flights[q.head]
		q.mu.Unlock()
		var err error
		if f.cmd.id != 0 {
			err = q.await(&f)
		}
		q.mu.Lock()
		q.finish(f, err)
	}
}

// await returns when a command buffer has finished or has made no progress for too long, and releases it.
func (q *queue) await(f *flight) error {
	o := q.objc
	pool := o.m.PushPool()
	defer o.m.PopPool(pool)
	defer q.objects.drop(&f.cmd)
	step := min(slice, q.timeout)
	for n, start := f.first, time.Now(); ; {
		if yes(o.send(eventWait, q.event.id, uintptr(n), uintptr(max(step.Milliseconds(), 1)))) {
			if n == f.last {
				break
			}
			q.reached(n)
			n, start = n+1, time.Now()
			continue
		}
		if o.send(commandStatus, f.cmd.id) >= statusCompleted {
			break
		}
		if time.Since(start) >= q.timeout {
			return q.failed(f, fmt.Errorf("%w for %v", errNoProgress, q.timeout))
		}
	}
	// The event is signalled on the device's side; whether all went well is known a little later.
	o.send(commandWait, f.cmd.id)
	if o.send(commandStatus, f.cmd.id) != statusError {
		return nil
	}
	e := &CommandError{}
	if id := o.object(commandError, f.cmd.id); id != 0 {
		r := o.failure(id)
		e.Code, e.Text = r.code, r.text
	}
	return q.failed(f, e)
}

// reached counts a submission as done whose command buffer still runs.
func (q *queue) reached(n uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.done = max(q.done, n)
	q.waiters.Wake(q.done)
	q.changed.Broadcast()
}

func (q *queue) failed(f *flight, err error) error {
	return &gpu.Error{Op: "run", Err: fmt.Errorf("program %s, submission %d: %w", f.program, f.first, err)}
}

// finish counts the oldest flight as done and hands on what has waited for it. The lock is held.
func (q *queue) finish(f flight, err error) {
	q.flights[q.head] = flight{}
	q.head = (q.head + 1) % len(q.flights)
	q.n--
	q.done = max(q.done, f.last) // more counts as done once the device is lost
	if err != nil {
		q.fail(f.first, err)
	}
	if q.n == 0 {
		q.commit()
	}
	q.waiters.Wake(q.done)
	q.changed.Broadcast()
}
