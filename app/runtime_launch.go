package app

import (
	"context"
	"iter"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sotto/app/models"
	"sotto/app/sched"
	"sotto/app/screen"
	"sotto/app/server"
	"sotto/engine"
)

// keptSessions is how many conversations' states the app asks the engine to keep: two in the window, the quick prompt
// and a service or a program.
const keptSessions = 4

// LaunchOptions say how the app works on this machine.
type LaunchOptions struct {
	Open   Options      // how models are opened; Progress and Sessions are not used. Model counts for this run
	Build  string       // version of the program, for clients of the API
	Logger *slog.Logger // of the API; nil: none
	// Slow is the least time between two tokens. Tests set it to see what passes quickly, whatever
	// the machine.
	Slow time.Duration
}

// Launch makes the runtime of the app: this user's files, the catalogue's models, the engine on this machine, the API.
func Launch(o LaunchOptions) (*Runtime, error) {
	list, err := models.Builtin()
	if err != nil {
		return nil, err
	}
	choices := make([]screen.ModelChoice, len(list))
	for i, m := range list {
		choices[i] = screen.ModelChoice{Name: m.Name, Title: m.Name}
	}
	model := o.Open.Model
	builtin := slices.ContainsFunc(list, func(m models.Model) bool { return m.Name == model })
	if model != "" && !builtin {
		if model, err = filepath.Abs(model); err != nil {
			return nil, err
		}
	}
	dirs := UserFolders()
	return NewRuntime(RuntimeOptions{
		Store: dirs.Store(), Lock: dirs.Lock(), Models: choices, Model: model,
		Open: func(ctx context.Context, name string, loading func(Loading), serving func(string)) (Answers, error) {
			return openAnswers(ctx, o, name, loading, serving)
		},
		Serve: func(port int, g *Gate) (Server, error) { return serve(port, g, o) },
	})
}

// answers is an open model behind its queue.
type answers struct {
	model  *Model
	queue  *sched.Queue
	served *server.Model
}

func openAnswers(ctx context.Context, l LaunchOptions, name string, loading func(Loading), serving func(string)) (
	Answers, error,
) {
	o := l.Open
	if name == "" {
		name = models.Default
	}
	o.Model, o.Sessions = name, keptSessions
	o.Progress = func(l engine.Loading) { loading(Loading{name, l}) }
	m, err := Open(ctx, o)
	if err != nil {
		return nil, err
	}
	info := m.Engine.Info()
	last := ""
	session := func() sched.Generator {
		if l.Slow > 0 {
			return slow{m.Engine.NewSession(), l.Slow}
		}
		return m.Engine.NewSession()
	}
	q := sched.New(session, sched.Options{
		Sessions: info.Sessions,
		Changed: func(s sched.Status) {
			if s.Serving != last {
				last = s.Serving
				serving(last)
			}
		},
	})
	return &answers{m, q, &server.Model{
		ID: filepath.Base(m.Name), Since: time.Now(), Info: info, Queue: q, Bytes: m.Engine.TokenBytes,
	}}, nil
}

// Info describes the model.
func (a *answers) Info() screen.ModelInfo {
	note := a.model.Note
	if a.model.Tiny {
		note += " in Settings"
	}
	return screen.ModelInfo{Name: a.model.Name, Note: note, Tiny: a.model.Tiny, Info: a.served.Info}
}

// Submit asks the queue.
func (a *answers) Submit(ctx context.Context, j sched.Job) iter.Seq2[engine.Event, error] {
	return a.queue.Submit(ctx, j)
}

// Close ends what runs and closes the model.
func (a *answers) Close() error {
	a.queue.Close()
	return a.model.Close()
}

// listening is an API that is being served.
type listening struct {
	address string
	end     context.CancelFunc
	ended   chan error
}

// serve starts the API in front of the model that is open.
func serve(port int, g *Gate, o LaunchOptions) (Server, error) {
	s := server.New(server.Config{
		Model: func() *server.Model {
			if a, ok := g.Open().(*answers); ok {
				return a.served
			}
			return nil
		},
		Build: o.Build, Logger: o.Logger,
	})
	ctx, cancel := context.WithCancel(context.Background())
	urls, err := s.Listen(ctx, port)
	if err != nil {
		cancel()
		return nil, err
	}
	l := &listening{strings.TrimPrefix(urls[0], "http://"), cancel, make(chan error, 1)}
	go func() { l.ended <- s.Run(ctx) }()
	return l, nil
}

// Address is the host and port.
func (l *listening) Address() string { return l.address }

// Close ends running answers and stops listening.
func (l *listening) Close() error {
	l.end()
	return <-l.ended
}
