// Package server answers HTTP requests in the form of OpenAI's API. It listens on loopback only, refuses requests that
// a page in a browser could have been tricked into (foreign Host or Origin, bodies that are no JSON), bounds what it
// reads and how long it waits, and puts every request into the queue that it shares with the windows.
//
// Handlers only translate: one file an endpoint, one table of errors (errors.go). What a request asks for and Sotto
// cannot do is refused by its name, never ignored; unknown fields are ignored. The text of users is never logged. The
// package opens no model and keeps nothing.
package server

import (
	"context"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"sotto/app/sched"
	"sotto/engine"
)

// DefaultPort is where Sotto listens if nothing else is said.
const DefaultPort = 7688

// Model is what requests are answered with.
type Model struct {
	ID    string // the name that clients use
	Since time.Time
	Info  engine.Info
	Queue Queue
	Bytes func(id int32) []byte // what a token stands for
}

// Queue is the queue that all doors share: a *[sched.Queue], or what stands in front of one.
type Queue interface {
	Submit(ctx context.Context, j sched.Job) iter.Seq2[engine.Event, error]
}

// Config is what a server is made of. Model is needed, everything else has a default.
type Config struct {
	Model  func() *Model // the model that is open now; nil: none
	Build  string        // version of the program, part of the system fingerprint
	Limits Limits
	Logger *slog.Logger
	Now    func() time.Time
	Draw   func() uint64 // seeds and identifiers
}

// Limits bound what clients may do. Zero fields take the default.
type Limits struct {
	Body    int64         // bytes of a request; 16 MiB
	Calls   int           // requests at a time that are being read, wait or are answered; 64
	Header  time.Duration // to send the header; 5 s
	Read    time.Duration // to send the body; 30 s
	Write   time.Duration // to take a piece of an answer; 30 s
	Idle    time.Duration // between requests of a connection; 2 min
	Goodbye time.Duration // to take the last pieces when the server ends; 3 s
}

func (l Limits) withDefaults() Limits {
	orDuration := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	orDuration(&l.Header, 5*time.Second)
	orDuration(&l.Read, 30*time.Second)
	orDuration(&l.Write, 30*time.Second)
	orDuration(&l.Idle, 2*time.Minute)
	orDuration(&l.Goodbye, 3*time.Second)
	if l.Body <= 0 {
		l.Body = 16 << 20
	}
	if l.Calls <= 0 {
		l.Calls = 64
	}
	return l
}

// Server is an HTTP server: Listen, then Run.
type Server struct {
	config    Config
	limits    Limits
	calls     chan struct{} // one place for each request at a time
	listeners []net.Listener

	ending context.Context //nolint:containedctx // the server's own life
	end    context.CancelFunc
}

// New makes a server that does not listen yet.
func New(c Config) *Server {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Draw == nil {
		c.Draw = rand.Uint64
	}
	s := &Server{config: c, limits: c.Limits.withDefaults()}
	s.calls = make(chan struct{}, s.limits.Calls)
	s.ending, s.end = context.WithCancel(context.Background())
	return s
}

// endpoints is the table of what can be asked for.
func (s *Server) endpoints() []endpoint {
	return []endpoint{
		{http.MethodPost, "/v1/chat/completions", s.chat},
		{http.MethodGet, "/v1/models", s.models},
		{http.MethodGet, "/v1/models/", s.model},
		{http.MethodGet, "/health", s.health},
	}
}

// Run serves until ctx ends; then running answers end with what they have, and Run returns when clients have taken
// it, or have been given up. It is called once.
func (s *Server) Run(ctx context.Context) error {
	h := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: s.limits.Header,
		IdleTimeout:       s.limits.Idle,
		MaxHeaderBytes:    64 << 10,

		DisableGeneralOptionsHandler: true, // it would answer foreign requests too
		ErrorLog:                     slog.NewLogLogger(s.config.Logger.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, len(s.listeners))
	for _, l := range s.listeners {
		go func() { ended <- h.Serve(l) }()
	}
	running := len(s.listeners)
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended: // only a broken listener ends by itself
		running--
	}
	s.end()
	goodbye, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.limits.Goodbye)
	defer cancel()
	if h.Shutdown(goodbye) != nil {
		_ = h.Close() // what is left is given up
	}
	for range running {
		<-ended //nolint:errcheck // it was told to end
	}
	return err
}
