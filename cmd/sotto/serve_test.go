package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestServeRefused(t *testing.T) {
	for args, want := range map[string]string{
		"serve hello":         `unexpected argument "hello"`,
		"serve --port 65536":  "--port 65536: want 0 to 65535",
		"serve -p -1":         "--port -1: want 0 to 65535",
		"serve --sessions 0":  "--sessions 0: want 1 to 256",
		"serve --queue 0":     "--queue 0: want 1 to 10000",
		"serve --chunk 4097":  "--chunk 4097: want 0 to 4096",
		"serve --threads -1":  "--threads -1: want 0 to 64",
		"serve --temperature": "unknown flag: --temperature",
	} {
		t.Run(args, func(t *testing.T) { refused(t, sotto(t, strings.Fields(args)...), exitUsage, want) })
	}
	refused(t, sotto(t, "serve", "--port", "0", "--model", "nowhere"), exitFailure, `no model "nowhere"`)
}

// served is a running `sotto serve`.
type served struct {
	*exec.Cmd
	port string
	errs *strings.Builder
}

func startServe(t *testing.T, args ...string) *served {
	t.Helper()
	s := &served{Cmd: process(t, append([]string{"serve", "--port", "0"}, args...)...), errs: &strings.Builder{}}
	s.Stderr = s.errs
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	found := regexp.MustCompile(`^[a-z]+-tiny answers at http://127\.0\.0\.1:(\d+)`).FindStringSubmatch(line)
	if found == nil {
		t.Fatalf("got %q, %v: %s", line, err, s.errs)
	}
	s.port = found[1]
	return s
}

// post sends a chat completion and returns the connection on which the answer comes.
func (s *served) post(t *testing.T, body string) *bufio.Reader {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", "127.0.0.1:"+s.port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	return bufio.NewReader(c)
}

func TestServe(t *testing.T) {
	s := startServe(t)
	want := ask(t, "Hello!").Text
	got, err := io.ReadAll(s.post(t, `{"messages":[{"role":"user","content":"Hello!"}],"temperature":0}`))
	if err != nil || !strings.Contains(string(got), fmt.Sprintf(`"content":%q`, want)) {
		t.Errorf("got %s, %v, want %q in it", got, err, want)
	}

	second := process(t, "serve", "--port", s.port)
	errs := &strings.Builder{}
	second.Stderr = errs
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	taken := "port " + s.port + " is taken"
	if code := exitCode(t, second); code != exitFailure || !strings.Contains(errs.String(), taken) {
		t.Errorf("on a port that is taken: exit code %d, %s", code, errs)
	}

	s.Process.Signal(os.Interrupt)
	if code := exitCode(t, s.Cmd); code != 0 {
		t.Errorf("exit code %d: %s", code, s.errs)
	}
	if log := s.errs.String(); !strings.Contains(log, "status=200") || strings.Contains(log, "Hello") {
		t.Errorf("log: %s", log)
	}
}

// TestServeHere serves a model under the name of its folder, however that is given.
func TestServeHere(t *testing.T) {
	s := startServe(t, "--model", "../../assets/models/qwen-tiny/.") // which looks at the name
	if err := s.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, s.Cmd); code != 0 {
		t.Errorf("exit code %d: %s", code, s.errs)
	}
}

// TestServeEndsWhileStreaming holds that a running answer gets an end when the program is told to end.
func TestServeEndsWhileStreaming(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			s := startServe(t)
			answer := s.post(t, `{"messages":[{"role":"user","content":"`+story+`"}],"temperature":0,"stream":true}`)
			for n := 0; n < 5; {
				line, err := answer.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(line, "data: ") {
					n++
				}
			}
			if err := s.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			rest, err := io.ReadAll(answer)
			if err != nil || !strings.Contains(string(rest), `"finish_reason":"length"`) ||
				!strings.Contains(string(rest), "data: [DONE]") {
				t.Errorf("got %s, %v", rest, err)
			}
			if code := exitCode(t, s.Cmd); code != 0 {
				t.Errorf("exit code %d: %s", code, s.errs)
			}
		})
	}
}
