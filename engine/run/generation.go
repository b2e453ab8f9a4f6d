package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sotto/engine/gpu"
	"sotto/engine/nn"
	"sotto/engine/sample"
	"sotto/kernels"
)

// ErrEnough as the cause of a cancelled context says that the caller has what it wants: the answer ends as if an
// end id had been sampled.
var ErrEnough = errors.New("the caller has what it wants")

// ErrNaN says that the model's logits were not numbers.
var ErrNaN = errors.New("the model's output is not a number: its weights may be damaged")

// job is a request on its way through the worker.
type job struct {
	ctx     context.Context //nolint:containedctx // a message: it travels with the request and ends with it
	session *Session
	request Request
	events  chan Event
	start   time.Time
}

// generation is one request being served.
type generation struct {
	*job
	w       *Worker
	limit   int // most tokens to sample
	sampled []int32
	sampler nn.Sampler
	last    uint64    // newest submission
	sent    time.Time // when it was submitted
	figures Figures
	census  *nn.Census // nil: nothing is counted
	times   *timing    // nil: nothing is measured
	reason  Reason
}

// serve runs a request and returns its last event. Whatever happens, the session is level: its record holds what
// the device has consumed, or nothing.
func (w *Worker) serve(j *job) Event {
	g := &generation{job: j, w: w}
	err := g.prepare()
	if err == nil {
		err = g.run()
	}
	if g.census != nil || g.times != nil {
		w.programs.trim()
	}
	g.figures.Completion = len(g.sampled)
	if n := len(g.sampled); n > 0 && slices.Contains(g.request.Stops, g.sampled[n-1]) {
		g.figures.Completion--
	}
	e := Event{Kind: Done, Reason: g.reason, Figures: g.figures, Err: err}
	if g.census != nil {
		e.Neurons = g.census.Layers()
	}
	if g.times != nil {
		e.Times = g.times.parts
	}
	return e
}

// prepare checks the request and finds out what is left to read.
func (g *generation) prepare() error {
	r := &g.request
	window := g.w.arena.Layout().Window
	g.figures.Prompt = len(r.Prompt)
	switch {
	case len(r.Prompt) == 0:
		return errors.New("the prompt is empty")
	case len(r.Prompt) >= window:
		return &WindowError{len(r.Prompt), window}
	case r.MaxTokens < 0:
		return fmt.Errorf("at most %d tokens: want 1 or more", r.MaxTokens)
	}
	for i, id := range r.Prompt {
		if id < 0 || int(id) >= g.w.config.Spec.Vocab {
			return fmt.Errorf("token %d of the prompt has id %d, the vocabulary ends at %d",
				i, id, g.w.config.Spec.Vocab-1)
		}
	}
	if err := errors.Join(r.Sampling.Validate(), r.Logs.Validate()); err != nil {
		return err
	}
	g.limit = window - len(r.Prompt)
	if r.MaxTokens > 0 {
		g.limit = min(g.limit, r.MaxTokens)
	}
	g.sampler = nn.Sampled
	if r.Sampling.Greedy() && !r.Logs.Chosen && r.Logs.Alts == 0 {
		g.sampler = nn.Greedy
	}
	g.diagnose()
	if err := g.w.claim(g.session); err != nil {
		return err
	}
	if g.figures.Cached = g.session.cached(r.Prompt); g.figures.Cached == 0 {
		g.session.device.Reset()
		g.session.tokens = g.session.tokens[:0]
	}
	return g.session.device.Step().SetStops(r.Stops)
}

// diagnose starts the accounts that the request asks for.
func (g *generation) diagnose() {
	if g.request.Census {
		g.census = nn.NewCensus(g.w.programs.model)
	}
	if g.request.Times {
		g.times = &timing{}
	}
}

func (g *generation) run() error {
	room := len(g.request.Prompt) + min(g.limit, kernels.MaxRows) - len(g.session.tokens)
	g.session.tokens = slices.Grow(g.session.tokens, room)
	err := g.prefill()
	if err == nil && g.reason == 0 {
		g.figures.FirstToken = time.Since(g.start)
		err = g.decode()
	}
	if err != nil { // what the device holds is unknown
		g.w.settle(g.last)
		g.w.release(g.session)
	}
	return err
}

// prefill reads what is new of the prompt, chunk by chunk; the last chunk samples the first token. A cancelled
// request stops between chunks.
func (g *generation) prefill() error {
	begin := time.Now()
	defer func() { g.figures.Prefill = time.Since(begin) }()
	s, prompt := g.session, g.request.Prompt
	step := s.device.Step()
	for from := g.figures.Cached; from < len(prompt); {
		if g.ended() {
			return nil
		}
		n := min(g.w.pace.rows, len(prompt)-from)
		last := from+n == len(prompt)
		sampler := nn.NoSampler
		if last {
			sampler = g.sampler
		}
		x, err := g.w.programs.exec(g.ctx, n, program{sampler: sampler, masks: g.census != nil})
		if err != nil {
			return g.unless(err)
		}
		if err := g.w.grow(s, from+n); err != nil {
			return err
		}
		if err := step.Begin(prompt[from : from+n]); err != nil {
			return err
		}
		if last {
			p := step.Params()
			p.Step, p.Limit = 0, uint32(g.limit)
			sample.Fill(p, g.request.Sampling, g.request.Logs)
		}
		if err := g.pass(x, n); err != nil {
			return err
		}
		if err := g.w.device.Wait(context.Background(), g.last); err != nil {
			return err
		}
		g.w.pace.took(n, time.Since(g.sent))
		if !last {
			step.Advance()
		}
		from += n
		g.figures.Read += n
		s.tokens = append(s.tokens, prompt[from-n:from]...)
		g.events <- Event{Kind: Progress, Read: from, Total: len(prompt)}
	}
	return nil
}

// unless forgets the error of a program that was not compiled because nobody waits for it any more.
func (g *generation) unless(err error) error {
	if g.ended() {
		return nil
	}
	return err
}

// pass submits one replay of a program for n rows. If that is asked for it counts live neurons, and runs a program that
// has parts part by part; either waits for the pass.
func (g *generation) pass(x compiled, n int) error {
	step := g.session.device.Step()
	live := step.Params().Active != 0 // nothing is in flight while neurons are counted or times taken
	g.sent = time.Now()
	var seq uint64
	var err error
	if len(x.parts) > 0 && live {
		seq, err = g.times.run(g.w.device, x, step.Buffer())
	} else {
		seq, err = g.w.device.Submit(x.Exec, step.Buffer())
	}
	if err != nil {
		return err
	}
	g.last = seq
	if g.census == nil && g.times == nil {
		return nil
	}
	if err := g.w.device.Wait(context.Background(), seq); err != nil {
		return err
	}
	if g.census != nil && live {
		g.census.Add(x.pass, x.scratch.Bytes(), n)
	}
	return nil
}

// ahead is how many passes are submitted beyond the one whose token is read next: while that runs, the two behind it
// can share a command buffer that is there before it ends. They are computed in vain when a caller has enough.
const ahead = 2

// decode reads tokens as they come, some passes ahead of what it has read, until an end id, the limit or the caller
// ends it. Nothing here allocates per token but what log-probabilities and a census ask for.
func (g *generation) decode() error {
	var seqs [gpu.MaxInFlight]uint64
	seqs[0] = g.last
	key := program{sampler: g.sampler, masks: g.census != nil, parts: g.times != nil}
	first := time.Now()
	submitted := 1
	for n := 0; n < submitted; n++ {
		for submitted < min(n+1+ahead, g.limit) && !g.ended() {
			x, err := g.w.programs.exec(g.ctx, 1, key)
			if err != nil {
				if err = g.unless(err); err != nil {
					return err
				}
				break
			}
			// Pass k consumes token k-1, which stands at position len(Prompt)+k-1.
			if err := g.w.grow(g.session, len(g.request.Prompt)+submitted); err != nil {
				return err
			}
			if err := g.pass(x, 1); err != nil {
				return err
			}
			seqs[submitted%len(seqs)] = g.last
			submitted++
		}
		stop, err := g.read(n, seqs[n%len(seqs)])
		if err != nil {
			return err
		}
		g.figures.Decode = time.Since(first)
		if stop {
			break
		}
	}
	if g.reason == 0 {
		g.reason = Length
	}
	if err := g.w.device.Wait(context.Background(), g.last); err != nil {
		return err
	}
	g.session.level(g.request.Prompt, g.sampled, int(g.session.device.Step().Params().Pos))
	return nil
}

// read waits for token n and passes it on. It returns true after the last one.
func (g *generation) read(n int, seq uint64) (bool, error) {
	if err := g.w.device.Wait(context.Background(), seq); err != nil {
		return false, err
	}
	step := g.session.device.Step()
	r, ok := step.Record(uint32(n))
	if !ok { // the pass has failed, perhaps after it was signalled: then it is known by now, or by the end of all
		if err := g.w.device.Wait(context.Background(), g.last); err != nil {
			return false, err
		}
		return false, fmt.Errorf("token %d is missing from the ring", n)
	}
	if r.Flags&kernels.RingNaN != 0 {
		return false, ErrNaN
	}
	t := Token{ID: int32(r.Tokens[0]), End: r.Flags&kernels.RingStopped != 0, Log: r.Logs[0]}
	if a := g.request.Logs.Alts; a > 0 {
		t.Alts = slices.Clone(step.Alternatives(uint32(n), a))
	}
	g.sampled = append(g.sampled, t.ID)
	g.events <- Event{Kind: Sampled, Token: t}
	switch {
	case t.End:
		g.reason = Stopped
	case r.Flags&kernels.RingLimit != 0:
		g.reason = Length
	}
	return r.Flags&(kernels.RingStopped|kernels.RingLimit) != 0, nil
}

// ended says whether no more is wanted, and notes why.
func (g *generation) ended() bool {
	switch {
	case g.ctx.Err() != nil && errors.Is(context.Cause(g.ctx), ErrEnough):
		g.reason = Stopped
	case g.ctx.Err() != nil:
		g.reason = Cancelled
	default:
		return false
	}
	return true
}
