package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"sotto/app"
	"sotto/engine"
	"sotto/kernels"
)

// asking is the state of one `sotto ask`.
type asking struct {
	flags
	file     string
	json     bool
	logprobs int
}

func newAsk(t terminal) *cobra.Command {
	a := &asking{}
	c := &cobra.Command{
		Use:   "ask [flags] [PROMPT]",
		Short: "Answer one question and end",
		Long: "Answers the question made of PROMPT, the file given with -f and what is piped in, in this order.\n" +
			"The answer goes to standard output as it is made; figures and messages go to standard error.",
		Example: "  sotto ask \"Tell me a joke\"\n  sotto ask -f letter.txt \"Summarise this\"\n" +
			"  git diff | sotto ask \"Explain\"",
		RunE: func(c *cobra.Command, args []string) error { return a.run(c.Context(), t, args) },
	}
	a.register(c)
	c.Flags().StringVarP(&a.file, "file", "f", "", "add the text of this file to the question")
	c.Flags().BoolVar(&a.raw, "raw", false, "continue the text itself, without the chat template")
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object instead of text")
	c.Flags().IntVar(&a.logprobs, "logprobs", -1,
		fmt.Sprintf("with --json: log-probability of each token and of the N best, 0 to %d", kernels.MaxAlternatives))
	return c
}

func (a *asking) run(ctx context.Context, t terminal, args []string) (err error) {
	if a.logprobs >= 0 && !a.json {
		return usageError{errors.New("--logprobs needs --json")}
	}
	if a.cmd.Flags().Changed("logprobs") && (a.logprobs < 0 || a.logprobs > kernels.MaxAlternatives) {
		return usageError{fmt.Errorf("--logprobs %d: want 0 to %d", a.logprobs, kernels.MaxAlternatives)}
	}
	text, err := a.question(t, args)
	if err != nil {
		return err
	}
	m, err := a.open(ctx, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	r, err := a.request(m)
	if err != nil {
		return err
	}
	if a.raw {
		if a.system != "" {
			return usageError{errors.New("--raw and --system exclude each other: raw text has no system prompt")}
		}
		r.Raw = text
	} else {
		r.Messages = conversation(a.system, text)
	}
	r.Logprobs, r.Alts = a.logprobs >= 0, max(a.logprobs, 0)

	ctx, stop := interruptible(ctx)
	defer stop()
	return a.answer(ctx, t, m, r)
}

func (a *asking) answer(ctx context.Context, t terminal, m *app.Model, r engine.Request) error {
	out := t.out
	if a.json {
		out = io.Discard
	}
	p := newPrinter(out, t.err)
	var tokens []engine.Event
	result, err := p.stream(ctx, m, m.Engine.NewSession(), r, func(e engine.Event) {
		if a.json {
			tokens = append(tokens, e)
		}
	})
	if err != nil {
		return err
	}
	if a.json {
		err = printJSON(t.out, m, result, tokens, r)
	} else {
		dim(t.err, figures(m, result))
	}
	if err == nil && result.Reason == engine.ReasonCancelled {
		err = errInterrupted
	}
	return err
}

// question joins the parts that the user gave.
func (a *asking) question(t terminal, args []string) (string, error) {
	var parts []string
	if len(args) > 0 {
		parts = append(parts, strings.Join(args, " "))
	}
	if a.file != "" {
		f, err := os.Open(a.file)
		if err != nil {
			return "", fmt.Errorf("read the file: %w", err)
		}
		defer f.Close()
		s, err := readText(a.file, f)
		if err != nil {
			return "", err
		}
		parts = append(parts, s)
	}
	if piped(t.in) {
		s, err := readText("standard input", t.in)
		if err != nil {
			return "", err
		}
		if s = strings.TrimRight(s, "\r\n"); s != "" {
			parts = append(parts, s)
		}
	}
	if strings.TrimSpace(strings.Join(parts, "")) == "" {
		return "", usageError{errors.New("no question: give one as argument, with -f FILE or through a pipe")}
	}
	text := strings.Join(parts, "\n\n")
	return text, checkText("the question", text)
}

// maxText bounds what is read as one question, in bytes; no window holds as much.
const maxText = 16 << 20

// readText reads all of a source, up to the bound.
func readText(name string, r io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	if len(b) > maxText {
		return "", fmt.Errorf("%s is longer than %s", name, bytes(maxText))
	}
	return string(b), nil
}

// piped says whether something other than a terminal feeds standard input.
func piped(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	return info.Mode().IsRegular() || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
}

// checkText refuses bytes that are not UTF-8, naming the first one.
func checkText(what, s string) error {
	if utf8.ValidString(s) {
		return nil
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			line := 1 + strings.Count(s[:i], "\n")
			return fmt.Errorf("%s is not valid UTF-8: byte 0x%02x at offset %d, line %d", what, s[i], i, line)
		}
		i += n
	}
	return nil
}

// conversation starts one with the user's first message.
func conversation(system, text string) []engine.Message {
	var list []engine.Message
	if system != "" {
		list = append(list, engine.Message{Role: engine.System, Content: system})
	}
	return append(list, engine.Message{Role: engine.User, Content: text})
}
