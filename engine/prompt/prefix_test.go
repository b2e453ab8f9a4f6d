package prompt

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestThinkingPrefix holds how a prompt ends with tools, by a template that is told not to think by thinking that is
// closed at once: byte for byte as the template has it, and the reply begins where it says.
func TestThinkingPrefix(t *testing.T) {
	tmpl, err := New(source(t, "xml"), tokens)
	if err != nil {
		t.Fatal(err)
	}
	on, off := true, false
	for _, c := range []struct {
		name     string
		thinking *bool
		end      string
		inside   bool
	}{
		{"by default", nil, "<|im_end|>\n<|im_start|>assistant\n<think>\n", true},
		{"on", &on, "<|im_end|>\n<|im_start|>assistant\n<think>\n", true},
		{"off", &off, "<|im_end|>\n<|im_start|>assistant\n<think></think>", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := render(t, tmpl, Request{
				Messages:       []Message{{Role: User, Content: "Weather in Rome?"}},
				Tools:          []json.RawMessage{json.RawMessage(`{"type":"function","function":{"name":"weather"}}`)},
				EnableThinking: c.thinking, Generate: true,
			})
			text := joined(p)
			if !strings.HasSuffix(text, c.end) || !strings.HasPrefix(text, "<|im_start|>system\n") {
				t.Errorf("prompt %q, want an end of %q", text, c.end)
			}
			if p.Thinking != c.inside {
				t.Errorf("thinking %v, want %v", p.Thinking, c.inside)
			}
			if n := live(p, "</think>"); (n == 1) == c.inside {
				t.Errorf("%d tokens that close thinking", n)
			}
			r := NewReply(p.Thinking, nil)
			var thinking, answer string
			for _, e := range append(r.Push("look it up</think>Sunny."), r.Flush()...) {
				if e.Kind == Thinking {
					thinking += e.Text
				} else {
					answer += e.Text
				}
			}
			if want := "look it up"; c.inside && (thinking != want || answer != "Sunny.") {
				t.Errorf("thinking %q, answer %q", thinking, answer)
			}
			if !c.inside && thinking != "" {
				t.Errorf("thinking %q where there is none", thinking)
			}
		})
	}
}
