package weights

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestRemove(t *testing.T) {
	b := newBench(t)
	p, err := b.ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	before := bytes.Clone(p.Bytes())
	for _, name := range []string{"notes.txt", ".0123456789abcdef0123456789abcdef.pack.17.tmp"} {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	release, err := lockDir(t.Context(), b.dir)
	if err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 5*lockPoll)
	defer cancel()
	if err := Remove(soon, b.dir, b.kept); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while a pack is being built: %v", err)
	}
	if len(left(t, b.dir)) < 3 || len(b.kept.values) != 1 {
		t.Errorf("removed while a pack is being built: %v, %d manifests", left(t, b.dir), len(b.kept.values))
	}
	release()

	if err := Remove(t.Context(), b.dir, b.kept); err != nil {
		t.Fatal(err)
	}
	if names := left(t, b.dir); !slices.Equal(names, []string{"notes.txt"}) || len(b.kept.values) != 0 {
		t.Errorf("left: %v, %d manifests", names, len(b.kept.values))
	}
	if !bytes.Equal(p.Bytes(), before) {
		t.Error("who has the pack mapped sees a change")
	}
}

// TestFolderRemovedWhileWaiting holds that a build that waits for the lock finds its folder gone and makes it anew.
func TestFolderRemovedWhileWaiting(t *testing.T) {
	b := newBench(t)
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	release, err := lockDir(t.Context(), b.dir)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(3*lockPoll, func() {
		release()
		_ = os.Remove(b.dir)
	})
	b.want("after the folder went", Packing, Verifying)
}
