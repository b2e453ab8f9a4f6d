package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// exitCode waits for a process.
func exitCode(t *testing.T, c *exec.Cmd) int {
	t.Helper()
	err := c.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode()
}

// endless are flags by which an answer goes on for long: nearly every token is as likely as any other.
var endless = []string{"--temperature", "100", "--top-k", "0", "--top-p", "1", "--seed", "4"}

func TestInterrupt(t *testing.T) {
	for name, args := range map[string][]string{
		"ask":  append([]string{"ask", story}, endless...),
		"chat": append([]string{"chat"}, endless...),
		"json": append([]string{"ask", "--json", story}, endless...),
	} {
		t.Run(name, func(t *testing.T) {
			c := process(t, args...)
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			errs := &strings.Builder{}
			c.Stderr = errs
			c.Stdin = strings.NewReader(story + "\n")
			if name != "chat" {
				c.Stdin = nil
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			r := bufio.NewReader(out)
			if name == "json" { // prints at the end only
				time.Sleep(700 * time.Millisecond)
			} else if _, err := r.Peek(len(story) + 100); err != nil {
				t.Fatalf("%v, %s", err, errs)
			}
			if err := c.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			text := &strings.Builder{}
			if _, err := r.WriteTo(text); err != nil {
				t.Fatal(err)
			}
			if code := exitCode(t, c); code != exitInterrupted {
				t.Errorf("exit code %d, want %d: %s", code, exitInterrupted, errs)
			}
			why := errs.String()
			if name == "json" {
				why = text.String()
			}
			if !strings.Contains(why, "cancelled") || !strings.HasSuffix(text.String(), "\n") {
				t.Errorf("got %q, %q", text, errs)
			}
			if strings.Contains(errs.String(), "sotto:") {
				t.Errorf("an interrupt is no error: %q", errs)
			}
		})
	}
}

// TestInterruptWhileOpening holds that an interrupt is not forgotten when the model is open before anything has looked
// at it: with packed weights opening takes a moment in which nothing does.
func TestInterruptWhileOpening(t *testing.T) {
	good(t, sotto(t, "ask", "--max-tokens", "1", "hi")) // packs
	f := &flags{}
	f.register(&cobra.Command{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m, err := f.open(ctx, terminal{err: &strings.Builder{}})
	if !errors.Is(err, context.Canceled) || m != nil {
		t.Errorf("got %v, %v, want no model and that it was cancelled", m, err)
	}
}

// TestInterruptWhileReading stops a request before there is an answer.
func TestInterruptWhileReading(t *testing.T) {
	file := filepath.Join(t.TempDir(), "long.txt")
	if err := os.WriteFile(file, []byte(strings.Repeat("and so on ", 1200)), 0o600); err != nil {
		t.Fatal(err)
	}
	c := process(t, "ask", "--chunk", "1", "--threads", "1", "-f", file)
	out := &strings.Builder{}
	c.Stdout = out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	begin := time.Now()
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, c); code != exitInterrupted || out.String() != "" {
		t.Errorf("exit code %d, %q", code, out)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("took %v to stop", took)
	}
}

// TestTwoProcesses starts two at once where nothing is packed yet.
func TestTwoProcesses(t *testing.T) {
	home := emptyHome(t)
	var outs [2]strings.Builder
	var list [2]*exec.Cmd
	for i := range list {
		list[i] = process(t, "ask", "--temperature", "0", "Hello!")
		list[i].Stdout, list[i].Stderr = &outs[i], os.Stderr
		if err := list[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range list {
		if code := exitCode(t, c); code != 0 {
			t.Errorf("process %d: exit code %d", i, code)
		}
	}
	if a, b := outs[0].String(), outs[1].String(); a != b || a == "" {
		t.Errorf("two answers: %q, %q", a, b)
	}
	packs := 0
	for _, f := range filesIn(t, home) {
		if strings.HasSuffix(f, ".tmp") {
			t.Errorf("left behind: %s", f)
		}
		if strings.HasSuffix(f, ".pack") {
			packs++
		}
	}
	if packs != 1 {
		t.Errorf("%d packs, want 1: %v", packs, filesIn(t, home))
	}
}

// TestKilledWhilePacking ends a process at some moment of its first start; the next one must work.
func TestKilledWhilePacking(t *testing.T) {
	home := emptyHome(t)
	want := ""
	for _, wait := range []time.Duration{5, 10, 20, 30, 45, 60} {
		c := process(t, "ask", "--temperature", "0", "Hello!")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(wait * time.Millisecond)
		if err := c.Process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		exitCode(t, c)
		o := good(t, sotto(t, "ask", "--temperature", "0", "Hello!"))
		if want == "" {
			want = o.out
		}
		if o.out != want {
			t.Errorf("killed after %d ms: %q, want %q", wait, o.out, want)
		}
		for _, f := range filesIn(t, home) {
			if err := os.Remove(filepath.Join(home, f)); err != nil {
				t.Fatal(err)
			}
		}
	}
}
