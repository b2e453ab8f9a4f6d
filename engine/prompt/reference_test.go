package prompt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tokens are the added tokens of a thinking model with tools.
var tokens = []string{
	"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>",
	"</tool_call>", "<tool_response>", "</tool_response>", "<|object_ref_start|>",
}

var noon = time.Date(2026, 3, 7, 12, 5, 9, 0, time.UTC)

// goldenCase is a case of testdata/golden.json as the template's variables have it.
type goldenCase struct {
	Messages []struct {
		Role, Content    string
		ReasoningContent string `json:"reasoning_content"`
		ToolCalls        []struct {
			ID       string
			Function struct {
				Name      string
				Arguments json.RawMessage
			}
		} `json:"tool_calls"`
	}
	Tools          []json.RawMessage
	Generate       bool            `json:"add_generation_prompt"`
	EnableThinking *bool           `json:"enable_thinking"`
	KeepThinking   json.RawMessage `json:"keep_thinking"`
}

func (c goldenCase) request() Request {
	r := Request{Tools: c.Tools, Generate: c.Generate, EnableThinking: c.EnableThinking}
	if c.KeepThinking != nil {
		r.Options = map[string]json.RawMessage{"keep_thinking": c.KeepThinking}
	}
	for _, m := range c.Messages {
		out := Message{Role: Role(m.Role), Content: m.Content, Reasoning: m.ReasoningContent}
		for _, t := range m.ToolCalls {
			out.ToolCalls = append(out.ToolCalls, ToolCall{t.ID, t.Function.Name, t.Function.Arguments})
		}
		r.Messages = append(r.Messages, out)
	}
	return r
}

func tinySource(t testing.TB) Source {
	t.Helper()
	src, err := Find(os.DirFS("../../assets/models/qwen-tiny"))
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func source(t testing.TB, name string) Source {
	t.Helper()
	if name == "tiny" {
		return tinySource(t)
	}
	text, err := os.ReadFile(filepath.Join("testdata", "templates", name+".jinja"))
	if err != nil {
		t.Fatal(err)
	}
	return Source{Default: string(text), Tokens: map[string]string{"bos_token": "<s>"}}
}

func joined(p Prompt) string {
	var b strings.Builder
	for _, part := range p.Parts {
		b.WriteString(part.Text.S)
	}
	return b.String()
}

// TestReference compares with Python's jinja2 (testdata/make_goldens.py).
func TestReference(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases   []goldenCase
		Results []json.RawMessage
		Out     map[string][]int
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	for name, results := range golden.Out {
		t.Run(name, func(t *testing.T) {
			tmpl, err := New(source(t, name), tokens)
			if err != nil {
				t.Fatal(err)
			}
			wrong := 0
			for i, c := range golden.Cases {
				got, err := tmpl.Render(context.Background(), c.request(), noon)
				if !same(t, got, err, golden.Results[results[i]]) {
					if wrong++; wrong > 3 {
						continue
					}
					t.Errorf("case %d: got %q, error %v\nwant %s", i, joined(got), err, golden.Results[results[i]])
				}
			}
			if wrong > 0 {
				t.Errorf("%d of %d cases differ", wrong, len(golden.Cases))
			}
		})
	}
}

func same(t *testing.T, got Prompt, err error, want json.RawMessage) bool {
	t.Helper()
	if bytes.HasPrefix(want, []byte("{")) {
		var message struct{ Error string }
		if err := json.Unmarshal(want, &message); err != nil {
			t.Fatal(err)
		}
		var refused *RefusedError
		return errors.As(err, &refused) && refused.Message == message.Error
	}
	var text string
	if err := json.Unmarshal(want, &text); err != nil {
		t.Fatal(err)
	}
	return err == nil && joined(got) == text
}
