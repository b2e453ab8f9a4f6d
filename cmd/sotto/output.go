package main

import (
	"fmt"
	"io"
	"time"

	"sotto/app"
	"sotto/engine"
)

// progress shows one changing line on a terminal and nothing elsewhere.
type progress struct {
	w     io.Writer // nil: off
	shown bool
	last  time.Time
}

func newProgress(w io.Writer) *progress {
	if !isTerminal(w) {
		return &progress{}
	}
	return &progress{w: w}
}

// line replaces the shown line, at most ten times a second.
func (p *progress) line(format string, args ...any) {
	if p.w == nil || time.Since(p.last) < 100*time.Millisecond {
		return
	}
	p.last, p.shown = time.Now(), true
	fmt.Fprintf(p.w, "\r\x1b[K"+format, args...)
}

func (p *progress) loading(l engine.Loading) {
	switch {
	case l.Total <= 0:
	case l.Stage == engine.StageCompiling:
		p.line("%s: %d of %d kernels", l.Stage, l.Done, l.Total)
	default:
		p.line("%s: %d %% of %s", l.Stage, 100*l.Done/l.Total, bytes(l.Total))
	}
}

func (p *progress) reading(e engine.Event) {
	if e.Total > 0 && e.Read < e.Total {
		p.line("reading the prompt: %d of %d tokens", e.Read, e.Total)
	}
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}

// bytes prints a size in decimal units.
func bytes(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	v, i := float64(n), 0
	for v >= 1000 && i < len(units)-1 {
		v, i = v/1000, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}

// note is what the catalogue says of a model, for a terminal: the built-in one is no end but a beginning.
func note(m *app.Model) string {
	if m.Tiny {
		return m.Note + " with --model DIR"
	}
	return m.Note
}

// figures is the line under an answer: who answered, how fast, and why it ended if not by itself.
func figures(m *app.Model, r engine.Result) string {
	name := m.Name
	if m.Tiny {
		name += " (tiny demo model)"
	}
	f := r.Figures
	s := name
	if f.FirstToken > 0 {
		s += fmt.Sprintf(" · first token %d ms", f.FirstToken.Milliseconds())
	}
	s += fmt.Sprintf(" · prefill %d tokens", f.Read)
	if v := f.PrefillRate(); v > 0 {
		s += fmt.Sprintf(" at %.0f/s", v)
	}
	if f.Cached > 0 {
		s += fmt.Sprintf(", %d kept", f.Cached)
	}
	s += fmt.Sprintf(" · %d tokens", f.Completion)
	if v := f.DecodeRate(); v > 0 {
		s += fmt.Sprintf(" at %.0f/s", v)
	}
	if r.Reason != engine.ReasonStop {
		s += " · ended: " + r.Reason
	}
	return s
}

// dim writes a line that steps back behind the answer.
func dim(w io.Writer, s string) {
	if isTerminal(w) {
		s = "\x1b[2m" + s + "\x1b[0m"
	}
	fmt.Fprintln(w, s)
}
