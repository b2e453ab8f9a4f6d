package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"sotto/app"
	"sotto/engine"
	"sotto/engine/sample"
)

// sessions is how many conversations are asked for, as the app does.
const sessions = 4

// question is short: a processor reads some tokens a second of a model of this size.
const question = "I like boats and rivers. Tell me a story."

// moment is when a prompt is given up whose first chunk is being read: the text has become tokens then.
const moment = 300 * time.Millisecond

// check opens a folder and tells what that takes. The first thing that does not hold ends it.
type check struct {
	out    *json.Encoder
	dir    string
	tokens int // of an answer
	long   int // about how many tokens the prompt has that is broken off
	chunks string
}

// opened is what it takes to open a model.
type opened struct {
	Step        string       `json:"step"`
	Seconds     float64      `json:"seconds"`
	Stages      []stageTimes `json:"stages"` // none: the weights were packed already
	Pack        int64        `json:"pack_bytes"`
	Window      int          `json:"window"`
	WholeWindow int          `json:"whole_window"`
	Sessions    int          `json:"sessions"`
	Limit       int64        `json:"memory_limit"`
	Private     int64        `json:"peak_private_bytes"` // memory that is no file's, while it was opened
	Warnings    []string     `json:"warnings,omitempty"`
}

// stageTimes is a stage of opening.
type stageTimes struct {
	Stage   string  `json:"stage"`
	Seconds float64 `json:"seconds"`
	Bytes   int64   `json:"bytes"`
	started time.Time
}

// answered is an answer to the question, had in some way.
type answered struct {
	Step    string  `json:"step"`
	Way     string  `json:"way"`
	Prompt  int     `json:"prompt_tokens"`
	Cached  int     `json:"cached_tokens"`
	IDs     []int32 `json:"ids"`
	First   float64 `json:"first_token_seconds"`
	Prefill float64 `json:"prefill_tokens_per_second"`
	Decode  float64 `json:"decode_tokens_per_second"`
	// Processor time says more than the clock on a machine that others use too.
	PrefillCPU float64 `json:"prefill_cpu_seconds"`
	DecodeCPU  float64 `json:"decode_cpu_seconds"`
	Same       bool    `json:"same"` // ids and log-probabilities equal those of the other way, bit for bit
	logs       []float32
	message    engine.Message
}

// brokenOff is a long prompt that was given up.
type brokenOff struct {
	Step    string  `json:"step"`
	Read    int     `json:"tokens_read"`
	Total   int     `json:"prompt_tokens"`
	Chunk   int     `json:"last_chunk"`
	Seconds float64 `json:"seconds_to_end"`
}

// used is the memory that is in use with a model open.
type used struct {
	Step    string `json:"step"`
	Private int64  `json:"private_bytes"`
	Files   int64  `json:"file_bytes"`              // of the pack, mapped and in memory
	Touched int64  `json:"pack_bytes_a_token_used"` // in whole pages, for one token
}

func (c *check) run(ctx context.Context) error {
	base, err := c.first(ctx)
	if err != nil {
		return err
	}
	for text := range strings.SplitSeq(c.chunks, ",") {
		chunk, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("-chunks: %w", err)
		}
		if err := c.chunk(ctx, chunk, base); err != nil {
			return err
		}
	}
	return nil
}

// first opens the model, packing its weights if need be, and has it answer in all ways that need no other options.
func (c *check) first(ctx context.Context) (base answered, err error) {
	m, err := c.open(ctx, "open", 0)
	if err != nil {
		return base, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if err := c.breakOff(ctx, m, "break off the first chunk", 0); err != nil {
		return base, err
	}
	session := m.Engine.NewSession()
	if base, err = c.answer(ctx, session, "cold", nil, nil); err != nil {
		return base, err
	}
	turns := []engine.Message{{Role: engine.User, Content: question}, base.message}
	went, err := c.answer(ctx, session, "second turn", turns, nil) // at once: there may be a place for one session
	if err != nil {
		return base, err
	}
	if went.Cached == 0 {
		return base, errors.New("the second turn read the first one again")
	}
	if _, err := c.answer(ctx, m.Engine.NewSession(), "second turn, cold", turns, &went); err != nil {
		return base, err
	}
	if _, err := c.answer(ctx, m.Engine.NewSession(), "again", nil, &base); err != nil {
		return base, err
	}
	if err := c.touch(ctx, m); err != nil {
		return base, err
	}
	return base, c.breakOff(ctx, m, "break off a long prompt", 3)
}

// chunk has the model answer with chunks of another size.
func (c *check) chunk(ctx context.Context, chunk int, base answered) error {
	m, err := c.open(ctx, "open again", chunk)
	if err != nil {
		return err
	}
	_, err = c.answer(ctx, m.Engine.NewSession(), fmt.Sprintf("chunks of %d", chunk), nil, &base)
	return errors.Join(err, m.Close())
}

func (c *check) open(ctx context.Context, step string, chunk int) (*app.Model, error) {
	o := opened{Step: step, Stages: []stageTimes{}}
	end := watchPrivate(&o.Private)
	begin := time.Now()
	m, err := app.Open(ctx, app.Options{
		Model: c.dir, Sessions: sessions, Chunk: chunk,
		Progress: func(l engine.Loading) { o.progress(l) },
		Warn:     func(s string) { o.Warnings = append(o.Warnings, s) },
	})
	o.Seconds = time.Since(begin).Seconds()
	end()
	if err != nil {
		return nil, err
	}
	info := m.Engine.Info()
	o.Pack, o.Window, o.WholeWindow, o.Sessions = info.Weights, info.Window, info.WholeWindow, info.Sessions
	o.Limit = info.Caps.MemoryLimit
	if err := c.out.Encode(o); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

func (o *opened) progress(l engine.Loading) {
	n := len(o.Stages)
	if n == 0 || o.Stages[n-1].Stage != l.Stage {
		o.Stages = append(o.Stages, stageTimes{Stage: l.Stage, started: time.Now()})
		n++
	}
	s := &o.Stages[n-1]
	s.Seconds, s.Bytes = time.Since(s.started).Seconds(), l.Done
}

// answer asks the question, after some turns, and compares the answer with another one.
func (c *check) answer(
	ctx context.Context, s *engine.Session, way string, turns []engine.Message, other *answered,
) (answered, error) {
	a := answered{Step: "answer", Way: way, Same: true}
	begin, read := processorTime(), time.Duration(0)
	for e, err := range s.Generate(ctx, engine.Request{
		Messages: append(slices.Clone(turns), engine.Message{Role: engine.User, Content: question}),
		Sampling: sample.Settings{TopP: 1}, MaxTokens: c.tokens, Logprobs: true, Alts: 3,
	}) {
		if err != nil {
			return a, fmt.Errorf("%s: %w", way, err)
		}
		if e.Kind == engine.Text && read == 0 {
			read = processorTime()
		}
		a.add(e)
	}
	if ctx.Err() != nil {
		return a, ctx.Err()
	}
	a.PrefillCPU, a.DecodeCPU = (read - begin).Seconds(), (processorTime() - read).Seconds()
	if other != nil {
		a.Same = slices.Equal(a.IDs, other.IDs) && slices.Equal(a.logs, other.logs)
	}
	err := c.out.Encode(a)
	if err == nil && !a.Same {
		err = fmt.Errorf("%s: another answer than %s", way, other.Way)
	}
	return a, err
}

// add notes what an event tells of the answer.
func (a *answered) add(e engine.Event) {
	switch e.Kind {
	case engine.Text:
		a.logs = append(a.logs, e.Token.Log)
		for _, alt := range e.Token.Alts {
			a.logs = append(a.logs, float32(alt.ID), alt.Log)
		}
	case engine.Finished:
		f := e.Result.Figures
		a.IDs, a.message, a.Prompt, a.Cached = e.Result.IDs, e.Result.Message, f.Prompt, f.Cached
		a.First, a.Prefill, a.Decode = f.FirstToken.Seconds(), f.PrefillRate(), f.DecodeRate()
	default: // reading
	}
}

// breakOff gives a long prompt up when some chunks of it have been read, or a moment after it began.
func (c *check) breakOff(ctx context.Context, m *app.Model, step string, chunks int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := brokenOff{Step: step}
	given := time.Now()
	give := func() { given = time.Now(); cancel() }
	if chunks == 0 {
		time.AfterFunc(moment, cancel)
		given = given.Add(moment)
	}
	text := strings.Repeat(question+" ", c.long/20+1) // some 20 tokens each
	r := engine.Request{Raw: text, Sampling: sample.Settings{TopP: 1}}
	for e, err := range m.Engine.NewSession().Generate(ctx, r) {
		if err != nil {
			return err
		}
		if e.Kind == engine.Reading {
			b.Chunk, b.Read, b.Total = e.Read-b.Read, e.Read, e.Total
			if chunks--; chunks == 0 {
				give()
			}
		}
	}
	b.Seconds = time.Since(given).Seconds()
	return c.out.Encode(b)
}

// touch reads one token and counts what that used of the pack, where the system tells.
func (c *check) touch(ctx context.Context, m *app.Model) error {
	u := used{Step: "memory"}
	if err := forgetUse(); errors.Is(err, fs.ErrNotExist) {
		return nil // this system does not tell
	} else if err != nil {
		return err
	}
	if _, err := m.Engine.Measure(ctx, 1, 1, 1); err != nil {
		return err
	}
	var err error
	if u.Touched, err = packUse(); err != nil {
		return err
	}
	if u.Private, u.Files, err = resident(); err != nil {
		return err
	}
	return c.out.Encode(u)
}
