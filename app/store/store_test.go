package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

const testWait = 20 * time.Second

func TestManifestsRoundTrip(t *testing.T) {
	m := New(filepath.Join(t.TempDir(), "new", "folder", "sotto.db"), testWait).Manifests()
	load := func(key, want string) {
		t.Helper()
		got, err := m.Load(key)
		if err != nil || string(got) != want || (got == nil) != (want == "") {
			t.Errorf("Load(%q) = %q, %v, want %q", key, got, err, want)
		}
	}
	save := func(key string, value []byte) {
		t.Helper()
		if err := m.Save(key, value); err != nil {
			t.Fatal(err)
		}
	}
	load("a", "")
	save("a", []byte("one"))
	save("b", bytes.Repeat([]byte("x"), 1<<20))
	load("a", "one")
	load("b", string(bytes.Repeat([]byte("x"), 1<<20)))
	save("a", []byte("two"))
	load("a", "two")
	save("a", nil)
	save("never there", nil)
	load("a", "")
}

func TestLoadCreatesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sotto.db")
	if got, err := New(path, testWait).Manifests().Load("a"); got != nil || err != nil {
		t.Errorf("Load = %q, %v, want nothing", got, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Load made the file: %v", err)
	}
}

func TestEmptyFileIsFilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sotto.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m := New(path, testWait).Manifests()
	if got, err := m.Load("a"); got != nil || err != nil {
		t.Errorf("Load = %q, %v, want nothing", got, err)
	}
	if err := m.Save("a", []byte("one")); err != nil {
		t.Error(err)
	}
}

// rewrite changes a database behind the package's back.
func rewrite(t *testing.T, path string, fn func(*bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(fn), db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestRefusals(t *testing.T) {
	schema := func(version uint32) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			rewrite(t, path, func(tx *bbolt.Tx) error {
				return tx.Bucket(metaBucket).Put(schemaKey, binary.BigEndian.AppendUint32(nil, version))
			})
		}
	}
	truncate := func(size int64) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.Truncate(path, size); err != nil {
				t.Fatal(err)
			}
		}
	}
	cases := []struct {
		name string
		harm func(t *testing.T, path string)
		want error
	}{
		{"newer schema", schema(Schema + 1), ErrNewer},
		{"no schema", func(t *testing.T, path string) {
			rewrite(t, path, func(tx *bbolt.Tx) error { return tx.DeleteBucket(metaBucket) })
		}, ErrDamaged},
		{"short schema", func(t *testing.T, path string) {
			rewrite(t, path, func(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Put(schemaKey, []byte{1}) })
		}, ErrDamaged},
		{"text", func(t *testing.T, path string) {
			if err := os.WriteFile(path, bytes.Repeat([]byte("not a database\n"), 4096), 0o600); err != nil {
				t.Fatal(err)
			}
		}, ErrDamaged},
		{"cut to the meta pages", truncate(2 * 4096), ErrDamaged},
		{"cut to a few bytes", truncate(100), ErrDamaged},
		{"overwritten pages", func(t *testing.T, path string) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := 2 * os.Getpagesize(); i < len(raw); i++ {
				raw[i] = 0xa5
			}
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
		}, ErrDamaged},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sotto.db")
			m := New(path, testWait).Manifests()
			if err := m.Save("a", bytes.Repeat([]byte("one"), 10_000)); err != nil {
				t.Fatal(err)
			}
			c.harm(t, path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Load("a"); !errors.Is(err, c.want) {
				t.Errorf("Load: %v, want %v", err, c.want)
			}
			if err := m.Save("a", []byte("two")); !errors.Is(err, c.want) {
				t.Errorf("Save: %v, want %v", err, c.want)
			}
			after, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("the refused file was changed (%v)", err)
			}
		})
	}
}

func TestUnwritablePlace(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, path string
		want       error
	}{
		{"folder is a file", filepath.Join(file, "sotto.db"), syscall.ENOTDIR},
		{"file is a folder", dir, syscall.EISDIR},
	}
	for _, c := range cases {
		err := New(c.path, testWait).Manifests().Save("a", []byte("one"))
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: Save: %v, want %v and the path", c.name, err, c.want)
		}
	}
}

func TestReadOnlyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sotto.db")
	m := New(path, testWait).Manifests()
	if err := m.Save("a", []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if got, err := m.Load("a"); string(got) != "one" || err != nil {
		t.Errorf("Load = %q, %v, want one", got, err)
	}
	if os.Geteuid() == 0 {
		t.Skip("the superuser writes everywhere")
	}
	if err := m.Save("a", []byte("two")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Save: %v, want %v", err, fs.ErrPermission)
	}
}

func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sotto.db")
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := New(path, 60*time.Millisecond).Manifests()
	if _, err := m.Load("a"); !errors.Is(err, ErrLocked) {
		t.Errorf("Load: %v, want %v", err, ErrLocked)
	}
	if err := m.Save("a", nil); !errors.Is(err, ErrLocked) {
		t.Errorf("Save: %v, want %v", err, ErrLocked)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Save("a", []byte("one")); err != nil {
		t.Errorf("Save after the other left: %v", err)
	}
}

// childPath tells a copy of this test binary to be the other process.
const childPath = "SOTTO_TEST_STORE"

// work saves and loads its own keys while others do the same.
func work(path, who string) error {
	m := New(path, testWait).Manifests()
	for i := range 20 {
		key, value := fmt.Sprintf("%s %d", who, i), fmt.Sprintf("value %d of %s", i, who)
		if err := m.Save(key, []byte(value)); err != nil {
			return err
		}
		if got, err := m.Load(key); err != nil || string(got) != value {
			return fmt.Errorf("Load(%q) = %q, %w, want %q", key, got, err, value)
		}
	}
	return nil
}

func TestProcessesShareTheFile(t *testing.T) {
	if path := os.Getenv(childPath); path != "" {
		if err := work(path, "child"); err != nil {
			t.Error(err)
		}
		return
	}
	path := filepath.Join(t.TempDir(), "sotto.db")
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProcessesShareTheFile$")
	child.Env = append(os.Environ(), childPath+"="+path)
	var output bytes.Buffer
	child.Stdout, child.Stderr = &output, &output
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for _, who := range []string{"first handle", "second handle"} {
		group.Go(func() {
			if err := work(path, who); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if err := child.Wait(); err != nil {
		t.Fatalf("other process: %v\n%s", err, &output)
	}
	m := New(path, testWait).Manifests()
	for _, who := range []string{"child", "first handle", "second handle"} {
		if got, err := m.Load(who + " 19"); err != nil || string(got) != "value 19 of "+who {
			t.Errorf("%s: %q, %v", who, got, err)
		}
	}
}
