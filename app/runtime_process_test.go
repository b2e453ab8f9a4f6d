package app

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"sotto/app/screen"
	"sotto/app/store"
)

// childFolder tells a copy of this test binary to be an app that answers without end.
const childFolder = "SOTTO_TEST_RUNTIME"

// endless starts an app in a folder whose model says a word every few milliseconds.
func endless(t *testing.T, dir string) *Runtime {
	t.Helper()
	g := &rig{t: t, teller: &teller{words: slices.Repeat([]string{"word "}, 100_000), every: 5 * time.Millisecond}}
	r, err := NewRuntime(RuntimeOptions{
		Store: store.New(filepath.Join(dir, "sotto.db"), 5*time.Second), Lock: filepath.Join(dir, "lock"),
		Open: g.openModel,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// eventually waits until a view is as it should be.
func eventually(t *testing.T, r *Runtime, what string, is func(*screen.View) bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for !is(r.View()) {
		select {
		case <-r.Changed():
		case <-deadline:
			t.Fatalf("waited too long: %s; last view %+v", what, r.View().Chat)
		}
	}
}

// TestKilledWhileAnswering kills an app in mid-stream: the next one shows what it had written, marked as interrupted.
func TestKilledWhileAnswering(t *testing.T) {
	if dir := os.Getenv(childFolder); dir != "" {
		r := endless(t, dir)
		go func() {
			eventually(t, r, "started", func(v *screen.View) bool { return v.Chat.Composer.CanSend })
			r.Send(screen.Send{Text: "Go on for ever"})
		}()
		if err := r.Run(t.Context()); err != nil {
			t.Error(err)
		}
		return
	}
	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWhileAnswering$")
	child.Env = append(os.Environ(), childFolder+"="+dir)
	child.Stdout, child.Stderr = os.Stderr, os.Stderr
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	s := store.New(filepath.Join(dir, "sotto.db"), 5*time.Second)
	partial := ""
	for begin := time.Now(); partial == ""; time.Sleep(20 * time.Millisecond) {
		c, _, err := s.Conversation(1)
		if err == nil && len(c.Nodes) == 2 {
			partial = c.Nodes[1].Content
		}
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("no partial answer was saved: %v, %v", c, err)
		}
	}
	if _, err := NewRuntime(RuntimeOptions{Store: s, Lock: filepath.Join(dir, "lock")}); err == nil ||
		!strings.Contains(err.Error(), fmt.Sprintf("process %d", child.Process.Pid)) {
		t.Errorf("a second app beside it: %v", err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed

	r := endless(t, dir)
	ended := make(chan error, 1)
	go func() { ended <- r.Run(t.Context()) }()
	eventually(t, r, "messages", func(v *screen.View) bool { return len(v.Chat.Transcript.Messages) == 2 })
	m := r.View().Chat.Transcript.Messages
	if !strings.HasPrefix(m[1].Note, "Interrupted") || m[1].Streaming || !strings.HasPrefix(text(m, 1),
		strings.TrimSpace(partial)) {
		t.Errorf("after the kill: %+v, want at least %q", m[1], partial)
	}
	r.Send(screen.Quit{})
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestLaunch runs the app with the built-in model: a question by each door, the API, and an end. The same
// goes through the Metal driver on its simulated runtime, where there is one.
func TestLaunch(t *testing.T) {
	want := launch(t, defaultDriver)
	if runtime.GOOS != "linux" {
		return
	}
	if got := launch(t, DriverSim); got != want || !strings.Contains(got, `"content"`) {
		t.Errorf("driver sim: got %q, want %q", got, want)
	}
}

// launch runs the app on a driver and returns what its API answers without chance.
func launch(t *testing.T, driver string) string {
	t.Helper()
	home(t)
	r, err := Launch(LaunchOptions{Build: "test", Open: Options{Driver: driver}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Launch(LaunchOptions{}); err == nil || !strings.Contains(err.Error(), "running already") {
		t.Errorf("a second app: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(t.Context()) }()
	eventually(t, r, "the model", func(v *screen.View) bool { return v.Chat.Model.State == screen.ModelIsReady })
	for _, m := range []screen.Msg{
		screen.Send{Text: "Hello!"},
		screen.QuickAsk{Text: "Who are you?"},
		screen.ServiceCall{Call: 1, Kind: screen.Summarise, Text: "A dragon sleeps in a castle.", CanReplace: true},
	} {
		r.Send(m)
	}
	done := func(list ...screen.MessageView) bool {
		for _, m := range list {
			if m.Side == screen.ByModel && (m.Figures == "" || len(m.Blocks) == 0) {
				return false
			}
		}
		return len(list) > 0
	}
	eventually(t, r, "three answers", func(v *screen.View) bool {
		return done(v.Chat.Transcript.Messages...) && done(v.Quick.Messages...) && done(v.Service.Answer)
	})
	if n := r.View().Chat.Model.Note; !strings.HasSuffix(n, "open a larger one in Settings") {
		t.Errorf("note %q", n)
	}
	if n := r.View().Chat.Transcript.Messages[1].Figures; !strings.Contains(n, "qwen-tiny") {
		t.Errorf("figures %q", n)
	}
	answer := askAPI(t, r)
	r.Send(screen.Quit{})
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return answer
}

// askAPI switches the API on, on a port that is free, and asks it for the models and for an answer, whose choices it
// returns.
func askAPI(t *testing.T, r *Runtime) string {
	t.Helper()
	var c net.ListenConfig
	l, err := c.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_, port, _ := strings.Cut(address, ":")
	l.Close()
	r.Send(screen.SetField{Field: screen.FieldPort, Text: port})
	r.Send(screen.SetAPI{On: true})
	eventually(t, r, "the API",
		func(v *screen.View) bool { return v.Settings.APIText == "Listening on http://"+address })
	answer := ask(t.Context(), t, address, "GET /v1/models", "")
	if !strings.Contains(answer, "200 OK") || !strings.Contains(answer, `"qwen-tiny"`) {
		t.Errorf("models: %s", answer)
	}
	answer = ask(t.Context(), t, address, "POST /v1/chat/completions",
		`{"messages": [{"role": "user", "content": "Tell me a story."}], "temperature": 0, "max_tokens": 60}`)
	_, choices, _ := strings.Cut(answer, `"choices"`)
	r.Send(screen.SetAPI{On: false})
	eventually(t, r, "no API", func(v *screen.View) bool { return v.Settings.APIText == "Off" })
	return choices
}

// ask sends a request by hand.
func ask(ctx context.Context, t *testing.T, address, line, body string) string {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", line, address, len(body), body)
	var out strings.Builder
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		out.WriteString(lines.Text() + "\n")
	}
	return out.String()
}
