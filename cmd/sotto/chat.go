package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"sotto/app"
	"sotto/engine"
)

// demo is asked when nobody asks anything, so that the first run shows an answer.
const demo = "Hello! Who are you?"

func newChat(t terminal) *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use:   "chat",
		Short: "Talk in the terminal",
		Long: "Talks in the terminal until Ctrl-D. Ctrl-C stops an answer, and leaves when nothing is being\n" +
			"answered. From a pipe every line is one message; with nothing to read one question is answered as a\n" +
			"demonstration.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return chat(c.Context(), t, f) },
	}
	f.register(c)
	return c
}

func chat(ctx context.Context, t terminal, f *flags) (err error) {
	m, err := f.open(ctx, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	r, err := f.request(m)
	if err != nil {
		return err
	}
	talk := &talk{terminal: t, model: m, session: m.Engine.NewSession(), request: r}
	if f.system != "" {
		talk.messages = append(talk.messages, engine.Message{Role: engine.System, Content: f.system})
	}
	if term.IsTerminal(int(t.in.Fd())) {
		return talk.person(ctx)
	}
	return talk.pipe(ctx)
}

// talk is a running conversation.
type talk struct {
	terminal
	model    *app.Model
	session  *engine.Session
	request  engine.Request
	messages []engine.Message
}

// pipe answers each line. A message that cannot be answered ends the conversation with its error.
func (c *talk) pipe(ctx context.Context) error {
	in := bufio.NewReader(c.in)
	asked, last := false, false
	for !last {
		line, err := in.ReadString('\n')
		if last = errors.Is(err, io.EOF); err != nil && !last {
			return fmt.Errorf("read standard input: %w", err)
		}
		if line = strings.TrimSpace(line); line == "" && last && !asked {
			line = demo
		}
		if line != "" {
			asked = true
			if err := checkText("the message", line); err != nil {
				return err
			}
			fmt.Fprintf(c.out, "> %s\n", line)
			if err := c.turn(ctx, line); err != nil {
				return err
			}
		}
	}
	return nil
}

// person reads lines with editing and history. An error of one turn is told and the conversation goes on.
func (c *talk) person(ctx context.Context) error {
	fmt.Fprintf(c.out, "%s", c.model.Name)
	if c.model.Note != "" {
		fmt.Fprintf(c.out, ": %s", note(c.model))
	}
	fmt.Fprintln(c.out, ".\nCtrl-C stops an answer, Ctrl-D leaves.")
	screen := struct {
		io.Reader
		io.Writer
	}{c.in, c.out}
	editor := term.NewTerminal(screen, "> ")
	for {
		line, err := c.readLine(editor)
		if errors.Is(err, io.EOF) {
			fmt.Fprintln(c.out)
			return nil
		}
		if err != nil {
			return err
		}
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		switch err := c.turn(ctx, line); {
		case errors.Is(err, errInterrupted):
		case err != nil && ctx.Err() != nil:
			return err
		case err != nil:
			fmt.Fprintf(c.err, "sotto: %v\n", err)
		}
	}
}

// readLine reads one message with the terminal in raw mode, for that time only: while an answer streams the
// terminal is itself and Ctrl-C is a signal.
func (c *talk) readLine(editor *term.Terminal) (string, error) {
	fd := int(c.in.Fd())
	if w, h, err := term.GetSize(fd); err == nil && w > 0 && h > 0 {
		if err := editor.SetSize(w, h); err != nil {
			return "", fmt.Errorf("terminal: %w", err)
		}
	}
	old, err := term.MakeRaw(fd)
	if err != nil {
		return "", fmt.Errorf("terminal: %w", err)
	}
	defer leaveOnSignal(func() { _ = term.Restore(fd, old) })() // nothing is left to be done about a failure
	line, err := editor.ReadLine()
	if restoreErr := term.Restore(fd, old); err == nil && restoreErr != nil {
		err = fmt.Errorf("terminal: %w", restoreErr)
	}
	if errors.Is(err, term.ErrPasteIndicator) {
		err = nil
	}
	return line, err
}

// leaveOnSignal ends the process on the signals of leaving, after giving the terminal back, until the returned
// function is called. A read of the keyboard cannot be interrupted.
func leaveOnSignal(restore func()) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case s := <-signals:
			restore()
			if n, ok := s.(syscall.Signal); ok {
				os.Exit(128 + int(n))
			}
			os.Exit(exitFailure)
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// turn answers one message. A message without an answer leaves the conversation as it was.
func (c *talk) turn(ctx context.Context, text string) error {
	if err := checkText("the message", text); err != nil {
		return err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	r := c.request
	r.Messages = append(c.messages[:len(c.messages):len(c.messages)], engine.Message{Role: engine.User, Content: text})
	p := newPrinter(c.out, c.err)
	result, err := p.stream(ctx, c.model, c.session, r, func(engine.Event) {})
	if err != nil {
		return err
	}
	c.messages = append(r.Messages, result.Message)
	c.request.Sampling.Seed++
	dim(c.err, figures(c.model, result))
	if result.Reason == engine.ReasonCancelled {
		return errInterrupted
	}
	return nil
}
