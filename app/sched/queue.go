// Package sched is the one queue in front of the engine, shared by all doors: windows, services, the API. One job is
// served at a time; people come before programs, within each kind the first come first. The queue is bounded.
//
// It keeps a few of the engine's sessions and gives a job the one that has read most of its conversation. It takes an
// answer's events at the engine's pace and hands them over at the caller's, so that a slow caller keeps nobody
// waiting. A job that is being served is not interrupted for another one.
package sched

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"sotto/engine"
)

// ErrFull says that too many jobs are waiting. The error that wraps it is a *[FullError].
var ErrFull = errors.New("the queue is full")

// FullError is returned for a job that found no place in the queue.
type FullError struct {
	Waiting int           // jobs of its kind before it
	Retry   time.Duration // when a place may be free, by how long answers took lately
}

func (e *FullError) Error() string {
	return fmt.Sprintf("%v: %d requests are waiting", ErrFull, e.Waiting)
}

func (e *FullError) Unwrap() error { return ErrFull }

// Generator answers requests of one conversation, one at a time: an *[engine.Session].
type Generator interface {
	Generate(ctx context.Context, r engine.Request) iter.Seq2[engine.Event, error]
}

// Job is a request with what the queue must know of it.
type Job struct {
	Door    string // who asks, for Status
	Person  bool   // somebody waits for the answer: served before programs
	Request engine.Request
}

// Options say how a queue works.
type Options struct {
	Sessions int // conversations whose state is kept: what the engine's Info says; 0: 1
	Waiting  int // most jobs that wait, of people and of programs each; 0: [DefaultWaiting]
	// Changed is called after every change of the status, by one goroutine at a time; it must not block or call the
	// queue. May be nil.
	Changed func(Status)
}

// DefaultWaiting is the bound of a queue whose options name none.
const DefaultWaiting = 16

// Status says what a queue is doing.
type Status struct {
	Serving  string // the door that is being served, "" if none is
	People   int    // jobs that wait
	Programs int
}

// Queue serves jobs one after another. Its methods may be called from several goroutines.
type Queue struct {
	options Options
	pool    pool // belongs to the job that is being served

	ctx    context.Context //nolint:containedctx // the queue's own life
	cancel context.CancelFunc
	inside sync.WaitGroup // jobs that wait or are being served

	mu      sync.Mutex
	serving *turn
	waiting [2][]*turn // people, programs
	closed  bool
	mean    time.Duration // of the time that answers take

	reporting sync.Mutex
}

// turn is a job's place in the queue.
type turn struct {
	job   Job
	begin chan struct{} // closed when it is its turn
	start time.Time
}

// kind is the index of the list that a job waits in.
func (t *turn) kind() int {
	if t.job.Person {
		return 0
	}
	return 1
}

// New makes a queue in front of an engine; open starts a new session of it.
func New(open func() Generator, o Options) *Queue {
	if o.Waiting <= 0 {
		o.Waiting = DefaultWaiting
	}
	if o.Changed == nil {
		o.Changed = func(Status) {}
	}
	q := &Queue{options: o, pool: pool{open: open, size: max(o.Sessions, 1)}}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	return q
}

// Submit waits for the job's turn and answers it, with the events of the engine. A context that ends, also while
// waiting, ends the answer with engine.ReasonCancelled and no error; breaking off the loop cancels too. Either way the
// engine has settled when the loop is over. The first pair has a *[FullError] if there is no place, and
// engine.ErrClosed if the queue is closed before it is the job's turn.
func (q *Queue) Submit(ctx context.Context, j Job) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		closed := func() { cancel(engine.ErrClosed) }
		defer context.AfterFunc(q.ctx, closed)() //nolint:contextcheck // the queue's end, not the caller's
		t, err := q.enter(ctx, j)
		if err != nil {
			yield(settled(ctx, err))
			return
		}
		r := newRelay()
		go q.serve(ctx, t, r)
		defer r.drain()
		defer cancel(nil)
		r.each(yield)
	}
}

// settled makes the last event of a job that an error ended: a context that ended is no error.
func settled(ctx context.Context, err error) (engine.Event, error) {
	if ctx.Err() == nil || !errors.Is(err, ctx.Err()) && !errors.Is(err, context.Cause(ctx)) ||
		errors.Is(context.Cause(ctx), engine.ErrClosed) {
		return engine.Event{}, err
	}
	return engine.Event{Kind: engine.Finished, Result: engine.Result{
		Reason: engine.ReasonCancelled, Message: engine.Message{Role: engine.Assistant},
	}}, nil
}

// enter takes a place and waits until it is the job's turn. After an error the job has no place any more.
func (q *Queue) enter(ctx context.Context, j Job) (*turn, error) {
	t := &turn{job: j, begin: make(chan struct{})}
	if err := q.place(t); err != nil {
		return nil, err
	}
	q.report()
	select {
	case <-t.begin:
	case <-ctx.Done():
	}
	if ctx.Err() != nil { // also if both have come
		q.leave(t)
		return nil, context.Cause(ctx)
	}
	t.start = time.Now()
	return t, nil
}

// place begins the turn at once or lets it wait.
func (q *Queue) place(t *turn) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := &q.waiting[t.kind()]
	switch {
	case q.closed:
		return engine.ErrClosed
	case q.serving == nil:
		q.serving = t
		close(t.begin)
	case len(*list) >= q.options.Waiting:
		return &FullError{len(*list), min(max(q.mean, time.Second), time.Minute)}
	default:
		*list = append(*list, t)
	}
	q.inside.Add(1)
	return nil
}

// leave gives up a place, whether the turn has begun or not, and begins the next turn if it had. Once the queue is
// closed no turn begins any more: what waits leaves by itself.
func (q *Queue) leave(t *turn) {
	q.mu.Lock()
	if q.serving == t {
		q.serving = nil
		for i := range q.waiting {
			if list := q.waiting[i]; len(list) > 0 && q.serving == nil && !q.closed {
				q.serving, q.waiting[i] = list[0], list[1:]
				close(q.serving.begin)
			}
		}
	} else {
		list := &q.waiting[t.kind()]
		*list = slices.DeleteFunc(*list, func(w *turn) bool { return w == t })
	}
	q.mu.Unlock()
	q.inside.Done()
	q.report()
}

// serve answers the job whose turn it is.
func (q *Queue) serve(ctx context.Context, t *turn, r *relay) {
	defer r.end()
	defer q.leave(t)
	for e, err := range q.pool.generate(ctx, t.job.Request) {
		if err != nil {
			e, err = settled(ctx, err)
		}
		r.push(e, err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	took := time.Since(t.start)
	if q.mean == 0 {
		q.mean = took
	}
	q.mean += (took - q.mean) / 4
}

// Status says what the queue is doing now.
func (q *Queue) Status() Status {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := Status{People: len(q.waiting[0]), Programs: len(q.waiting[1])}
	if q.serving != nil {
		s.Serving = q.serving.job.Door
	}
	return s
}

// report tells the status. Reports follow each other, so the last one is true.
func (q *Queue) report() {
	q.reporting.Lock()
	defer q.reporting.Unlock()
	q.options.Changed(q.Status())
}

// Close ends the answer that is being made, refuses what waits and what comes, and returns when the engine has
// settled. The engine itself stays open.
func (q *Queue) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.cancel()
	q.inside.Wait()
}
