package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// What the process uses, by Linux's proc(5). Elsewhere there are no such files: the error is fs.ErrNotExist.

// resident is the memory of this process: what is its own, and what are pages of files.
func resident() (private, files int64, err error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(status)) {
		var n int64
		if _, err := fmt.Sscanf(line, "RssAnon: %d kB", &n); err == nil {
			private = n << 10
		}
		if _, err := fmt.Sscanf(line, "RssFile: %d kB", &n); err == nil {
			files = n << 10
		}
	}
	return private, files, nil
}

// watchPrivate notes the most memory of its own that the process has, until it is ended.
func watchPrivate(most *int64) (end func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			if n, _, err := resident(); err == nil {
				*most = max(*most, n)
			}
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	return func() { close(stop); <-ended }
}

// forgetUse marks all pages as not used.
func forgetUse() error { return os.WriteFile("/proc/self/clear_refs", []byte("1\n"), 0) }

// packUse is what has been used of mapped packs since, in bytes.
func packUse() (total int64, err error) {
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return 0, err
	}
	pack := false
	for line := range strings.Lines(string(maps)) {
		var n int64
		if _, err := fmt.Sscanf(line, "Referenced: %d kB", &n); err == nil && pack {
			total += n << 10
		}
		if name, _, _ := strings.Cut(line, " "); !strings.HasSuffix(name, ":") { // the head of a mapping
			pack = strings.HasSuffix(strings.TrimSpace(line), ".pack")
		}
	}
	return total, nil
}

// processorTime is what this process has used so far, on all processors.
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
