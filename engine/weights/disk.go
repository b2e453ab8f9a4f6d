package weights

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// SpaceError reports a volume that is too full for a pack.
type SpaceError struct {
	Dir        string
	Need, Free int64 // bytes
}

func (e *SpaceError) Error() string {
	return fmt.Sprintf("the pack needs %s, %s are free in %s", size(e.Need), size(e.Free), e.Dir)
}

// size prints bytes in the decimal unit that suits them, with three digits.
func size(n int64) string {
	v := float64(n)
	for _, unit := range []string{"B", "kB", "MB"} {
		if v < 999.5 {
			return fmt.Sprintf("%.3g %s", v, unit)
		}
		v /= 1000
	}
	return fmt.Sprintf("%.2f GB", v)
}

// checkSpace compares the free space of a folder's volume with need bytes.
func checkSpace(dir string, need int64) error {
	free, err := Free(dir)
	if err == nil && free < need {
		return &SpaceError{Dir: dir, Need: need, Free: free}
	}
	return err
}

// Free is the number of bytes that this user may still write to the volume of a folder.
func Free(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	free, ok := product(int64(st.Bavail), widen(st.Bsize))
	if !ok { // a file system without an end
		return math.MaxInt64, nil
	}
	return free, nil
}

// widen takes the block size, whose type differs between systems.
func widen[T int64 | uint32](n T) int64 { return int64(n) }

// lockPoll is how often a waiting process looks whether the lock is free.
const lockPoll = 20 * time.Millisecond

// lockDir takes the lock of a folder of packs, waiting while another process or goroutine has it, and returns
// its release. The system releases the lock of a process that dies. The folder is made if it is not there: who had
// the lock before may have removed it.
func lockDir(ctx context.Context, dir string) (release func(), err error) {
	path := filepath.Join(dir, ".lock")
	for {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil && current(f, path) {
			// Removed before it is released: who opened it meanwhile finds that it is no longer current.
			return func() { _ = os.Remove(path); _ = f.Close() }, nil
		}
		_ = f.Close()
		if err != nil && !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, &os.PathError{Op: "lock", Path: path, Err: err}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for %s: %w", path, context.Cause(ctx))
		case <-time.After(lockPoll):
		}
	}
}

// current tells whether path still names the open file.
func current(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// syncBytes is how much may wait to reach the disk, twice over, while a pack is written.
const syncBytes = 64 << 20

// syncer writes to a file and keeps the disk busy behind it. The system by itself would let gigabytes wait in memory,
// for which a build that is complete, or broken off, would have to wait in turn.
type syncer struct {
	file  *os.File
	step  int        // bytes
	since int        // bytes written since the last sync began
	busy  chan error // of a sync under way; nil: none is
}

func (s *syncer) Write(p []byte) (int, error) {
	n, err := s.file.Write(p)
	if s.since += n; err != nil || s.since < s.step {
		return n, err
	}
	if err := s.wait(); err != nil {
		return n, err
	}
	s.since, s.busy = 0, make(chan error, 1)
	go func(done chan<- error) { done <- s.file.Sync() }(s.busy)
	return n, nil
}

// wait ends the sync that is under way.
func (s *syncer) wait() error {
	if s.busy == nil {
		return nil
	}
	err := <-s.busy
	s.busy = nil
	return err
}
