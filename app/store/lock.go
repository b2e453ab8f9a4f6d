package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Lock says that one process has a role, such as being the app. It does not keep anybody from the database. The system
// ends it with the process.
type Lock struct{ file *os.File }

// Take takes a role by its file, creating folder and file. If another process has it, the error is an [ErrLocked] that
// names that process.
func Take(path string) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer f.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		owner := make([]byte, 20)
		n, _ := f.Read(owner)
		return nil, fmt.Errorf("lock %s: %w (process %s)", path, ErrLocked, strings.TrimSpace(string(owner[:n])))
	}
	l := &Lock{f}
	if err := l.sign(); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return l, nil
}

// sign writes who has the role.
func (l *Lock) sign() error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// Release gives the role back.
func (l *Lock) Release() error { return l.file.Close() }
