package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"sotto/ui"
)

// stage is where a scene plays: a screen and at most one running Sotto. Its methods stop the scene where something
// does not happen; attempt turns that into an error.
type stage struct {
	options
	x           *display
	program     *exec.Cmd
	exited      chan struct{}
	environment []string
	arguments   []string      // more of them
	stressed    bool          // by environment
	slow        time.Duration // least time between two tokens: answers last, however quick the machine is
	missing     map[string]bool
	shots       []string
	notes       []string

	mu     sync.Mutex
	now    ui.Snapshot
	told   int // snapshots so far
	faults []string
}

// failure is what stops a scene.
type failure struct{ err error }

func (p *stage) fail(format string, a ...any) { panic(failure{fmt.Errorf(format, a...)}) }

func (p *stage) must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// attempt plays and returns what stopped it.
func (p *stage) attempt(play func(*stage)) (err error) {
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = f.err
		}
	}()
	play(p)
	return nil
}

// start starts Sotto and waits for its window and its model.
func (p *stage) start() {
	if p.program != nil {
		p.fail("it is already running")
	}
	c := exec.CommandContext(context.Background(), filepath.Join(p.rig, "run.sh"),
		append([]string{p.home, p.app, "app", "--trace", "--slow", p.slow.String()}, p.arguments...)...)
	c.Env = append(append(os.Environ(), "DISPLAY="+p.x.name, "HOME="+p.user, "GOTRACEBACK=all"), p.environment...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.StdoutPipe()
	p.must(err)
	errs, err := c.StderrPipe()
	p.must(err)
	log, err := os.OpenFile(filepath.Join(p.home, "sotto.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	p.must(err)
	p.must(c.Start())
	p.program, p.exited = c, make(chan struct{})
	p.mu.Lock()
	p.now, p.told, p.faults = ui.Snapshot{}, 0, nil
	p.mu.Unlock()
	var readers sync.WaitGroup
	readers.Go(func() { p.readTrace(bufio.NewReader(out)) })
	readers.Go(func() {
		p.readErrors(bufio.NewScanner(io.TeeReader(errs, log)))
		log.Close()
	})
	go func() {
		readers.Wait()
		_ = c.Wait() // its status is read from ProcessState
		close(p.exited)
	}()
	p.wait("the window and the model", patience, func(s ui.Snapshot) bool {
		return s.Chat.Open && s.Chat.Model != "" && !strings.Contains(s.Chat.Model, "oading")
	})
	p.settle()
}

// keyboard names what gets the keys, as the screen and as the program say.
func (p *stage) keyboard() string {
	name, err := p.x.do("xdotool", "getwindowfocus", "getwindowname")
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(name) + " (" + p.see().Keyboard + ")"
}

func (p *stage) readTrace(r *bufio.Reader) {
	d := json.NewDecoder(r)
	for {
		var s ui.Snapshot
		if d.Decode(&s) != nil {
			return
		}
		p.mu.Lock()
		p.now = s
		p.told++
		p.mu.Unlock()
	}
}

// readErrors collects what must not be there from the program's standard error.
func (p *stage) readErrors(r *bufio.Scanner) {
	r.Buffer(nil, 1<<20)
	bad := false
	for r.Scan() {
		line := r.Text()
		if m, ok := strings.CutPrefix(line, "missing: "); ok {
			p.mu.Lock()
			p.missing[m] = true
			p.mu.Unlock()
			continue
		}
		bad = bad || strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") ||
			strings.HasPrefix(line, "SIG") || strings.HasPrefix(line, "exception:") ||
			strings.Contains(line, "Assertion")
		if bad {
			p.mu.Lock()
			if len(p.faults) < 40 {
				p.faults = append(p.faults, line)
			}
			p.mu.Unlock()
		}
	}
}

func (p *stage) see() ui.Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// wait waits until the screen shows something.
func (p *stage) wait(what string, limit time.Duration, shows func(ui.Snapshot) bool) ui.Snapshot {
	s, ok := p.seen(what, limit, shows)
	if !ok {
		p.fail("waiting for %s: not seen in %v; the keyboard belongs to %s", what, limit, p.keyboard())
	}
	return s
}

// seen waits like wait, and tells whether it was in vain.
func (p *stage) seen(what string, limit time.Duration, shows func(ui.Snapshot) bool) (s ui.Snapshot, ok bool) {
	for end := time.Now().Add(limit); ; {
		if s := p.see(); shows(s) {
			return s, true
		}
		select {
		case <-p.exited:
			p.fail("waiting for %s: the program ended: %s", what, p.faultText())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(end) {
			return s, false
		}
	}
}

// shot takes a picture of the screen.
func (p *stage) shot(name string) {
	file := filepath.Join(p.options.shots, name+".png")
	if _, err := p.x.do("import", "-window", "root", file); err != nil {
		p.notes = append(p.notes, err.Error())
		return
	}
	p.shots = append(p.shots, name+".png")
}

// click presses the mouse in the middle of a part.
func (p *stage) click(part string) {
	x, y := p.place(part)
	p.clickAt(x, y)
}

// clickFor clicks on a part until the screen shows what comes of it. GNUstep now and then loses a press: as a person
// does, it presses again, and notes that. It must be a part that goes with what it does, so that no second click undoes
// it.
func (p *stage) clickFor(part, what string, shows func(ui.Snapshot) bool) ui.Snapshot {
	for range 3 {
		p.click(part)
		if _, ok := p.seen(what, soon/3, func(s ui.Snapshot) bool {
			_, there := s.Parts[part]
			return !there || shows(s)
		}); ok {
			return p.wait(what, soon, shows)
		}
		p.notes = append(p.notes, "nothing came of a click on "+part+"; the keyboard belongs to "+p.keyboard())
	}
	p.fail("waiting for %s: nothing comes of clicks on %s", what, part)
	return ui.Snapshot{}
}

func (p *stage) place(part string) (x, y int) {
	f, ok := p.see().Parts[part]
	if !ok {
		p.fail("there is no %s to click", part)
	}
	return f[0] + f[2]/2, f[1] + f[3]/2
}

// clickAt presses, waits until the program has seen that, and lets go: GNUstep's text views lose a release that is
// there before they look for it, and then take no keys until the next click.
func (p *stage) clickAt(x, y int) {
	p.xdo("mousemove", strconv.Itoa(x), strconv.Itoa(y), "sleep", "0.05", "mousedown", "1")
	p.settle()
	p.xdo("mouseup", "1", "sleep", "0.05")
}

func (p *stage) keys(keys ...string) {
	for _, k := range keys {
		p.xdo("key", "--delay", "40", k, "sleep", "0.05")
	}
}

func (p *stage) write(text string) { p.xdo("type", "--delay", "25", text) }

func (p *stage) xdo(arguments ...string) {
	_, err := p.x.do("xdotool", arguments...)
	p.must(err)
}

// ended waits for the program to leave by itself, with status 0.
func (p *stage) ended() {
	select {
	case <-p.exited:
	case <-time.After(soon):
		p.fail("the program did not end in %v", soon)
	}
	state := p.program.ProcessState
	p.program = nil
	if text := p.faultText(); state.ExitCode() != 0 || text != "" {
		p.fail("the program ended with %v: %s", state, text)
	}
}

// gone tells whether the program has ended without being asked to.
func (p *stage) gone() bool {
	if p.program == nil {
		return false
	}
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

func (p *stage) faultText() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.faults, "\n")
}

// dump has a program that failed write into its log, sotto.log in its home, what each goroutine does. It ends by that.
func (p *stage) dump() {
	if p.program == nil {
		return
	}
	if pid := p.pid(); pid != 0 && syscall.Kill(pid, syscall.SIGQUIT) == nil {
		select {
		case <-p.exited:
			p.program = nil
			p.notes = append(p.notes, "what it did is in "+filepath.Join(p.home, "sotto.log"))
		case <-time.After(soon):
		}
	}
}

// end makes sure that nothing of the scene goes on.
func (p *stage) end() error {
	if p.program == nil {
		return nil
	}
	err := p.attempt(func(p *stage) {
		_ = syscall.Kill(-p.program.Process.Pid, syscall.SIGTERM) // what it does with it is seen next
		p.ended()
	})
	if p.program != nil {
		err = errors.Join(err, syscall.Kill(-p.program.Process.Pid, syscall.SIGKILL))
		<-p.exited
		p.program = nil
	}
	return err
}
