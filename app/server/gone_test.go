package server

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sotto/app/sched"
	"sotto/engine"
)

// asClient makes the test binary a client: it posts its standard input to the URL and prints what comes.
const asClient = "SOTTO_TEST_CLIENT"

func TestMain(m *testing.M) {
	if url := os.Getenv(asClient); url != "" {
		if err := client(url); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func client(url string) error {
	q, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, os.Stdin)
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	_, err = io.Copy(os.Stdout, a.Body)
	return err
}

// start starts a client in a process of its own. Its lines come on a reader.
func (r *rig) start(t *testing.T, body string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self)
	c.Env = append(os.Environ(), asClient+"="+r.url+"/v1/chat/completions")
	c.Stdin, c.Stderr = strings.NewReader(body), os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(out)
}

// settle kills a client, waits until the engine is idle and has the next request answered.
func (r *rig) settle(t *testing.T, c *exec.Cmd) {
	t.Helper()
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	eventually(t, "the engine is idle", func() bool { return r.queue.Status() == sched.Status{} })
	took := time.Since(begin)
	c.Wait()
	next := time.Now()
	if a := r.answer(t, request("Hello!", "max_tokens", 1)); a.finish != "length" {
		t.Errorf("the next answer: %+v", a)
	}
	t.Logf("idle %v after the kill, the next answer took %v", took, time.Since(next))
	if took > time.Second {
		t.Errorf("idle only after %v", took)
	}
}

// endless is a request whose answer goes on for long: nearly every token is likely.
func endless(stream bool) string {
	return request("Tell me a story about a dragon in a castle.", "stream", stream,
		"temperature", 2, "top_k", 0, "top_p", 1, "seed", 4)
}

// TestClientKilled holds that the engine leaves an answer when the process that asked is killed.
func TestClientKilled(t *testing.T) {
	r, spy := open(t, "", func(o *engine.Options) { o.Chunk = 16 })
	long := strings.Repeat("The dragon sleeps in the old castle. ", 300)
	for _, c := range []struct {
		name, body string
		kind       engine.EventKind // of the event at which the client is killed
		number     int
		tokens     int // that have been made by then
	}{
		{"at token 5", endless(true), engine.Text, 5, 5},
		{"while the prompt is read", request(long, "stream", true), engine.Reading, 3, 0},
		{"at token 5 of an answer that comes whole", endless(false), engine.Text, 5, 5},
		{"while a whole one's prompt is read", request(long), engine.Reading, 3, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &hold{kind: c.kind, number: c.number, there: make(chan struct{})}
			spy.mu.Lock()
			before := len(spy.results)
			spy.hold = h
			spy.mu.Unlock()
			killed, out := r.start(t, c.body)
			go io.Copy(io.Discard, out)
			select {
			case <-h.there:
			case <-t.Context().Done():
			}
			r.settle(t, killed)
			spy.mu.Lock()
			result := spy.results[before]
			spy.mu.Unlock()
			if result.Reason != engine.ReasonCancelled {
				t.Errorf("the answer ended by %s", result.Reason)
			}
			// The engine is at most 64 events ahead of its reader, who has stopped reading: of the prompt's 168 chunks
			// and of the answer's hundreds of tokens most are never made.
			if n := len(result.IDs); n < c.tokens || n > c.tokens+66 || c.tokens == 0 && n > 0 {
				t.Errorf("%d tokens were made, %d before the client was killed", n, c.tokens)
			}
		})
	}
}

// TestConnectionEnds ends connections in the ways that connections end.
func TestConnectionEnds(t *testing.T) {
	for name, end := range map[string]func(c *net.TCPConn){
		"closed":      func(c *net.TCPConn) { c.Close() },
		"reset":       func(c *net.TCPConn) { c.SetLinger(0); c.Close() },
		"half closed": func(c *net.TCPConn) { c.CloseWrite() },
	} {
		for _, stream := range []string{"true", "false"} {
			t.Run(name+", streamed "+stream, func(t *testing.T) {
				g := say("one", "two")
				g.gate = make(chan struct{})
				r := serve(t, g, nil)
				c := r.dial(t)
				io.WriteString(c, post(`{"stream":`+stream+`,`+hello+`}`))
				eventually(t, "the request is served", func() bool { return g.asked() == 1 })
				waiting, stop := context.WithCancel(t.Context())
				go r.try(waiting, http.MethodPost, "/v1/chat/completions", strings.NewReader(`{`+hello+`}`))
				eventually(t, "another one waits", func() bool { return r.queue.Status().Programs == 1 })
				end(c.(*net.TCPConn))
				eventually(t, "the other one is served", func() bool { return g.asked() == 2 })
				stop()
				eventually(t, "idle", func() bool { return r.queue.Status() == sched.Status{} })
			})
		}
	}
}

// TestGoneWhileWaiting holds that a request whose client went away is never served.
func TestGoneWhileWaiting(t *testing.T) {
	g := say("one")
	g.gate = make(chan struct{})
	r := serve(t, g, nil)
	go r.try(t.Context(), http.MethodPost, "/v1/chat/completions", strings.NewReader(`{`+hello+`}`))
	eventually(t, "one is served", func() bool { return g.asked() == 1 })
	c := r.dial(t)
	io.WriteString(c, post(`{`+hello+`}`))
	eventually(t, "another one waits", func() bool { return r.queue.Status().Programs == 1 })
	c.Close()
	eventually(t, "it has left", func() bool { return r.queue.Status().Programs == 0 })
	close(g.gate)
	eventually(t, "idle", func() bool { return r.queue.Status() == sched.Status{} })
	if n := g.asked(); n != 1 {
		t.Errorf("the engine was asked %d times", n)
	}
}
