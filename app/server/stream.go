package server

import (
	"errors"
	"net/http"
)

// stream writes server-sent events. After the first error nothing more is written.
type stream struct {
	call  *call
	begun bool
	err   error
}

func newStream(c *call) *stream { return &stream{call: c} }

// begin sends the header.
func (s *stream) begin() {
	s.begun = true
	h := s.call.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	s.call.w.WriteHeader(http.StatusOK)
}

// send sends one event at once.
func (s *stream) send(v any) {
	data, err := encode(v)
	if err != nil {
		s.err = errors.Join(s.err, err)
		return
	}
	s.write("data: ", string(data), "\n")
}

// done sends the mark that ends a stream.
func (s *stream) done() { s.write("data: [DONE]\n\n") }

func (s *stream) write(parts ...string) {
	if s.err != nil {
		return
	}
	s.call.extend()
	for _, p := range parts {
		if _, err := s.call.w.Write([]byte(p)); err != nil {
			s.err = errGone
			return
		}
	}
	if s.call.control.Flush() != nil {
		s.err = errGone
	}
}

// fail ends a stream with an error: as the answer of the request if nothing has been sent, else as its last event.
func (s *stream) fail(err error) error {
	if s.begun && !errors.Is(err, errGone) {
		s.send(describe(err).body())
	}
	return err
}
