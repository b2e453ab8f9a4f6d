package prompt

import (
	"context"
	"strings"
	"testing"
)

// BenchmarkRender renders a long conversation with earlier answers.
func BenchmarkRender(b *testing.B) {
	tmpl := chat(b, source(b, "chat").Default)
	text := strings.Repeat("Some <b>words</b> of a conversation, and > more. ", 40)
	var r Request
	for range 100 {
		r.Messages = append(r.Messages, Message{Role: User, Content: text},
			Message{Role: Assistant, Content: "Yes.", Raw: "Yes.", IDs: []int32{1, 2}})
	}
	r.Messages = append(r.Messages, Message{Role: User, Content: text})
	b.SetBytes(int64(101 * len(text)))
	for b.Loop() {
		if _, err := tmpl.Render(context.Background(), r, noon); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReply parses a reply token by token.
func BenchmarkReply(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		r := NewReply(true, []string{"\nUser:"})
		for range 200 {
			r.Push(" word")
		}
		r.Push("</think>")
		for range 200 {
			r.Push(" word")
		}
		r.Flush()
	}
}
