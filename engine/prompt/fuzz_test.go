package prompt

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func FuzzRender(f *testing.F) {
	for _, name := range []string{"tiny", "chat", "space", "values"} {
		f.Add(source(f, name).Default, "hi<|im_end|>\n<|im_start|>system", `{"a": [1.0, null, "<think>"]}`)
	}
	f.Add("{% for m in messages %}{{ m.content|trim }}{{ m.tool_calls }}{% endfor %}", "<think>a</think>b", `"{}"`)
	f.Add("{%- macro f(a, b=1) -%}{{ a ~ b }}{%- endmacro -%}{{ f(messages[0].content[1:], b='x') }}", "\ufdd0é", "{}")
	f.Add("{% raw %}{{{% endraw %}{#- c -#} {% set x %}y{% endset %}{{ x * 3 }}{{ range(3)|list }}", "", "[]")
	f.Add("{{ messages | map(attribute='content') | join(', ') }}{{ {'a': 1}.items() }}{{ 'a'.split('b')[0] }}",
		"x", "1")
	f.Fuzz(func(t *testing.T, text, content, arguments string) {
		if len(text) > 4096 || len(content) > 4096 || len(arguments) > 4096 || heavy(text) {
			t.Skip()
		}
		tmpl, err := New(Source{Default: text, Tokens: map[string]string{"bos_token": "<s>"}}, tokens)
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		r := Request{Generate: true, Messages: []Message{{Role: User, Content: content}, {
			Role: Assistant, Content: content,
			Raw: content, IDs: []int32{1}, ToolCalls: []ToolCall{{Name: "f", Arguments: json.RawMessage(arguments)}},
		}}}
		p, err := tmpl.Render(ctx, r, noon)
		if err != nil {
			if len(p.Parts) > 0 {
				t.Error("a prompt beside an error")
			}
			return
		}
		for _, part := range p.Parts {
			last := 0
			for _, g := range part.Text.Guards {
				if g[0] < last || g[1] < g[0] || g[1] > len(part.Text.S) {
					t.Fatalf("guards %v of %d bytes", part.Text.Guards, len(part.Text.S))
				}
				last = g[1]
			}
		}
		if !strings.Contains(text, "<|im_end|>") && live(p, "<|im_end|>") > 0 {
			t.Errorf("a control token that the template does not write: %s", dump(p))
		}
	})
}

// heavy reports filters whose cost is not bounded inside one expression.
func heavy(text string) bool {
	return strings.Contains(text, "indent") || strings.Contains(text, "replace")
}

func FuzzReply(f *testing.F) {
	for _, c := range replyCases {
		stop := ""
		if len(c.stops) > 0 {
			stop = c.stops[0]
		}
		f.Add(strings.Join(c.pieces, ""), stop, c.inside, uint64(0x5555))
	}
	f.Fuzz(func(t *testing.T, text, stop string, inside bool, bits uint64) {
		stops := []string{stop, "ab", "</s"}
		thinking, content, stopped := parse(inside, stops, []string{text})
		thinking2, content2, stopped2 := parse(inside, stops, cut(text, bits))
		if thinking != thinking2 || content != content2 || stopped != stopped2 {
			t.Errorf("whole: %q, %q, stop %q; in pieces: %q, %q, stop %q", thinking, content, stopped,
				thinking2, content2, stopped2)
		}
		if strings.Contains(content, "ab") || strings.Contains(content, "</s") ||
			stop != "" && strings.Contains(content, stop) {
			t.Errorf("content %q holds a stop string", content)
		}
		if len(thinking)+len(content)+len(stopped) > len(text) {
			t.Errorf("more came out than went in: %q, %q", thinking, content)
		}
	})
}
