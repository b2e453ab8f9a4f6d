package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// traces are the files that programs over GNUstep would write into the home folder of the account that runs the test,
// or leave in the folder for temporary files, with the time of their last change. What goes by $HOME is another matter:
// see options.user.
func traces() map[string]time.Time {
	out := map[string]time.Time{}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/" // nobody's home: then nothing may be written there
	}
	for _, pattern := range []string{
		filepath.Join(home, "GNUstep", "*", "*"), filepath.Join(home, "GNUstep*"), filepath.Join(home, ".GNUstep*"),
		filepath.Join(os.TempDir(), "sotto.*"), filepath.Join(os.TempDir(), "GNUstepSecure*"),
	} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			continue // the patterns are well formed unless the home's name is odd
		}
		for _, f := range files {
			if info, err := os.Stat(f); err == nil {
				out[f] = info.ModTime()
			}
		}
	}
	return out
}

// checkTraces tells what the test has left behind. Other programs may come and go meanwhile, so what is new is an error
// only where it stays new for a while.
func checkTraces(before map[string]time.Time, o options) error {
	var left []string
	for end := time.Now().Add(soon); ; time.Sleep(time.Second) {
		left = left[:0]
		for f, t := range traces() {
			if was, ok := before[f]; !ok || !was.Equal(t) {
				left = append(left, f)
			}
		}
		for _, pattern := range []string{
			filepath.Join(o.home, "servers"), filepath.Join(o.home, "*", "servers"), // of the pasteboard and the like
			filepath.Join(o.user, "*"), filepath.Join(o.user, ".[!.]*"),
		} {
			files, err := filepath.Glob(pattern)
			if err != nil {
				return fmt.Errorf("folder: %w", err)
			}
			left = append(left, files...)
		}
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(end) {
			slices.Sort(left)
			return errors.New("left behind:\n  " + strings.Join(left, "\n  "))
		}
	}
}
