package app

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"

	"sotto/app/sched"
	"sotto/app/screen"
	"sotto/engine"
)

// Loading is how far a model is read.
type Loading struct {
	Name string // of the model
	engine.Loading
}

// Answers is an open model behind its queue.
type Answers interface {
	Info() screen.ModelInfo
	Submit(ctx context.Context, j sched.Job) iter.Seq2[engine.Event, error]
	Close() error
}

// ErrNoModel is the error of requests while no model is open.
var ErrNoModel = errors.New("no model is open")

// Gate lets requests through to the model that is open. A model is closed only when the requests inside have ended.
type Gate struct {
	mu     sync.Mutex
	open   Answers         // nil: none
	ctx    context.Context //nolint:containedctx // ends when the model is to be closed
	cancel context.CancelFunc
	inside sync.WaitGroup
}

// Open is the model that is open; nil if none is.
func (g *Gate) Open() Answers {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

// Submit asks the model that is open. When it is closed meanwhile, the request is cancelled.
func (g *Gate) Submit(ctx context.Context, j sched.Job) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		g.mu.Lock()
		answers, closing := g.open, g.ctx
		if answers != nil {
			g.inside.Add(1)
		}
		g.mu.Unlock()
		if answers == nil {
			yield(engine.Event{}, ErrNoModel)
			return
		}
		defer g.inside.Done()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(closing, cancel)() //nolint:contextcheck // the model's end, not the caller's
		answers.Submit(ctx, j)(yield)
	}
}

// set opens the gate to a model.
func (g *Gate) set(a Answers) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = a
	g.ctx, g.cancel = context.WithCancel(context.Background()) // until the model is closed, whoever asks
}

// shut cancels the requests inside, waits for them and closes the model.
func (g *Gate) shut() error {
	g.mu.Lock()
	answers, cancel := g.open, g.cancel
	g.open = nil
	g.mu.Unlock()
	if answers == nil {
		return nil
	}
	cancel()
	g.inside.Wait()
	return answers.Close()
}

// loader opens one model after another. Of several that are wanted, only the last counts.
type loader struct {
	open func(context.Context, string, func(Loading), func(string)) (Answers, error)
	gate *Gate
	tell func(screen.Msg)
	door *door
	wake chan struct{}

	mu     sync.Mutex
	next   *screen.LoadModel
	cancel context.CancelFunc // of the load under way
}

// want asks for a model and gives up the load under way.
func (l *loader) want(e screen.LoadModel) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = &e
	if l.cancel != nil {
		l.cancel()
	}
	signal(l.wake)
}

func (l *loader) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			// An error would have nobody to tell it to: the process ends.
			_ = l.gate.shut()
			return
		case <-l.wake:
		}
		loading, cancel := context.WithCancel(ctx)
		l.mu.Lock()
		e := l.next
		l.next, l.cancel = nil, cancel
		l.mu.Unlock()
		if e != nil {
			l.load(loading, *e)
		}
		cancel()
	}
}

func (l *loader) load(ctx context.Context, e screen.LoadModel) {
	if err := l.gate.shut(); err != nil {
		l.tell(screen.ModelFailed{Load: e.Load, Name: e.Name, Err: err})
		return
	}
	stage, last := "", int64(-1)
	a, err := l.open(ctx, e.Name, func(p Loading) {
		if p.Total <= 0 || p.Stage == stage && 100*p.Done/p.Total == last {
			return
		}
		stage, last = p.Stage, 100*p.Done/p.Total
		l.tell(screen.ModelLoading{Load: e.Load, Name: p.Name, Stage: p.Stage, Done: p.Done, Total: p.Total})
	}, l.door.set)
	if err != nil {
		l.tell(screen.ModelFailed{Load: e.Load, Name: e.Name, Err: err})
		return
	}
	l.gate.set(a)
	l.tell(screen.ModelReady{Load: e.Load, Model: a.Info()})
}

// door is the one that the queue serves, "" for none. Only the newest counts, so that the queue never waits for a
// runtime that is behind with its messages.
type door struct {
	name atomic.Pointer[string]
	wake chan struct{} // one place: it has changed since the last look
}

func newDoor() *door {
	d := &door{wake: make(chan struct{}, 1)}
	d.name.Store(new(string))
	return d
}

// set never blocks.
func (d *door) set(name string) {
	d.name.Store(&name)
	signal(d.wake)
}

// signal wakes a goroutine that has not taken the last signal yet, or will see this one.
func signal(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
