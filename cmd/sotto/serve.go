package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sotto/app"
	"sotto/app/models"
	"sotto/app/sched"
	"sotto/app/server"
	"sotto/kernels"
)

// serving is the state of one `sotto serve`.
type serving struct {
	model, driver                           string
	port, sessions, waiting, chunk, threads int
}

func newServe(t terminal) *cobra.Command {
	s := &serving{}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Answer programs on this machine in the form of OpenAI's API",
		Long: "Answers POST /v1/chat/completions, GET /v1/models and GET /health on this machine's loopback\n" +
			"addresses until Ctrl-C. Other machines, and pages of other sites in a browser, are refused.",
		Example: "  sotto serve\n" +
			"  curl http://127.0.0.1:7688/v1/chat/completions -H 'Content-Type: application/json' \\\n" +
			`    -d '{"messages": [{"role": "user", "content": "Hello!"}]}'`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return s.run(c.Context(), t) },
	}
	p := c.Flags()
	p.StringVarP(&s.model, "model", "m", models.Default, "built-in model, or folder of a checkpoint")
	p.IntVarP(&s.port, "port", "p", server.DefaultPort, "port to listen on; 0 takes a free one")
	p.IntVar(&s.sessions, "sessions", 4, "conversations whose state is kept, fewer if memory is short")
	p.IntVar(&s.waiting, "queue", sched.DefaultWaiting, "most requests that wait; more are told to come back later")
	p.IntVar(&s.chunk, "chunk", 0, "rows of a prefill chunk, 0 to 4096 (0: what takes about 100 ms)")
	driverFlag(p, &s.driver)
	p.IntVar(&s.threads, "threads", 0, "threads of the host driver (default: all cores)")
	return c
}

// check refuses values out of range.
func (s *serving) check() error {
	if err := errors.Join(checkModel(s.model), checkDriver(s.driver)); err != nil {
		return err
	}
	for _, f := range []struct {
		name            string
		value, low, top int
	}{
		{"port", s.port, 0, 65535},
		{"sessions", s.sessions, 1, 256},
		{"queue", s.waiting, 1, 10000},
		{"chunk", s.chunk, 0, kernels.MaxRows},
		{"threads", s.threads, 0, maxThreads},
	} {
		if f.value < f.low || f.value > f.top {
			return usageError{fmt.Errorf("--%s %d: want %d to %d", f.name, f.value, f.low, f.top)}
		}
	}
	return nil
}

func (s *serving) run(ctx context.Context, t terminal) (err error) {
	if err := s.check(); err != nil {
		return err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait for clients
	m, err := s.open(ctx, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	queue := sched.New(func() sched.Generator { return m.Engine.NewSession() },
		sched.Options{Sessions: m.Engine.Info().Sessions, Waiting: s.waiting})
	defer queue.Close()
	path, err := filepath.Abs(m.Name) // "." has a name too
	if err != nil {
		return err
	}
	model := &server.Model{
		ID: filepath.Base(path), Since: time.Now(), Info: m.Engine.Info(), Queue: queue, Bytes: m.Engine.TokenBytes,
	}
	api := server.New(server.Config{
		Model: func() *server.Model { return model }, Build: version(),
		Logger: slog.New(slog.NewTextHandler(t.err, nil)),
	})
	urls, err := api.Listen(ctx, s.port)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.out, "%s answers at %s (Ctrl-C ends it).\n", model.ID, strings.Join(urls, " and "))
	if m.Note != "" {
		fmt.Fprintf(t.out, "It is %s.\n", note(m))
	}
	return api.Run(ctx)
}

// open opens the model, showing progress where a person can see it.
func (s *serving) open(ctx context.Context, t terminal) (*app.Model, error) {
	bar := newProgress(t.err)
	defer bar.clear()
	return app.Open(ctx, app.Options{
		Model: s.model, Driver: s.driver, Chunk: s.chunk, Threads: s.threads, Sessions: s.sessions,
		Progress: bar.loading,
		Warn:     func(text string) { bar.clear(); fmt.Fprintf(t.err, "sotto: warning: %s\n", text) },
	})
}
