package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// screen is sotto on a terminal of its own, with somebody who types.
type screen struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	pieces chan string
	text   strings.Builder // what was shown since the last call of wait
}

func newScreen(t *testing.T, args ...string) *screen {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	s := &screen{t: t, cmd: process(t, args...), master: master, pieces: make(chan string, 1024)}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.pieces)
		for b := make([]byte, 4096); ; {
			n, err := master.Read(b)
			if n > 0 {
				s.pieces <- string(b[:n])
			}
			if err != nil { // EIO when the process has ended
				return
			}
		}
	}()
	return s
}

func (s *screen) types(keys string) {
	s.t.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// wait returns what is shown until ok says that it is enough.
func (s *screen) wait(what string, ok func(string) bool) string {
	s.t.Helper()
	deadline := time.After(20 * time.Second)
	for !ok(s.text.String()) {
		select {
		case piece, more := <-s.pieces:
			if !more {
				s.t.Fatalf("sotto ended before %s: %q", what, s.text.String())
			}
			s.text.WriteString(piece)
		case <-deadline:
			s.t.Fatalf("no %s: %q", what, s.text.String())
		}
	}
	shown := s.text.String()
	s.text.Reset()
	return shown
}

// prompt waits until sotto asks for the next message.
func (s *screen) prompt() string {
	s.t.Helper()
	return s.wait("prompt", func(text string) bool { return strings.HasSuffix(text, "> ") })
}

func TestChatOnTerminal(t *testing.T) {
	s := newScreen(t, "chat", "--temperature", "0")
	banner := s.prompt()
	if !strings.Contains(banner, "tiny built-in model") || !strings.Contains(banner, "Ctrl-D leaves") {
		t.Errorf("banner %q", banner)
	}
	s.types("My name is Bertha.\r")
	if shown := s.prompt(); !strings.Contains(shown, "Bertha") || !strings.Contains(shown, "first token") {
		t.Errorf("answer %q", shown)
	}
	s.types("   \r")
	s.prompt()
	s.types("What is my nam\x7fme?\r")
	if shown := s.prompt(); !strings.Contains(shown, "You are Bertha.") || !strings.Contains(shown, "\x1b[2m") {
		t.Errorf("answer %q", shown)
	}
	s.types("\x04")
	if code := exitCode(t, s.cmd); code != 0 {
		t.Errorf("exit code %d after Ctrl-D", code)
	}
}

func TestCtrlC(t *testing.T) {
	s := newScreen(t, append([]string{"chat"}, endless...)...)
	s.prompt()
	s.types(story + "\r")
	s.wait("answer", func(text string) bool { return len(text) > len(story)+200 })
	s.types("\x03")
	if shown := s.prompt(); !strings.Contains(shown, "cancelled") {
		t.Errorf("after Ctrl-C: %q", shown)
	}
	s.types("And now?\r")
	s.wait("second answer", func(text string) bool { return len(text) > 200 })
	s.types("\x03")
	s.prompt()
	s.types("\x03")
	if code := exitCode(t, s.cmd); code != 0 {
		t.Errorf("exit code %d after Ctrl-C with nothing to stop", code)
	}
}
