package main

import (
	"context"
	"fmt"
	"io"

	"sotto/app"
	"sotto/engine"
)

// printer streams answers.
type printer struct {
	out      io.Writer
	bar      *progress
	thinking bool // thinking is being shown
	open     bool // the last line has no end yet
}

func newPrinter(out, err io.Writer) *printer { return &printer{out: out, bar: newProgress(err)} }

// stream prints an answer as it is made and returns its end. What was printed before an error stays.
func (p *printer) stream(ctx context.Context, m *app.Model, s *engine.Session, r engine.Request,
	each func(engine.Event),
) (engine.Result, error) {
	defer p.end()
	for e, err := range s.Generate(ctx, r) {
		if err != nil {
			p.bar.clear()
			return engine.Result{}, fmt.Errorf("%s: %w", m.Name, err)
		}
		switch e.Kind {
		case engine.Reading:
			p.bar.reading(e)
		case engine.Text:
			p.bar.clear()
			p.think(e.Thinking)
			p.write(e.Text)
			each(e)
		case engine.Finished:
			p.bar.clear()
			return e.Result, nil
		}
	}
	return engine.Result{}, fmt.Errorf("%s: the answer has no end", m.Name)
}

// think shows thinking dimmed, before the answer.
func (p *printer) think(s string) {
	if s == "" {
		return
	}
	if !p.thinking && isTerminal(p.out) {
		fmt.Fprint(p.out, "\x1b[2m")
	}
	p.thinking = true
	p.text(s)
}

func (p *printer) write(s string) {
	if s == "" {
		return
	}
	if p.thinking {
		if isTerminal(p.out) {
			fmt.Fprint(p.out, "\x1b[0m")
		}
		p.end()
		p.thinking = false
	}
	p.text(s)
}

func (p *printer) text(s string) {
	fmt.Fprint(p.out, s)
	p.open = s[len(s)-1] != '\n'
}

// end closes an open line.
func (p *printer) end() {
	if p.thinking && isTerminal(p.out) {
		fmt.Fprint(p.out, "\x1b[0m")
	}
	if p.open {
		fmt.Fprintln(p.out)
	}
	p.open = false
}
