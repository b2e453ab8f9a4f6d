// Package store keeps what outlives a process in one bbolt file: conversations, settings, manifests of weight packs.
//
// The file is opened for each operation and closed after it, so processes share it: reads go on side by side, a
// write waits for its turn, and nobody holds the file for longer than one transaction. Every kind of thing has
// its file here and its bucket in the database. The bucket "meta" says which schema the database has: a newer one
// is refused before anything is read or written, an older one is copied and migrated by the first write. A record that
// cannot be read is left as it is and does not keep the others from being read. The caller chooses the path.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"
)

// Errors of operations, to be tested with errors.Is.
var (
	ErrLocked  = errors.New("another Sotto holds it")
	ErrNewer   = errors.New("it was written by a newer Sotto")
	ErrDamaged = errors.New("it is damaged")
	ErrMissing = errors.New("it does not exist")
)

var (
	metaBucket = []byte("meta")
	schemaKey  = []byte("schema")
)

// Store is a database file. It holds nothing open and may be used by any number of goroutines and processes.
type Store struct {
	path string
	wait time.Duration
}

// New names a database file; it need not exist yet and nothing is opened. wait is how long an operation waits
// for another process before it gives [ErrLocked]; 50 ms is the least that makes sense.
func New(path string, wait time.Duration) *Store { return &Store{path: path, wait: wait} }

// view runs fn on a bucket with a shared lock. While the file or the bucket does not exist, fn is not run: there
// is nothing to read.
func (s *Store) view(bucket []byte, fn func(*bbolt.Bucket) error) error {
	// An empty file is one that its creator has not yet got the lock of.
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	return s.open(true, func(db *bbolt.DB) error {
		return db.View(func(tx *bbolt.Tx) error {
			if _, err := schemaOf(tx); err != nil {
				return err
			}
			if b := tx.Bucket(bucket); b != nil {
				return fn(b)
			}
			return nil
		})
	})
}

// update runs fn on a bucket with the exclusive lock, creating folder, file and bucket. An error of fn undoes it.
func (s *Store) update(bucket []byte, fn func(*bbolt.Bucket) error) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return s.open(false, func(db *bbolt.DB) error {
		return db.Update(func(tx *bbolt.Tx) error {
			if err := s.migrate(tx); err != nil {
				return err
			}
			b, err := tx.CreateBucketIfNotExists(bucket)
			if err != nil {
				return err
			}
			return fn(b)
		})
	})
}

// open opens the file for one transaction. bbolt panics, and reads beyond the end of the mapping, when pages are
// damaged; both become [ErrDamaged], and the lock is given back.
func (s *Store) open(readOnly bool, fn func(*bbolt.DB) error) (err error) {
	var file *os.File
	options := &bbolt.Options{
		Timeout:  s.wait,
		ReadOnly: readOnly,
		OpenFile: func(name string, flag int, mode os.FileMode) (f *os.File, err error) {
			file, err = os.OpenFile(name, flag, mode)
			return file, err
		},
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if cause := recover(); cause != nil {
			// bbolt's mapping stays and would keep the lock beyond Close.
			_ = unix.Flock(int(file.Fd()), unix.LOCK_UN)
			_ = file.Close()
			if _, ok := cause.(runtime.Error); ok {
				cause = "its pages lead nowhere"
			}
			err = fmt.Errorf("store %s: %w: %v", s.path, ErrDamaged, cause)
		}
	}()
	db, err := bbolt.Open(s.path, 0o600, options)
	if err != nil {
		return fmt.Errorf("store %s: %w", s.path, classify(err))
	}
	if err := errors.Join(fn(db), db.Close()); err != nil {
		return fmt.Errorf("store %s: %w", s.path, err)
	}
	return nil
}

// classify turns bbolt's errors of opening into those of this package.
func classify(err error) error {
	var path *fs.PathError
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return ErrLocked
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum),
		errors.Is(err, bolterrors.ErrVersionMismatch), strings.HasPrefix(err.Error(), "file size too small"):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case errors.As(err, &path):
		return path.Err
	}
	return err
}
