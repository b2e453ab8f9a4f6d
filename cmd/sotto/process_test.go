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

// endless are flags by which an answer goes on for long: nearly every token is as likely as any other, and by this seed
// and the next one, which the second answer of a chat has, it is long before that is the end of the text.
var endless = []string{"--temperature", "100", "--top-k", "0", "--top-p", "1", "--seed", "8"}

func TestInterrupt(t *testing.T) {
	for name, args := range map[string][]string{
		"ask":  append([]string{"ask", story}, endless...),
		"chat": append([]string{"chat"}, endless...),
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
			if _, err := r.Peek(len(story) + 100); err != nil {
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
			if !strings.Contains(errs.String(), "cancelled") || !strings.HasSuffix(text.String(), "\n") {
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

// interrupted runs a command that shows nothing while it works and interrupts it in the midst of that. How long it
// takes to come there and how long it stays depends on the machine: a run that was met too early, by what it printed,
// or that had ended is tried again.
func interrupted(t *testing.T, args []string, early func(out string) bool) (out, errs string) {
	t.Helper()
	wait := 500 * time.Millisecond
	for range 10 {
		c := process(t, args...)
		texts := [2]strings.Builder{}
		c.Stdout, c.Stderr = &texts[0], &texts[1]
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(wait)
		begin := time.Now()
		if err := c.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		code := exitCode(t, c)
		out, errs = texts[0].String(), texts[1].String()
		switch {
		case code == 0:
			wait = wait * 2 / 3
			continue
		case code != exitInterrupted && code != -1: // -1: the signal came before anybody heard it
			t.Fatalf("exit code %d: %s", code, errs)
		case code == -1 || early(out):
			wait = wait * 7 / 5
			continue
		}
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("took %v to stop", took)
		}
		return out, errs
	}
	t.Fatalf("never met at work; the last time it was interrupted after %v", wait)
	return "", ""
}

// TestInterruptJSON holds that what was made of an answer is printed.
func TestInterruptJSON(t *testing.T) {
	good(t, sotto(t, "ask", "--max-tokens", "1", "hi")) // packs
	out, errs := interrupted(t, append([]string{"ask", "--json", story}, endless...),
		func(out string) bool { return out == "" })
	if !strings.Contains(out, `"cancelled"`) || !strings.HasSuffix(out, "}\n") {
		t.Errorf("got %q", out)
	}
	if strings.Contains(errs, "sotto:") {
		t.Errorf("an interrupt is no error: %q", errs)
	}
}

// TestInterruptWhileReading stops a request before there is an answer.
func TestInterruptWhileReading(t *testing.T) {
	file := filepath.Join(t.TempDir(), "long.txt")
	if err := os.WriteFile(file, []byte(strings.Repeat("and so on ", 1200)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := interrupted(t, []string{"ask", "--chunk", "1", "--threads", "1", "-f", file},
		func(string) bool { return false })
	if out != "" {
		t.Errorf("printed %q", out)
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
