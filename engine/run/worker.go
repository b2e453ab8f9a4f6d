// Package run owns the device: one worker, locked to a thread, takes requests, reads prompts in chunks, decodes
// and hands tokens back over channels. Cancellation is looked at between chunks and between tokens; afterwards
// the session is level, so that it can go on. The package knows ids, not text.
package run

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"time"

	"sotto/engine/gpu"
	"sotto/engine/model"
	"sotto/engine/nn"
	"sotto/engine/state"
	"sotto/engine/weights"
	"sotto/kernels"
)

// ErrClosed is returned by requests to a worker that has been closed.
var ErrClosed = errors.New("the engine is closed")

// eventBuffer is how many events a caller may fall behind before the worker waits for it.
const eventBuffer = 64

// Config says what a worker runs.
type Config struct {
	Device gpu.Device // taken over: closed by Close, and by Open on an error
	// Reopen opens the device again after it was lost; nil: it stays lost.
	Reopen func() (gpu.Device, error)
	Spec   *model.Spec
	Layout *weights.Layout
	Pack   []byte // mapped, laid out by Layout; must stay until Close returns
	DType  kernels.DType
	// Chunk is how many rows of a prompt are read at once; 0: what takes the device about 100 ms.
	Chunk int
	// Sessions is the number of texts whose state is kept at a time; 0: 1. Where memory is short they are fewer, and
	// then the window is shorter.
	Sessions int
	Without  nn.Ablation // techniques to do without
}

// Worker serves requests one after another.
type Worker struct {
	config   Config
	device   gpu.Device // nil only after it was lost and could not be opened again
	lost     bool       // the device is of no use any more
	pace     pace
	arena    *state.Arena
	programs *programs
	resident []*Session // sessions that hold a slot
	clock    uint64

	ctx    context.Context //nolint:containedctx // the worker's own life
	cancel context.CancelFunc
	jobs   chan *job
	ended  chan struct{}
	failed error // set before ended closes
}

// Open allocates state, maps the weights and compiles what most requests need. It returns when they can be served
// without a further wait for kernels, or when ctx ends; other programs are compiled when a request first needs them.
func Open(ctx context.Context, c Config) (*Worker, error) {
	w := &Worker{config: c, device: c.Device, jobs: make(chan *job), ended: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(context.Background()) // ctx ends the opening, not the worker
	ready := make(chan error)
	go w.loop(ctx, ready)
	if err := <-ready; err != nil {
		<-w.ended
		return nil, errors.Join(err, w.failed)
	}
	return w, nil
}

// loop is the only goroutine that talks to the device.
func (w *Worker) loop(ctx context.Context, ready chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(w.ended)
	defer func() { w.failed = w.free() }()
	err := w.setUp()
	if err == nil {
		err = w.programs.prepare(ctx, w.pace.rows)
	}
	ready <- err
	if err != nil {
		return
	}
	for {
		select {
		case <-w.ctx.Done():
			return
		case j := <-w.jobs:
			j.events <- w.attend(j) //nolint:contextcheck // ctx ends the opening; a job has its own
			close(j.events)
		}
	}
}

// attend serves a request, on a device opened again if the last one was lost. Sessions then read their text again. The
// worker's end cancels the request.
func (w *Worker) attend(j *job) Event {
	ctx, cancel := context.WithCancel(j.ctx)
	defer cancel()
	defer context.AfterFunc(w.ctx, cancel)()
	j.ctx = ctx
	if w.lost {
		if err := w.reopen(); err != nil {
			return Event{Kind: Done, Err: err}
		}
	}
	e := w.serve(j)
	w.lost = w.lost || errors.Is(e.Err, gpu.ErrLost)
	return e
}

// reopen replaces a lost device and everything on it. After an error the worker is as before; the next request tries
// again.
func (w *Worker) reopen() error {
	if w.config.Reopen == nil {
		return gpu.ErrLost
	}
	if err := w.free(); err != nil && !errors.Is(err, gpu.ErrLost) {
		return fmt.Errorf("close the lost device: %w", err)
	}
	device, err := w.config.Reopen()
	if err != nil {
		return fmt.Errorf("open the device again: %w", err)
	}
	w.device, w.config.Device = device, device
	if err := w.setUp(); err != nil {
		return fmt.Errorf("set the device up again: %w", err)
	}
	w.lost = false
	return nil
}

func (w *Worker) setUp() error {
	w.pace = newPace(w.config)
	return fit(w.config, w.allocate)
}

// allocate sets up state of a size and programs, or leaves nothing behind.
func (w *Worker) allocate(size state.Config) error {
	layout, err := state.Plan(w.config.Spec, size)
	if err != nil {
		return err
	}
	scratch, err := admit(w.config, layout)
	if err != nil {
		return err
	}
	arena, err := state.New(w.device, layout)
	if err != nil {
		return err
	}
	if w.programs, err = newPrograms(w.device, w.config, arena, scratch); err != nil {
		arena.Free()
		return err
	}
	w.arena = arena
	return nil
}

// settle waits for a submission, whatever its outcome.
func (w *Worker) settle(seq uint64) {
	if seq > 0 {
		_ = w.device.Wait(context.Background(), seq) // its error has been reported by the wait that failed first
	}
}

// free gives up everything on the device, and the device.
func (w *Worker) free() error {
	for len(w.resident) > 0 {
		w.release(w.resident[0])
	}
	if w.programs != nil {
		w.programs.free()
		w.programs = nil
	}
	if w.arena != nil {
		w.arena.Free()
		w.arena = nil
	}
	if w.device == nil {
		return nil
	}
	err := w.device.Close()
	w.device = nil
	return err
}

// Close cancels what runs, waits for it and closes the device. It may be called more than once.
func (w *Worker) Close() error {
	w.cancel()
	<-w.ended
	return w.failed
}

// Sessions is the number of texts whose state is kept at a time.
func (w *Worker) Sessions() int { return w.arena.Layout().Slots }

// Window is the number of positions of a session.
func (w *Worker) Window() int { return w.arena.Layout().Window }

// WholeWindow is the number of positions of a session where memory is not short.
func (w *Worker) WholeWindow() int { return wholeWindow(w.config) }

// Generate serves a request. Requests wait for each other. The last event is Done, also after an error; a caller
// that breaks off cancels the request and returns when the worker has settled.
func (w *Worker) Generate(ctx context.Context, s *Session, r Request) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		j := &job{ctx: ctx, session: s, request: r, events: make(chan Event, eventBuffer), start: time.Now()}
		select {
		case w.jobs <- j:
		case <-ctx.Done():
			yield(Event{Kind: Done, Reason: Cancelled})
			return
		case <-w.ended:
			yield(Event{Kind: Done, Err: ErrClosed})
			return
		}
		broken := false
		for e := range j.events {
			if !broken && !yield(e) {
				broken = true
				cancel()
			}
		}
	}
}
