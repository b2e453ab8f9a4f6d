package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// endpoint is something that can be asked for. A path that ends in a slash takes what follows it as the call's name.
type endpoint struct {
	method, path string
	handle       func(*call) error
}

// call is one request on its way through. An error that a handler returns is written as the answer.
type call struct {
	w       *tracked
	r       *http.Request
	control *http.ResponseController
	server  *Server
	id      string
	name    string      // what follows the endpoint's path
	notes   []slog.Attr // for the log: figures, never text
}

// tracked knows whether an answer has begun.
type tracked struct {
	http.ResponseWriter
	status int // 0: not yet
}

func (t *tracked) WriteHeader(status int) {
	if t.status == 0 {
		t.status = status
	}
	t.ResponseWriter.WriteHeader(status)
}

func (t *tracked) Write(b []byte) (int, error) {
	if t.status == 0 {
		t.status = http.StatusOK
	}
	return t.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (t *tracked) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// Handler serves all endpoints; Run uses it.
func (s *Server) Handler() http.Handler {
	endpoints := s.endpoints()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{
			w: &tracked{ResponseWriter: w}, r: r, control: http.NewResponseController(w), server: s,
			id: fmt.Sprintf("req_%016x", s.config.Draw()),
		}
		begin := s.config.Now()
		if r.ContentLength != 0 { // read or not; net/http lifts the limit when the body is over
			_ = c.control.SetReadDeadline(time.Now().Add(s.limits.Read))
		}
		c.extend()
		h := w.Header()
		h.Set("X-Request-Id", c.id)
		h.Set("X-Content-Type-Options", "nosniff")
		e := c.find(endpoints)
		if err := c.guarded(e.handle); err != nil {
			c.fail(err)
		}
		c.log(r.Context(), e.path, begin)
	})
}

// find returns the endpoint that a request is for, or one that says that there is none.
func (c *call) find(endpoints []endpoint) endpoint {
	method, path := c.r.Method, c.r.URL.Path
	for _, e := range endpoints {
		name, ok := strings.CutPrefix(path, e.path)
		if !ok || name != "" && !strings.HasSuffix(e.path, "/") {
			continue
		}
		c.name = name
		if method == e.method || method == http.MethodHead && e.method == http.MethodGet {
			return e
		}
		e.handle = func(c *call) error {
			c.w.Header().Set("Allow", e.method)
			return errMethod(method, path, e.method)
		}
		return e
	}
	return endpoint{handle: func(*call) error { return errUnknownURL(method, path) }}
}

// guarded checks where the request comes from and lets the handler work.
func (c *call) guarded(handle func(*call) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			// The value may hold text of the user; its type and the place do not.
			c.server.config.Logger.Error("panic in a handler", "id", c.id, "type", fmt.Sprintf("%T", p),
				"stack", string(debug.Stack()))
			err = errInternal
		}
	}()
	if err := checkOrigin(c.r); err != nil {
		return err
	}
	if c.server.ending.Err() != nil {
		return errEnding
	}
	return handle(c)
}

// extend gives the client time to take the next piece of the answer. Writers that know no deadlines have none.
func (c *call) extend() {
	_ = c.control.SetWriteDeadline(time.Now().Add(c.server.limits.Write))
}

// context ends when the client goes or the server ends.
func (c *call) context() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(c.r.Context())
	undo := context.AfterFunc(c.server.ending, func() { cancel(errEnding) })
	return ctx, func() { undo(); cancel(nil) }
}

// body reads the body of a request, which must be JSON.
func (c *call) body() ([]byte, error) {
	kind, params, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if charset := strings.ToLower(params["charset"]); err != nil || kind != "application/json" ||
		charset != "" && charset != "utf-8" {
		return nil, errContentType
	}
	if c.r.Header.Get("Content-Encoding") != "" {
		return nil, errContentEncoding
	}
	limit := c.server.limits.Body
	if c.r.ContentLength > limit {
		c.drain()
		return nil, errTooLarge(limit)
	}
	data, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
	var large *http.MaxBytesError
	var network net.Error
	switch {
	case errors.As(err, &large):
		c.drain()
		return nil, errTooLarge(limit)
	case errors.As(err, &network) && network.Timeout():
		c.w.Header().Set("Connection", "close")
		return nil, errTooSlow
	case err != nil:
		return nil, errGone
	}
	return data, nil
}

// drain reads on for a while: a client that is still sending when the connection is closed would see a broken
// connection and not the answer. One that asks before it sends is told in time.
func (c *call) drain() {
	if c.r.Header.Get("Expect") == "" {
		_, _ = io.CopyN(io.Discard, c.r.Body, 4*c.server.limits.Body)
	}
}

// fail answers with an error, if the client can still be told.
func (c *call) fail(err error) {
	p := describe(err)
	if p.code == engineError {
		c.server.config.Logger.Error("the engine failed", "id", c.id, "error", err)
	}
	c.note(slog.String("code", p.code))
	if c.w.status != 0 {
		return
	}
	if errors.Is(err, errGone) {
		c.w.status = p.status // for the log only
		return
	}
	h := c.w.Header()
	if p.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(int((p.retry+time.Second-1)/time.Second)))
	}
	if p == errEnding {
		h.Set("Connection", "close")
	}
	_ = c.reply(p.status, p.body()) // a client that has gone needs no answer
}

// reply writes a whole answer.
func (c *call) reply(status int, v any) error {
	data, err := encode(v)
	if err != nil {
		return err
	}
	c.extend()
	h := c.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(data)))
	c.w.WriteHeader(status)
	if _, err := c.w.Write(data); err != nil {
		return errGone
	}
	return nil
}

// encode writes JSON as it is, without escapes for HTML, and ends the line.
func encode(v any) ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return []byte(b.String()), err
}

// note adds a figure to the request's line in the log.
func (c *call) note(attrs ...slog.Attr) { c.notes = append(c.notes, attrs...) }

func (c *call) log(ctx context.Context, route string, begin time.Time) {
	attrs := append([]slog.Attr{
		slog.String("id", c.id), slog.String("route", route), slog.Int("status", c.w.status),
		slog.Duration("took", c.server.config.Now().Sub(begin)),
	}, c.notes...)
	c.server.config.Logger.LogAttrs(ctx, slog.LevelInfo, "request", attrs...)
}
