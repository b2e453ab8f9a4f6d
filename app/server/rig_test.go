package server

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sotto/app/sched"
	"sotto/engine"
)

var update = flag.Bool("update", false, "rewrite golden files")

// script is an engine that plays events. Token ids index words.
type script struct {
	events []engine.Event
	words  []string      // what tokens stand for
	err    error         // after the events, instead of the end
	pause  time.Duration // between tokens
	gate   chan struct{} // if not nil, taken from before each token

	mu       sync.Mutex
	requests []engine.Request
	active   atomic.Int32
}

func (s *script) Generate(ctx context.Context, r engine.Request) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		s.active.Add(1)
		defer s.active.Add(-1)
		s.mu.Lock()
		s.requests = append(s.requests, r)
		s.mu.Unlock()
		for _, e := range s.events {
			if e.Kind == engine.Text && !s.wait(ctx) {
				r := engine.Result{Reason: engine.ReasonCancelled, IDs: s.sent(e)}
				yield(engine.Event{Kind: engine.Finished, Result: r}, nil)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		if s.err != nil {
			yield(engine.Event{}, s.err)
		}
	}
}

// sent are the ids before an event.
func (s *script) sent(until engine.Event) []int32 {
	var ids []int32
	for _, e := range s.events {
		if e.Kind == engine.Text && e.Token.ID == until.Token.ID {
			break
		}
		if e.Kind == engine.Text {
			ids = append(ids, e.Token.ID)
		}
	}
	return ids
}

// wait passes the time until a token; false if the request was cancelled.
func (s *script) wait(ctx context.Context) bool {
	if s.gate != nil {
		select {
		case <-s.gate:
		case <-ctx.Done():
		}
	}
	if s.pause > 0 {
		select {
		case <-time.After(s.pause):
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

func (s *script) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

func (s *script) bytes(id int32) []byte {
	if int(id) < len(s.words) {
		return []byte(s.words[id])
	}
	return fmt.Appendf(nil, "<%d>", id)
}

// say makes the script of an answer of these tokens.
func say(words ...string) *script {
	s := &script{words: words, events: []engine.Event{{Kind: engine.Reading, Read: 7, Total: 7}}}
	var text strings.Builder
	var ids []int32
	for i, w := range words {
		e := engine.Event{Kind: engine.Text, Text: w, Settled: i + 1}
		e.Token.ID = int32(i)
		s.events = append(s.events, e)
		text.WriteString(w)
		ids = append(ids, int32(i))
	}
	s.finish(engine.ReasonStop, text.String(), "", ids)
	return s
}

func (s *script) finish(reason, text, thinking string, ids []int32) {
	r := engine.Result{Reason: reason, Text: text, Thinking: thinking, IDs: ids}
	r.Figures.Prompt, r.Figures.Completion = 7, len(ids)
	r.Message = engine.Message{Role: engine.Assistant, Content: text, Reasoning: thinking, IDs: ids}
	s.events = append(s.events, engine.Event{Kind: engine.Finished, Result: r})
}

// logs collects what a server logs.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// rig is a server that runs.
type rig struct {
	*Server
	url   string
	urls  []string
	queue *sched.Queue
	model atomic.Pointer[Model]
	logs  *logs
	stop  func() error // ends the server and returns what Run did
}

// now is the time of all tests.
var now = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

// serve runs a server over an engine, with clocks and identifiers that are always the same.
func serve(t testing.TB, g sched.Generator, change func(*Config, *sched.Options)) *rig {
	t.Helper()
	r := &rig{logs: &logs{}}
	info := engine.Info{Family: "test", Window: 4096, Sessions: 1}
	info.Sampling.Temperature, info.Sampling.TopP, info.Sampling.TopK = 0.6, 0.9, 20
	m := &Model{ID: "test-model", Since: now, Info: info, Bytes: func(int32) []byte { return []byte("?") }}
	if s, ok := g.(*script); ok {
		m.Bytes = s.bytes
	}
	var drawn atomic.Uint64
	c := Config{
		Model: r.model.Load, Build: "test",
		Logger: slog.New(slog.NewTextHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Now:    func() time.Time { return now }, Draw: func() uint64 { return drawn.Add(1) },
	}
	o := sched.Options{Sessions: 1}
	if change != nil {
		change(&c, &o)
	}
	r.queue = sched.New(func() sched.Generator { return g }, o)
	m.Queue = r.queue
	r.model.Store(m)
	r.run(t, c)
	return r
}

// run listens and serves until the end of the test.
func (r *rig) run(t testing.TB, c Config) {
	t.Helper()
	r.Server = New(c)
	var err error
	if r.urls, err = r.Listen(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	r.url = r.urls[0]
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		r.queue.Close()
	})
}

// reply is an answer as it came.
type reply struct {
	status int
	header http.Header
	body   string
}

// do sends a request; nothing is kept open between tests.
func (r *rig) do(t *testing.T, method, path, body string, header ...string) reply {
	t.Helper()
	got, err := r.try(t.Context(), method, path, strings.NewReader(body), header...)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (r *rig) try(ctx context.Context, method, path string, body io.Reader, header ...string) (reply, error) {
	q, err := http.NewRequestWithContext(ctx, method, r.url+path, body)
	if err != nil {
		return reply{}, err
	}
	q.Close = true
	if method == http.MethodPost {
		q.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			q.Host = header[i+1]
		}
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return reply{}, err
	}
	defer a.Body.Close()
	data, err := io.ReadAll(a.Body)
	return reply{a.StatusCode, a.Header, string(data)}, err
}

// chat posts a chat completion.
func (r *rig) chat(t *testing.T, body string, header ...string) reply {
	t.Helper()
	return r.do(t, http.MethodPost, "/v1/chat/completions", body, header...)
}

// golden compares with a file under testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

// eventually waits for something that another goroutine brings about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not after 5 s", what)
		}
	}
}
