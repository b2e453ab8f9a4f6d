package server

import (
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"

	"sotto/app/sched"
	"sotto/engine"
)

// door is the name of the API in the status of the queue.
const door = "API"

// chat answers POST /v1/chat/completions.
func (s *Server) chat(c *call) error {
	select {
	case s.calls <- struct{}{}:
		defer func() { <-s.calls }()
	default:
		return errTooMany
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	m := s.config.Model()
	if m == nil {
		return errNoModel
	}
	q, err := parseChat(body, m.Info, s.config.Draw)
	if err != nil {
		return err
	}
	if q.model != "" && q.model != m.ID {
		return errUnknownModel(q.model, m.ID)
	}
	ctx, cancel := c.context()
	defer cancel()
	a := &chatAnswer{
		call: c, query: q, account: account{model: m, logs: q.request.Logprobs},
		header: header{
			ID: fmt.Sprintf("chatcmpl-%016x", s.config.Draw()), Object: "chat.completion",
			Created: s.config.Now().Unix(), Model: m.ID, Fingerprint: m.fingerprint(s.config.Build),
		},
	}
	events := m.Queue.Submit(ctx, sched.Job{Door: door, Request: q.request})
	if q.stream {
		a.Object = "chat.completion.chunk"
		return a.stream(events)
	}
	return a.whole(events)
}

// chatAnswer is an answer on its way to the client.
type chatAnswer struct {
	header
	call    *call
	query   *chatRequest
	account account
}

// whole sends the answer when it is finished.
func (a *chatAnswer) whole(events iter.Seq2[engine.Event, error]) error {
	logs := &logContent{Content: []logEntry{}}
	for e, err := range events {
		switch {
		case err != nil:
			return err
		case e.Kind == engine.Text:
			if l := a.account.add(e); l != nil {
				logs.Content = append(logs.Content, l.Content...)
			}
		case e.Kind == engine.Finished:
			if err := a.finished(e.Result); err != nil {
				return err
			}
			r := e.Result
			if !a.account.logs {
				logs = nil
			}
			return a.call.reply(http.StatusOK, completion{
				header: a.header,
				Choices: []choice{{
					Message:  message{"assistant", r.Text, r.Thinking},
					Logprobs: logs, Finish: finishReason(r),
				}},
				Usage: a.account.usage(r),
			})
		}
	}
	return errInternal
}

// finished notes the figures of an answer. It is an error if there is nobody to give it to, or nothing to give.
func (a *chatAnswer) finished(r engine.Result) error {
	f := r.Figures
	a.call.note(
		slog.String("reason", r.Reason), slog.Int("prompt_tokens", f.Prompt), slog.Int("cached_tokens", f.Cached),
		slog.Int("completion_tokens", f.Completion), slog.Duration("first_token", f.FirstToken),
		slog.Float64("tokens_per_second", f.DecodeRate()),
	)
	switch {
	case a.call.r.Context().Err() != nil:
		return errGone
	case r.Reason != engine.ReasonCancelled || len(r.IDs) > 0:
		return nil
	case a.call.server.ending.Err() != nil:
		return errEnding
	}
	return errNoModel // it was closed
}

// stream sends the answer as it is made. It begins with the first sign that the engine works on it, so that a refused
// request gets a status of its own.
func (a *chatAnswer) stream(events iter.Seq2[engine.Event, error]) error {
	s := newStream(a.call)
	for e, err := range events {
		if err != nil {
			return s.fail(err)
		}
		if !s.begun && e.Kind != engine.Finished {
			s.begin()
			empty := ""
			s.send(a.chunk(delta{Role: "assistant", Content: &empty}, nil, nil))
		}
		switch e.Kind {
		case engine.Reading:
		case engine.Text:
			logs := a.account.add(e)
			d := delta{Reasoning: e.Thinking}
			if e.Text != "" {
				d.Content = &e.Text
			}
			if d != (delta{}) {
				s.send(a.chunk(d, logs, nil))
			}
		case engine.Finished:
			return a.end(s, e.Result)
		}
		if s.err != nil {
			return s.err
		}
	}
	return s.fail(errInternal)
}

// end sends the last chunks.
func (a *chatAnswer) end(s *stream, r engine.Result) error {
	if err := a.finished(r); err != nil && (!s.begun || errors.Is(err, errGone)) {
		return s.fail(err)
	}
	if !s.begun {
		s.begin()
	}
	why := finishReason(r)
	s.send(a.chunk(delta{}, nil, &why))
	if a.query.usage {
		s.send(chunk{header: a.header, Choices: []chunkChoice{}, Usage: a.account.usage(r)})
	}
	s.done()
	return s.err
}

func (a *chatAnswer) chunk(d delta, logs *logContent, finish *string) chunk {
	c := chunk{header: a.header, Choices: []chunkChoice{{Delta: d, Logprobs: logs, Finish: finish}}}
	if a.query.usage {
		c.Usage = (*usage)(nil) // null, not absent
	}
	return c
}
