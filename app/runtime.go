package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"sotto/app/screen"
	"sotto/app/store"
	"sotto/engine"
)

// ErrRunning is the error of a second app beside one that runs.
//
//nolint:staticcheck // it begins with a name
var ErrRunning = errors.New("Sotto is running already: use the one that is open, or quit it first")

// RuntimeOptions say what a Runtime works with.
type RuntimeOptions struct {
	Store  Keeper
	Lock   string               // file that says that the app is running
	Models []screen.ModelChoice // the built-in ones, the default one first
	Model  string               // of this run, "": that of the settings
	// Open opens a model by its name, "" for the default one. It may take long; its context ends when another model is
	// wanted. serving is called whenever the queue serves another door, "" for none; it never blocks.
	Open func(ctx context.Context, name string, loading func(Loading), serving func(door string)) (Answers, error)
	// Serve starts the API on a port of the loopback interface; nil if there is none.
	Serve func(port int, models *Gate) (Server, error)
}

// Runtime runs the front ends' state: one goroutine owns it, takes messages, carries out effects and publishes views.
// It is a [screen.Port]. Nothing that it waits for (the engine, the disk, a front end) keeps it from taking messages.
type Runtime struct {
	options  RuntimeOptions
	lock     *store.Lock
	in       chan screen.Msg
	commands chan screen.Command
	changed  chan struct{}
	view     atomic.Pointer[screen.View]
	done     chan struct{} // closed when Run returns

	// What follows belongs to Run's goroutine.
	state   screen.State
	pending []screen.Command // not taken yet
	leaving bool             // QuitNow is among them
	cancels map[screen.JobID]context.CancelFunc

	gate   *Gate
	door   *door
	loader *loader
	writer *writer
	api    *api
	tasks  sync.WaitGroup // loader, writer, api, reads
}

const (
	inbox      = 256              // messages that wait, at most
	batch      = 256              // messages taken before a view is made
	longestNap = 10 * time.Minute // the clock of a machine that sleeps is looked at again after this
	settleTime = 2 * time.Second  // what a stalled engine or disk gets when all is saved
)

// NewRuntime makes a runtime and claims to be the app of this user: a second one gets [ErrRunning]. Run must be called.
func NewRuntime(o RuntimeOptions) (*Runtime, error) {
	lock, err := store.Take(o.Lock)
	if errors.Is(err, store.ErrLocked) {
		return nil, fmt.Errorf("%w (%w)", ErrRunning, err)
	}
	if err != nil {
		return nil, err
	}
	r := &Runtime{
		options: o, lock: lock, state: screen.New(),
		in: make(chan screen.Msg, inbox), commands: make(chan screen.Command, inbox),
		changed: make(chan struct{}, 1), done: make(chan struct{}),
		cancels: map[screen.JobID]context.CancelFunc{},
		gate:    &Gate{}, door: newDoor(),
	}
	r.loader = &loader{open: o.Open, gate: r.gate, tell: r.Send, door: r.door, wake: make(chan struct{}, 1)}
	r.writer = &writer{keeper: o.Store, tell: r.Send, wake: make(chan struct{}, 1)}
	r.api = &api{serve: o.Serve, gate: r.gate, tell: r.Send, wake: make(chan struct{}, 1)}
	r.publish()
	return r, nil
}

// Send hands in a message. After the end it is dropped.
func (r *Runtime) Send(m screen.Msg) {
	select {
	case r.in <- m:
	case <-r.done:
	}
}

// View is the newest view.
func (r *Runtime) View() *screen.View { return r.view.Load() }

// Changed signals new views.
func (r *Runtime) Changed() <-chan struct{} { return r.changed }

// Commands are for the front end.
func (r *Runtime) Commands() <-chan screen.Command { return r.commands }

// Run works until the user quits or the context ends, which is a way to quit. Everything is saved when it returns; the
// error says what did not come to an end.
func (r *Runtime) Run(ctx context.Context) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.tasks.Go(func() { r.loader.run(work) })
	r.tasks.Go(func() { r.writer.run(work) })
	r.tasks.Go(func() { r.api.run(work) })
	r.tasks.Go(func() { r.Send(readAll(r.options)) })
	r.loop(work, ctx.Done())
	cancel()
	close(r.done)
	close(r.commands)
	return errors.Join(r.settle(), r.lock.Release())
}

// loop takes messages until QuitNow has been handed out.
func (r *Runtime) loop(ctx context.Context, quit <-chan struct{}) {
	nap := time.NewTimer(0)
	defer nap.Stop()
	for {
		var out chan<- screen.Command
		var first screen.Command
		if len(r.pending) > 0 {
			out, first = r.commands, r.pending[0]
		} else if r.leaving {
			return
		}
		select {
		case m := <-r.in:
			r.take(ctx, m)
		case <-r.door.wake:
			r.take(ctx, screen.Serving{Door: *r.door.name.Load()})
		case out <- first:
			r.pending = r.pending[1:]
			continue
		case <-nap.C:
			if r.leaving {
				return // no front end takes the last commands
			}
			r.feed(ctx, screen.Tick{Now: time.Now()})
		case <-quit:
			quit = nil
			r.take(ctx, screen.Quit{})
		}
		r.publish()
		if r.leaving {
			nap.Reset(settleTime)
			continue
		}
		nap.Reset(min(max(time.Until(screen.Wake(r.state)), time.Millisecond), longestNap))
	}
}

// take feeds a message and what has come behind it.
func (r *Runtime) take(ctx context.Context, m screen.Msg) {
	r.feed(ctx, screen.Tick{Now: time.Now()})
	r.feed(ctx, m)
	for range batch {
		select {
		case m := <-r.in:
			r.feed(ctx, m)
		default:
			return
		}
	}
}

// feed updates the state and carries out what comes of it.
func (r *Runtime) feed(ctx context.Context, m screen.Msg) {
	var effects []screen.Effect
	r.state, effects = screen.Update(r.state, m)
	for _, e := range effects {
		r.carryOut(ctx, e)
	}
	switch m := m.(type) {
	case screen.Answered:
		if m.Event.Kind == engine.Finished {
			delete(r.cancels, m.Job)
		}
	case screen.AnswerFailed:
		delete(r.cancels, m.Job)
	}
}

// publish makes the view and tells the front end.
func (r *Runtime) publish() {
	v := screen.Show(r.state)
	r.view.Store(&v)
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// settle waits for what still works. What is stalled is left behind: the process ends.
func (r *Runtime) settle() error {
	settled := make(chan struct{})
	go func() {
		r.tasks.Wait()
		close(settled)
	}()
	select {
	case <-settled:
		return nil
	case <-time.After(settleTime):
		return errors.New("the engine or the disk did not come to an end")
	}
}
