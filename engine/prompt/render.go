package prompt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ardanlabs/jinja"
)

// Template renders conversations for one checkpoint. It is safe for concurrent use.
type Template struct {
	base, tools compiled // tools is used when a request has tools; it may be the same
	tokens      map[string]string
	controls    controls
}

// compiled is a template's text and what became of it.
type compiled struct {
	source  string
	names   names
	tmpl    *jinja.Template
	built   []string      // control texts that the template does not write itself: what looks like one was put together
	private map[rune]bool // its characters that cannot be marks
}

// New compiles the template of a checkpoint. Controls are the texts of all added tokens of its tokenizer.
func New(src Source, tokens []string) (*Template, error) {
	t := &Template{tokens: src.Tokens, controls: newControls(tokens)}
	var err error
	if t.base, err = t.compile(src.Default); err != nil {
		return nil, fmt.Errorf("chat template: %w", err)
	}
	t.tools = t.base
	if src.ToolUse != "" {
		if t.tools, err = t.compile(src.ToolUse); err != nil {
			return nil, fmt.Errorf("chat template for tools: %w", err)
		}
	}
	return t, nil
}

func (t *Template) compile(src string) (c compiled, err error) {
	defer recovered(&err)
	c.source = src
	var text string
	if text, c.names, err = rewrite(src); err != nil {
		return c, err
	}
	if c.tmpl, err = jinja.Compile(text); err != nil {
		return c, err
	}
	c.private = map[rune]bool{}
	private(c.private, text)
	values := strings.Join(slices.Collect(maps.Values(t.tokens)), "\x00")
	for text := range t.controls.known {
		role := slices.ContainsFunc([]Role{System, User, Assistant, Tool}, func(r Role) bool {
			return strings.Contains(text, string(r))
		})
		if !role && !strings.Contains(src, text) && !strings.Contains(values, text) {
			c.built = append(c.built, text)
		}
	}
	slices.Sort(c.built)
	return c, nil
}

// reads reports whether the word stands in the template.
func (c *compiled) reads(word string) bool { return strings.Contains(c.source, word) }

// recovered turns a panic of the library into an error.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the template cannot be evaluated: %v", r)
	}
}

// Render makes the prompt of a request. A *RefusedError says that the template raised an exception, ErrRole that a
// role does not exist, ErrLimit that the template asked for too much. Now is what strftime_now formats.
func (t *Template) Render(ctx context.Context, r Request, now time.Time) (Prompt, error) {
	c := t.base
	if len(r.Tools) > 0 {
		c = t.tools
	}
	messages, err := checked(r.Messages)
	if err != nil {
		return Prompt{}, err
	}
	j := &job{t: t, c: c, r: r, messages: messages, now: now}
	if err := j.choose(); err != nil {
		return Prompt{}, err
	}
	plain, err := j.render(ctx, false)
	if err != nil {
		return Prompt{}, err
	}
	plain.text.guard(c.built)
	var p Prompt
	p.Parts = j.splice(plain.text, j.answers(ctx, plain.text))
	p.Thinking = thinks(plain.text)
	return p, nil
}

// thinks reports whether the prompt ends with an opened <think> that the template wrote.
func thinks(t Text) bool {
	s := strings.TrimRight(t.S, " \r\n\t")
	if !strings.HasSuffix(s, thinkOpen) {
		return false
	}
	return len(t.Guards) == 0 || t.Guards[len(t.Guards)-1][1] <= len(s)-len(thinkOpen)
}

// job is one rendering.
type job struct {
	t        *Template
	c        compiled
	r        Request
	messages []Message
	marks    marks
	seen     map[rune]bool // while the marks are being chosen: characters that cannot be marks
	now      time.Time
}

// size returns how many bytes of the request reach the template.
func (j *job) size() int {
	n := 0
	for _, m := range j.messages {
		n += len(m.Content) + len(m.Reasoning) + len(m.Name) + len(m.ToolCallID)
		for _, c := range m.ToolCalls {
			n += len(c.ID) + len(c.Name) + len(c.Arguments)
		}
	}
	for _, d := range j.r.Tools {
		n += len(d)
	}
	for _, d := range j.r.Options {
		n += len(d)
	}
	return n
}

// choose picks the marks: characters that occur neither in the template nor in any text of the request.
func (j *job) choose() error {
	j.seen = maps.Clone(j.c.private)
	if err := j.variables(map[string]jinja.Value{}, false); err != nil {
		return err
	}
	seen := j.seen
	j.seen = nil
	var err error
	j.marks, err = newMarks(func(r rune) bool { return seen[r] })
	return err
}

// mark makes a text fit for the template. While marks are being chosen it only notes which are taken.
func (j *job) mark(s string) string {
	if j.seen != nil {
		private(j.seen, s)
		return s
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, string(utf8.RuneError))
	}
	return j.t.controls.mark(s, j.marks.cut)
}

// render runs the template. With answers set, marks stand round the content and the reasoning of every message that
// has ids.
func (j *job) render(ctx context.Context, answers bool) (out rendered, err error) {
	defer recovered(&err)
	s := &state{
		ctx: ctx, now: j.now, deadline: time.Now().Add(maxTime), digits: string(j.marks.digits),
		maxOutput: max(minOutput, 16*j.size()),
	}
	vars := s.variables(j.c.names)
	if err := j.variables(vars, answers); err != nil {
		return out, err
	}
	text, err := j.c.tmpl.RenderValues(vars)
	if err != nil {
		var refused *RefusedError
		if errors.As(err, &refused) || errors.Is(err, ErrLimit) || ctx.Err() != nil {
			return out, err
		}
		return out, fmt.Errorf("the template cannot be evaluated: %w", err)
	}
	return j.t.controls.unmark(text, j.marks), nil
}

func (j *job) variables(vars map[string]jinja.Value, answers bool) error {
	for name, text := range j.t.tokens {
		vars[name] = jinja.NewString(text)
		if j.seen != nil {
			private(j.seen, text)
		}
	}
	list := make([]jinja.Value, len(j.messages))
	for i := range j.messages {
		v, err := j.message(i, answers)
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		list[i] = v
	}
	tools := jinja.None()
	if len(j.r.Tools) > 0 {
		items := make([]jinja.Value, len(j.r.Tools))
		for i, d := range j.r.Tools {
			v, err := parseJSON(d, j.mark, j.marks.digits)
			if err == nil && !v.IsDict() {
				err = errors.New("not an object")
			}
			if err != nil {
				return fmt.Errorf("tool %d: %w", i, err)
			}
			items[i] = v
		}
		tools = jinja.NewList(items)
	}
	vars["messages"], vars["tools"], vars["documents"] = jinja.NewList(list), tools, jinja.None()
	vars["add_generation_prompt"] = jinja.NewBool(j.r.Generate)
	if j.r.EnableThinking != nil {
		vars["enable_thinking"] = jinja.NewBool(*j.r.EnableThinking)
	}
	for name, data := range j.r.Options {
		if _, taken := vars[name]; taken {
			return fmt.Errorf("option %q: the name is taken", name)
		}
		v, err := parseJSON(data, j.mark, j.marks.digits)
		if err != nil {
			return fmt.Errorf("option %q: %w", name, err)
		}
		vars[name] = v
	}
	return nil
}

// message returns a message as the template sees it.
func (j *job) message(i int, answers bool) (jinja.Value, error) {
	m := j.messages[i]
	content, reasoning := j.mark(m.Content), j.mark(m.Reasoning)
	if open, inner, rest, ok := divide(m.Content); ok && m.Role == Assistant && reasoning == "" {
		content = open + j.mark(inner) + thinkClose + j.mark(rest)
	}
	if answers && j.splices(m) {
		open := string(j.marks.begin) + strconv.Itoa(i) + string(j.marks.begin)
		if content != "" {
			content = open + content + string(j.marks.end)
		}
		if reasoning != "" {
			reasoning = open + reasoning + string(j.marks.end)
		}
	}
	v := jinja.NewDict()
	d := v.AsDict()
	d.Set("role", jinja.NewString(string(m.Role)))
	if reasoning != "" {
		switch {
		case j.c.reads("reasoning_content"):
			d.Set("reasoning_content", jinja.NewString(reasoning))
		case j.c.reads(thinkClose):
			content = thinkOpen + "\n" + reasoning + "\n" + thinkClose + "\n\n" + content
		}
	}
	d.Set("content", jinja.NewString(content))
	if m.Name != "" {
		d.Set("name", jinja.NewString(j.mark(m.Name)))
	}
	if m.ToolCallID != "" {
		d.Set("tool_call_id", jinja.NewString(j.mark(m.ToolCallID)))
	}
	if len(m.ToolCalls) == 0 {
		return v, nil
	}
	calls, err := j.calls(m.ToolCalls)
	if err == nil {
		d.Set("tool_calls", calls)
	}
	return v, err
}

func (j *job) calls(list []ToolCall) (jinja.Value, error) {
	calls := make([]jinja.Value, len(list))
	for k, c := range list {
		call, err := j.call(c)
		if err != nil {
			return nothing, fmt.Errorf("tool call %d: %w", k, err)
		}
		calls[k] = call
	}
	return jinja.NewList(calls), nil
}

func (j *job) call(c ToolCall) (jinja.Value, error) {
	data := c.Arguments
	if len(data) == 0 {
		data = []byte("{}")
	}
	plain := func(s string) string { return s }
	if v, err := parseJSON(data, plain, j.marks.digits); err == nil && v.IsString() {
		data = []byte(v.AsString())
	}
	arguments, err := parseJSON(data, j.mark, j.marks.digits)
	if err == nil && !arguments.IsDict() {
		err = errors.New("not an object")
	}
	if err != nil {
		return arguments, fmt.Errorf("arguments of %q: %w", c.Name, err)
	}
	f := jinja.NewDict()
	f.AsDict().Set("name", jinja.NewString(j.mark(c.Name)))
	f.AsDict().Set("arguments", arguments)
	v := jinja.NewDict()
	if c.ID != "" {
		v.AsDict().Set("id", jinja.NewString(j.mark(c.ID)))
	}
	v.AsDict().Set("type", jinja.NewString("function"))
	v.AsDict().Set("function", f)
	return v, nil
}

// splices reports whether the ids of a message may stand for its text. White space round the text would be protected
// from the template's trimming by the marks.
func (j *job) splices(m Message) bool {
	return m.Role == Assistant && len(m.IDs) > 0 && strings.TrimSpace(m.Content) == m.Content &&
		strings.TrimSpace(m.Reasoning) == m.Reasoning
}

// answer is a place in a prompt where ids stand for text.
type answer struct {
	from, to int
	ids      []int32
}

// answers finds out where the template put earlier answers, by rendering again with marks round them. They count
// where that changed nothing and where the text is the one that the ids were generated as.
func (j *job) answers(ctx context.Context, plain Text) []answer {
	if !slices.ContainsFunc(j.messages, j.splices) {
		return nil
	}
	marked, err := j.render(ctx, true)
	if err != nil || marked.broken || marked.text.S != plain.S {
		return nil
	}
	var out []answer
	last := 0
	for _, i := range slices.Sorted(maps.Keys(marked.spans)) {
		span := marked.spans[i]
		if i >= len(j.messages) || span[0] < last || span[1] < span[0] {
			continue
		}
		if m := j.messages[i]; plain.S[span[0]:span[1]] == m.Raw {
			out = append(out, answer{span[0], span[1], m.IDs})
			last = span[1]
		}
	}
	return out
}

// splice divides the text at the answers.
func (j *job) splice(t Text, answers []answer) []Part {
	var parts []Part
	from := 0
	for _, a := range append(answers, answer{from: len(t.S)}) {
		if a.from > from {
			parts = append(parts, Part{Text: t.slice(from, a.from)})
		}
		if a.ids != nil {
			parts = append(parts, Part{IDs: a.ids})
		}
		from = a.to
	}
	return parts
}

// slice returns the text from one byte to another, with its guards.
func (t Text) slice(from, to int) Text {
	out := Text{S: t.S[from:to]}
	for _, g := range t.Guards {
		if a, b := max(g[0], from), min(g[1], to); a < b || g[0] == g[1] && a == b && from < a && a < to {
			out.Guards = append(out.Guards, [2]int{a - from, b - from})
		}
	}
	return out
}
