package server

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"sotto/app/sched"
)

// BenchmarkChat measures what the API adds to an engine that takes no time: a request over a connection that is kept,
// and what each token of a stream costs server and client together.
func BenchmarkChat(b *testing.B) {
	const tokens = 200
	words := make([]string, tokens)
	for i := range words {
		words[i] = " word"
	}
	for name, body := range map[string]string{
		"whole": `{` + hello + `}`, "streamed": `{"stream":true,` + hello + `}`, "refused": `{"n":2,` + hello + `}`,
	} {
		b.Run(name, func(b *testing.B) {
			r := serve(b, say(words...), func(c *Config, _ *sched.Options) { c.Logger = nil })
			client := &http.Client{}
			b.Cleanup(client.CloseIdleConnections)
			for b.Loop() {
				q, err := http.NewRequestWithContext(b.Context(), http.MethodPost, r.url+"/v1/chat/completions",
					strings.NewReader(body))
				if err != nil {
					b.Fatal(err)
				}
				q.Header.Set("Content-Type", "application/json")
				a, err := client.Do(q)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, a.Body); err != nil {
					b.Fatal(err)
				}
				a.Body.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "µs/request")
			if name == "streamed" {
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/1e3/float64(b.N*tokens), "µs/token")
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	var messages []string
	for range 100 {
		messages = append(messages, `{"role":"user","content":"`+strings.Repeat("some words ", 100)+`"}`)
	}
	body := []byte(`{"temperature":0.5,"stop":["a"],"messages":[` + strings.Join(messages, ",") + `]}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := parseChat(body, defaults(), draw); err != nil {
			b.Fatal(err)
		}
	}
}
