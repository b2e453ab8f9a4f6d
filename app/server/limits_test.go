package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sotto/app/sched"
	"sotto/engine"
)

func TestBodySize(t *testing.T) {
	g := say("Hi")
	r := serve(t, g, func(c *Config, _ *sched.Options) { c.Limits.Body = 1000 })
	fill := func(n int) string {
		head, tail := `{"messages":[{"role":"user","content":"`, `"}]}`
		return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
	}
	if got := r.chat(t, fill(1000)); got.status != 200 {
		t.Errorf("1000 bytes: %d %s", got.status, got.body)
	}
	for _, n := range []int{1001, 100_000} {
		for _, chunked := range []bool{false, true} {
			var body io.Reader = strings.NewReader(fill(n))
			if chunked {
				body = io.MultiReader(body)
			}
			got, err := r.try(t.Context(), http.MethodPost, "/v1/chat/completions", body)
			if err != nil || got.status != http.StatusRequestEntityTooLarge ||
				!strings.Contains(got.body, "1000 bytes") {
				t.Errorf("%d bytes, chunked %v: %d %s, %v", n, chunked, got.status, got.body, err)
			}
		}
	}
	if n := g.asked(); n != 1 {
		t.Errorf("the engine was asked %d times", n)
	}
}

// TestLargeBodiesAreTold holds that a client that is still sending gets the answer, not a broken connection.
func TestLargeBodiesAreTold(t *testing.T) {
	r := serve(t, say("Hi"), func(c *Config, _ *sched.Options) { c.Limits.Body = 4 << 20 })
	body := strings.Repeat("x", 16<<20)
	for range 3 {
		got, err := r.try(t.Context(), http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
		if err != nil || got.status != http.StatusRequestEntityTooLarge {
			t.Errorf("got %d, %v", got.status, err)
		}
	}
}

// dial opens a connection that gives up at the end of the test.
func (r *rig) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

// post is the head of a chat completion and its body.
func post(body string) string {
	return fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", len(body), body)
}

func TestSlowRequests(t *testing.T) {
	r := serve(t, say("Hi"), func(c *Config, _ *sched.Options) {
		const limit = 200 * time.Millisecond
		c.Limits.Header, c.Limits.Read, c.Limits.Idle = limit, limit, limit
	})
	whole := post(`{` + hello + `}`)
	for _, c := range []struct{ name, sent, want string }{
		{"no header", "", ""},
		{"half a header", whole[:60], "HTTP/1.1 400 Bad Request"},
		{"half a body", whole[:len(whole)-10], "HTTP/1.1 408 Request Timeout"},
		{
			"a body that nobody reads", "POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nx",
			"HTTP/1.1 405 Method Not Allowed",
		},
		{"nothing after an answer", whole, "HTTP/1.1 200 OK"},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := r.dial(t)
			io.WriteString(conn, c.sent)
			begin := time.Now()
			answer, _ := io.ReadAll(conn) // however the connection ends
			if took := time.Since(begin); took > 3*time.Second {
				t.Errorf("the connection stays open for %v", took)
			}
			if line, _, _ := strings.Cut(string(answer), "\r\n"); line != c.want {
				t.Errorf("got %q, want %q", line, c.want)
			}
		})
	}
}

// TestLongAnswersOutliveReadLimits holds that the limits of reading do not end an answer that takes longer.
func TestLongAnswersOutliveReadLimits(t *testing.T) {
	g := say("a", "b", "c")
	g.pause = 250 * time.Millisecond
	r := serve(t, g, func(c *Config, _ *sched.Options) {
		c.Limits.Header, c.Limits.Read = 100*time.Millisecond, 100*time.Millisecond
		c.Limits.Write = 400 * time.Millisecond
	})
	for _, body := range []string{`{` + hello + `}`, `{"stream":true,` + hello + `}`} {
		if got := r.chat(t, body); got.status != 200 || !strings.Contains(got.body, `"finish_reason":"stop"`) {
			t.Errorf("got %+v", got)
		}
	}
}

// long is an answer too large for the buffers of a connection.
func long(tokens int) *script {
	words := make([]string, tokens)
	for i := range words {
		words[i] = strings.Repeat("word ", 2000)
	}
	return say(words...)
}

func TestSlowReaderKeepsNobodyWaiting(t *testing.T) {
	g := long(2000)
	r := serve(t, g, func(c *Config, _ *sched.Options) { c.Limits.Write = 2 * time.Second })
	slow := r.dial(t)
	slow.(*net.TCPConn).SetReadBuffer(4096)
	io.WriteString(slow, post(`{"stream":true,`+hello+`}`))
	in := bufio.NewReader(slow)
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("got %q, %v", line, err)
	}
	begin := time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		r.try(ctx, http.MethodPost, "/v1/chat/completions", strings.NewReader(`{`+hello+`}`)) // until it is served
	})
	eventually(t, "the other one is served", func() bool { return g.asked() == 2 })
	if took := time.Since(begin); took > 1500*time.Millisecond { // less than the slow reader is given
		t.Errorf("another client waited %v", took)
	}
	cancel()
	done.Wait()
	eventually(t, "the slow reader is given up", func() bool {
		return strings.Count(r.logs.String(), "code=client_gone") == 2
	})
}

func TestQueueFull(t *testing.T) {
	g := say("a", "b")
	g.gate = make(chan struct{})
	r := serve(t, g, func(_ *Config, o *sched.Options) { o.Waiting = 1 })
	var done sync.WaitGroup
	for i := range 2 {
		done.Go(func() {
			if got := r.chat(t, `{`+hello+`}`); got.status != 200 {
				t.Errorf("got %d %s", got.status, got.body)
			}
		})
		want := sched.Status{Serving: "API", Programs: i}
		eventually(t, "the request is in the queue", func() bool { return r.queue.Status() == want })
	}
	for _, body := range []string{`{` + hello + `}`, `{"stream":true,` + hello + `}`} {
		got := r.chat(t, body)
		if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "1" ||
			!strings.Contains(got.body, `"code":"queue_full"`) {
			t.Errorf("got %d, %v, %s", got.status, got.header, got.body)
		}
	}
	close(g.gate)
	done.Wait()
}

func TestTooManyCalls(t *testing.T) {
	g := say("a")
	g.gate = make(chan struct{})
	r := serve(t, g, func(c *Config, o *sched.Options) { c.Limits.Calls = 2 })
	var done sync.WaitGroup
	for range 2 {
		done.Go(func() { r.chat(t, `{`+hello+`}`) })
	}
	eventually(t, "both are inside", func() bool { return r.queue.Status().Programs == 1 })
	got := r.chat(t, `{`+hello+`}`)
	if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" {
		t.Errorf("got %d, %v", got.status, got.header)
	}
	if got := r.do(t, http.MethodGet, "/health", ""); got.status != 200 {
		t.Errorf("health: %d", got.status)
	}
	close(g.gate)
	done.Wait()
	if got := r.chat(t, `{`+hello+`}`); got.status != 200 {
		t.Errorf("afterwards: %d", got.status)
	}
}

// TestEnd holds that answers end with what they have when the server ends, and that it does end.
func TestEnd(t *testing.T) {
	g := say("one ", "two ", "three ", "four ")
	g.gate = make(chan struct{})
	r := serve(t, g, nil)
	type result struct {
		reply
		err error
	}
	start := func(body string) chan result {
		out := make(chan result, 1)
		go func() {
			got, err := r.try(context.Background(), http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
			out <- result{got, err}
		}()
		return out
	}
	streamed := start(`{"stream":true,` + hello + `}`)
	eventually(t, "the first is served", func() bool { return r.queue.Status() == sched.Status{Serving: "API"} })
	g.gate <- struct{}{}
	g.gate <- struct{}{}
	waiting := start(`{` + hello + `}`)
	eventually(t, "the second waits", func() bool { return r.queue.Status().Programs == 1 })
	begin := time.Now()
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
	one, two := <-streamed, <-waiting
	if one.err != nil || one.status != 200 ||
		!strings.Contains(one.body, `"two "`) || strings.Contains(one.body, "three") ||
		!strings.Contains(one.body, `"finish_reason":"length"`) || !strings.HasSuffix(one.body, "data: [DONE]\n\n") {
		t.Errorf("the answer that was being made: %+v", one)
	}
	if two.err != nil || two.status != http.StatusServiceUnavailable || !strings.Contains(two.body, "shutting_down") {
		t.Errorf("the request that waited: %+v", two)
	}
	if _, err := r.try(context.Background(), http.MethodGet, "/health", nil); err == nil {
		t.Error("the server still answers")
	}
	if g.active.Load() != 0 {
		t.Error("the engine still works")
	}
}

func TestEndOfWholeAnswer(t *testing.T) {
	g := say("one ", "two ", "three ")
	g.gate = make(chan struct{}, 2)
	r := serve(t, g, nil)
	out := make(chan reply, 1)
	go func() { out <- r.chat(t, `{`+hello+`}`) }()
	g.gate <- struct{}{}
	g.gate <- struct{}{}
	eventually(t, "two tokens", func() bool { return len(g.gate) == 0 })
	r.stop()
	if got := <-out; got.status != 200 || !strings.Contains(got.body, `"finish_reason":"length"`) {
		t.Errorf("got %+v", got)
	}
}

// TestEndDoesNotWaitForClients holds that a client that takes nothing cannot keep the server from ending.
func TestEndDoesNotWaitForClients(t *testing.T) {
	r := serve(t, long(2000), func(c *Config, _ *sched.Options) { c.Limits.Goodbye = 300 * time.Millisecond })
	slow := r.dial(t)
	slow.(*net.TCPConn).SetReadBuffer(4096)
	io.WriteString(slow, post(`{"stream":true,`+hello+`}`))
	if line, err := bufio.NewReader(slow).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("got %q, %v", line, err)
	}
	begin := time.Now()
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestPanicInHandler(t *testing.T) {
	r := serve(t, say("Hi"), nil)
	r.model.Load().Queue = nil // a nil queue is a defect that only a handler meets
	got := r.chat(t, `{`+hello+`}`)
	if got.status != http.StatusInternalServerError || !strings.Contains(got.body, "internal_error") {
		t.Errorf("got %+v", got)
	}
	if log := r.logs.String(); !strings.Contains(log, "panic in a handler") || !strings.Contains(log, "chat.go") {
		t.Errorf("log %q", log)
	}
	if got := r.do(t, http.MethodGet, "/health", ""); got.status != 200 {
		t.Errorf("afterwards: %d", got.status)
	}
}

// TestNothingOfTheUserIsLogged sends a secret in every place that a client can write to.
func TestNothingOfTheUserIsLogged(t *testing.T) {
	const secret = "xyzzy"
	for _, g := range []*script{
		say("the ", secret), broken(), unread(&engine.PromptError{Err: errors.New("no " + secret)}),
	} {
		r := serve(t, g, nil)
		for _, body := range []string{
			`{"messages":[{"role":"user","content":"` + secret + `","name":"` + secret + `"}],"stop":"` + secret + `"}`,
			`{"stream":true,"messages":[{"role":"user","content":"` + secret + `"}]}`,
			`{"messages":[{"role":"` + secret + `"}]}`,
			`{"messages":[{"role":"user","content":[{"type":"` + secret + `"}]}]}`,
			`{"model":"` + secret + `","messages":[{"role":"user","content":"` + secret + `"}]}`,
			`{"reasoning_effort":"` + secret + `"}`,
			secret,
		} {
			r.chat(t, body, "Authorization", "Bearer "+secret, "User-Agent", secret, "X-Request-Id", secret)
		}
		r.do(t, http.MethodGet, "/v1/"+secret+"?q="+secret, "")
		r.do(t, http.MethodGet, "/v1/models/"+secret, "")
		r.chat(t, "{}", "Host", secret+".example")
		r.chat(t, "{}", "Origin", "http://"+secret+".example")
		r.chat(t, "{}", "Content-Type", secret)
		r.raw(t, secret+"\r\n\r\n")
		log := r.logs.String()
		if strings.Contains(log, secret) {
			t.Errorf("the log has a secret: %s", log)
		}
		if n := strings.Count(log, "msg=request"); n != 12 {
			t.Errorf("%d lines of requests, want 12: %s", n, log)
		}
	}
}
