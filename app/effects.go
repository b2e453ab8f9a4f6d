package app

import (
	"context"
	"errors"
	"time"

	"sotto/app/sched"
	"sotto/app/screen"
	"sotto/engine"
)

// carryOut begins what an effect asks for; it never waits.
func (r *Runtime) carryOut(ctx context.Context, e screen.Effect) {
	switch e := e.(type) {
	case screen.Generate:
		r.generate(ctx, e)
	case screen.Cancel:
		if cancel := r.cancels[e.Job]; cancel != nil {
			cancel()
			delete(r.cancels, e.Job)
		}
	case screen.LoadModel:
		r.loader.want(e)
	case screen.LookForFolders:
		r.tasks.Go(func() { r.Send(look(e.Folders)) })
	case screen.ServeAPI:
		r.api.want(e)
	case screen.LoadConversation:
		r.tasks.Go(func() { r.Send(readOne(r.options.Store, e.ID)) })
	case screen.UI:
		r.pending = append(r.pending, e.Command)
		if _, ok := e.Command.(screen.QuitNow); ok {
			r.leaving = true
		}
	default: // everything else is for the store
		r.writer.add(e)
	}
}

// generate asks the engine and passes its events on.
func (r *Runtime) generate(ctx context.Context, g screen.Generate) {
	ctx, cancel := context.WithCancel(ctx)
	r.cancels[g.Job] = cancel
	job := sched.Job{Door: g.Door, Person: true, Request: g.Request}
	r.tasks.Go(func() {
		defer cancel()
		for e, err := range r.gate.Submit(ctx, job) {
			if err != nil {
				r.Send(screen.AnswerFailed{Job: g.Job, At: time.Now(), Err: err})
				return
			}
			r.Send(screen.Answered{Job: g.Job, At: time.Now(), Event: e})
			if e.Kind == engine.Finished {
				return
			}
		}
		r.Send(screen.AnswerFailed{Job: g.Job, At: time.Now(), Err: errNoEnd})
	})
}

var errNoEnd = errors.New("the answer has no end")
