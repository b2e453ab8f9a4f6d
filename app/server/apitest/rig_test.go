//go:build !race

// The client is large: compiling it for the race detector takes minutes and would find nothing of ours that the tests
// of the server do not.

package apitest

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"sotto/app/sched"
	"sotto/app/server"
	"sotto/assets"
	"sotto/engine"
	"sotto/engine/gpu/host"
)

// memory keeps manifests for a test.
type memory map[string][]byte

func (m memory) Load(key string) ([]byte, error)     { return m[key], nil }
func (m memory) Save(key string, value []byte) error { m[key] = value; return nil }

// broken is an engine that fails after two tokens.
type broken struct{}

func (broken) Generate(context.Context, engine.Request) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		_ = yield(engine.Event{Kind: engine.Text, Text: "It "}, nil) &&
			yield(engine.Event{Kind: engine.Text, Text: "works"}, nil) &&
			yield(engine.Event{}, errors.New("the device is gone"))
	}
}

// rig is a server that runs, and OpenAI's own client for Go pointed at it.
type rig struct {
	openai.Client
	queue *sched.Queue
	since time.Time
}

// builtin serves the built-in model.
func builtin(t *testing.T) *rig {
	t.Helper()
	dir, err := assets.Model("qwen-tiny")
	if err != nil {
		t.Fatal(err)
	}
	device, err := host.Open(host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(t.Context(), dir, engine.Options{Device: device, PackDir: t.TempDir(), Manifests: memory{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return serve(t, e.NewSession(), e.Info(), e.TokenBytes)
}

// serve runs a server over an engine's session until the end of the test.
func serve(t *testing.T, g sched.Generator, info engine.Info, bytes func(int32) []byte) *rig {
	t.Helper()
	r := &rig{queue: sched.New(func() sched.Generator { return g }, sched.Options{}), since: time.Now()}
	m := &server.Model{ID: "qwen-tiny", Since: r.since, Info: info, Queue: r.queue, Bytes: bytes}
	s := server.New(server.Config{Model: func() *server.Model { return m }})
	urls, err := s.Listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		r.queue.Close()
	})
	r.Client = openai.NewClient(option.WithBaseURL(urls[0]+"/v1/"), option.WithAPIKey("none"), option.WithMaxRetries(0))
	return r
}
