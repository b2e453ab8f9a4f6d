package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pid is the program's process, below the script that runs it; 0 when it has ended.
func (p *stage) pid() int {
	script := strconv.Itoa(p.program.Process.Pid)
	children, err := os.ReadFile("/proc/" + script + "/task/" + script + "/children")
	if err != nil {
		return 0
	}
	for child := range strings.FieldsSeq(string(children)) {
		if exe, err := os.Readlink("/proc/" + child + "/exe"); err == nil && exe == p.app {
			n, err := strconv.Atoi(child)
			p.must(err)
			return n
		}
	}
	return 0
}

// settle waits until everything is drawn: until neither the program nor the screen has had anything to do for a while.
// A program that waits for a processor is not quiet, however long it has to wait. An answer under way never is. Of a
// program whose garbage collector never rests, the thread that draws counts.
func (p *stage) settle() {
	const still, most = 10, 400
	pid, threads := p.pid(), "*"
	if p.stressed {
		threads = strconv.Itoa(pid)
	}
	for quiet, samples := 0, 0; quiet < still && samples < most; samples++ {
		quiet++
		if busy(pid, threads) || busy(p.x.server.Process.Pid, "*") {
			quiet = 0
		}
		time.Sleep(25 * time.Millisecond)
	}
}

// busy tells whether one of some threads of a process runs or would like to.
func busy(pid int, which string) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/%s/stat", pid, which))
	if err != nil {
		return false // the pattern is well formed
	}
	for _, t := range threads {
		stat, err := os.ReadFile(t)
		if err != nil {
			continue // the thread has ended
		}
		if _, state, ok := strings.Cut(string(stat), ") "); ok && (state[0] == 'R' || state[0] == 'D') {
			return true
		}
	}
	return false
}

// frozen does something while the program stands still: what is pressed meanwhile is the next that it sees.
func (p *stage) frozen(act func()) {
	pid := p.pid()
	if pid == 0 {
		p.fail("the program is gone: %s", p.faultText())
	}
	p.must(syscall.Kill(pid, syscall.SIGSTOP))
	defer func() { p.must(syscall.Kill(pid, syscall.SIGCONT)) }()
	act()
}
