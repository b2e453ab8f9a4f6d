package sched

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sotto/engine"
)

// fake answers with the words of the last message, one a second, and looks at the context between them.
type fake struct {
	log    *log
	before time.Duration // first word
	err    error         // instead of an answer
}

// log is what the sessions of a queue saw.
type log struct {
	mu    sync.Mutex
	lines []string
	busy  atomic.Int32
	most  atomic.Int32
}

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (f *fake) Generate(ctx context.Context, r engine.Request) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		f.log.most.Store(max(f.log.most.Load(), f.log.busy.Add(1)))
		defer f.log.busy.Add(-1)
		text := r.Messages[len(r.Messages)-1].Content
		f.log.add("begin %s", text)
		defer f.log.add("end %s", text)
		if f.err != nil {
			yield(engine.Event{}, f.err)
			return
		}
		f.words(ctx, strings.Fields(text), yield)
	}
}

func (f *fake) words(ctx context.Context, words []string, yield func(engine.Event, error) bool) {
	result := engine.Result{Reason: engine.ReasonStop, Message: engine.Message{Role: engine.Assistant}}
	wait := f.before
	for i, w := range words {
		select {
		case <-ctx.Done():
			result.Reason = engine.ReasonCancelled
			yield(engine.Event{Kind: engine.Finished, Result: result}, nil)
			return
		case <-time.After(wait):
		}
		wait = time.Second
		result.IDs = append(result.IDs, int32(i))
		result.Text += w
		result.Message.Content, result.Message.IDs = result.Text, result.IDs
		if !yield(engine.Event{Kind: engine.Text, Text: w}, nil) {
			return
		}
	}
	yield(engine.Event{Kind: engine.Finished, Result: result}, nil)
}

// rig is a queue over fakes.
func rig(t *testing.T, o Options, f fake) (*Queue, *log) {
	t.Helper()
	l := &log{}
	f.log = l
	q := New(func() Generator { g := f; return &g }, o)
	return q, l
}

func job(text string, person bool) Job {
	door := "api"
	if person {
		door = "window"
	}
	messages := []engine.Message{{Role: engine.User, Content: text}}
	return Job{Door: door, Person: person, Request: engine.Request{Messages: messages}}
}

// answer collects an answer: its words, then how it ended.
func answer(ctx context.Context, q *Queue, j Job) string {
	out := ""
	for e, err := range q.Submit(ctx, j) {
		switch {
		case err != nil:
			return out + "error: " + err.Error()
		case e.Kind == engine.Finished:
			return out + e.Result.Reason
		}
		out += e.Text + " "
	}
	return out + "no end"
}

func TestPeopleComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, l := rig(t, Options{}, fake{})
		var done sync.WaitGroup
		for _, j := range []Job{job("a b", false), job("c", false), job("d", false), job("e", true), job("f", true)} {
			done.Go(func() {
				if got := answer(t.Context(), q, j); !strings.HasSuffix(got, engine.ReasonStop) {
					t.Error(got)
				}
			})
			synctest.Wait()
		}
		if got, want := q.Status(), (Status{Serving: "api", People: 2, Programs: 2}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		done.Wait()
		want := []string{"a b", "e", "f", "c", "d"}
		for i, w := range want {
			if got := l.lines[2*i : 2*i+2]; !slices.Equal(got, []string{"begin " + w, "end " + w}) {
				t.Errorf("job %d: got %v, want %s", i, got, w)
			}
		}
		if got := q.Status(); got != (Status{}) {
			t.Errorf("idle: got %+v", got)
		}
	})
}

func TestBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, _ := rig(t, Options{Waiting: 2}, fake{})
		if got := answer(t.Context(), q, job("one two three four five", false)); !strings.HasSuffix(got, "stop") {
			t.Fatal(got) // took 4 s
		}
		var done sync.WaitGroup
		for range 3 {
			done.Go(func() { answer(t.Context(), q, job("a b", false)) })
		}
		synctest.Wait()
		for _, err := range q.Submit(t.Context(), job("x", false)) {
			var full *FullError
			if !errors.Is(err, ErrFull) || !errors.As(err, &full) || full.Waiting != 2 || full.Retry != 4*time.Second {
				t.Errorf("got %v, %+v", err, full)
			}
		}
		done.Go(func() {
			if got := answer(t.Context(), q, job("person", true)); got != "person stop" {
				t.Errorf("a person is refused: %s", got)
			}
		})
		synctest.Wait()
		done.Wait()
		if got := answer(t.Context(), q, job("later", false)); got != "later stop" {
			t.Errorf("got %s", got)
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, l := rig(t, Options{}, fake{})
		first, cancelFirst := context.WithCancel(t.Context())
		second, cancelSecond := context.WithCancelCause(t.Context())
		var done sync.WaitGroup
		var got [3]string
		for i, ctx := range []context.Context{first, second, t.Context()} {
			done.Go(func() { got[i] = answer(ctx, q, job(fmt.Sprintf("job%d %s", i, strings.Repeat("x ", 9)), false)) })
			synctest.Wait()
		}
		cancelSecond(errors.New("some reason")) // while it waits
		synctest.Wait()
		if s := q.Status(); s.Programs != 1 {
			t.Errorf("a cancelled job waits on: %+v", s)
		}
		time.Sleep(1500 * time.Millisecond)
		cancelFirst()
		synctest.Wait()
		if s := q.Status(); s.Programs != 0 || s.Serving != "api" {
			t.Errorf("the next one does not begin: %+v", s)
		}
		done.Wait()
		want := [3]string{"job0 x cancelled", "cancelled", "job2 " + strings.Repeat("x ", 9) + "stop"}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if len(l.lines) != 4 {
			t.Errorf("the engine saw %q", l.lines)
		}
	})
}

func TestBreakingOffSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, l := rig(t, Options{}, fake{})
		for range q.Submit(t.Context(), job("a b c d e f", false)) {
			break
		}
		if l.busy.Load() != 0 || q.Status() != (Status{}) {
			t.Errorf("after the loop: %d busy, %+v", l.busy.Load(), q.Status())
		}
	})
}

func TestSlowCallerKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, _ := rig(t, Options{}, fake{})
		var done sync.WaitGroup
		done.Go(func() {
			n := 0
			for range q.Submit(t.Context(), job("a b c d e f", false)) { // takes the engine 5 s
				if n++; n == 1 {
					time.Sleep(time.Hour)
				}
			}
			if n != 7 {
				t.Errorf("the slow caller got %d events, want 7", n)
			}
		})
		synctest.Wait()
		begin := time.Now()
		got := answer(t.Context(), q, job("quick", false))
		if took := time.Since(begin); got != "quick stop" || took != 5*time.Second {
			t.Errorf("got %q after %v", got, took)
		}
		done.Wait()
	})
}

func TestErrors(t *testing.T) {
	broken := errors.New("the device is gone")
	cancelled := &engine.PromptError{Err: context.Canceled}
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			name   string
			err    error
			cancel bool
			want   string
		}{
			{"an error is passed on", broken, false, "error: the device is gone"},
			{"the context's error is no error", cancelled, true, "cancelled"},
			{"unless the context goes on", cancelled, false, "error: context canceled"},
			{"an error beside a cancelled context stays", broken, true, "error: the device is gone"},
		} {
			q, _ := rig(t, Options{}, fake{})
			ctx, cancel := context.WithCancel(t.Context())
			q.pool.open = func() Generator {
				if c.cancel {
					cancel()
				}
				return &fake{log: &log{}, err: c.err}
			}
			if got := answer(ctx, q, job("a", false)); got != c.want {
				t.Errorf("%s: got %q, want %q", c.name, got, c.want)
			}
			cancel()
			if got := q.Status(); got != (Status{}) {
				t.Errorf("%s: afterwards %+v", c.name, got)
			}
		}
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, l := rig(t, Options{}, fake{})
		var done sync.WaitGroup
		var got [2]string
		for i := range got {
			done.Go(func() { got[i] = answer(t.Context(), q, job("a b c d", i == 1)) })
			synctest.Wait()
		}
		time.Sleep(1500 * time.Millisecond)
		q.Close()
		if l.busy.Load() != 0 {
			t.Error("closed while the engine works")
		}
		done.Wait()
		if want := [2]string{"a b cancelled", "error: the engine is closed"}; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := answer(t.Context(), q, job("a", true)); got != "error: the engine is closed" {
			t.Errorf("afterwards: got %q", got)
		}
		q.Close()
	})
}

func TestReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []Status
		q, _ := rig(t, Options{Changed: func(s Status) { seen = append(seen, s) }}, fake{before: time.Second})
		var done sync.WaitGroup
		for _, person := range []bool{false, false, true} {
			done.Go(func() { answer(t.Context(), q, job("a", person)) })
			synctest.Wait()
		}
		done.Wait()
		want := []Status{
			{"api", 0, 0}, {"api", 0, 1}, {"api", 1, 1}, {"window", 0, 1}, {"api", 0, 0}, {"", 0, 0},
		}
		if !slices.Equal(seen, want) {
			t.Errorf("got %+v, want %+v", seen, want)
		}
	})
}

// TestStress lets callers come, go, break off and fall asleep at random.
func TestStress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, l := rig(t, Options{Sessions: 3, Waiting: 8}, fake{before: 300 * time.Millisecond})
		var done sync.WaitGroup
		for i := range 200 {
			random := rand.New(rand.NewPCG(uint64(i), 1))
			done.Go(func() {
				time.Sleep(time.Duration(random.IntN(500)) * time.Second)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+random.IntN(30))*time.Second)
				defer cancel()
				left := random.IntN(12)
				for e, err := range q.Submit(ctx, job(strings.Repeat("w ", 1+random.IntN(9)), random.IntN(3) == 0)) {
					if err != nil && !errors.Is(err, ErrFull) {
						t.Error(err)
					}
					if left--; left == 0 {
						break
					}
					if e.Kind == engine.Text {
						time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
					}
				}
			})
		}
		done.Wait()
		if l.most.Load() != 1 || l.busy.Load() != 0 || q.Status() != (Status{}) {
			t.Errorf("%d at once, %d left, %+v", l.most.Load(), l.busy.Load(), q.Status())
		}
		if len(l.lines) < 100 {
			t.Errorf("only %d lines: the test does too little", len(l.lines))
		}
		q.Close()
	})
}
