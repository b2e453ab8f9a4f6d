package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

var at = time.Date(2026, 3, 12, 12, 0, 0, 0, time.UTC)

// talk is a conversation with n messages.
func talk(id uint64, n int) Conversation {
	c := Conversation{ID: id, First: fmt.Sprintf("talk %d", id), Leaf: n, Created: at, Used: at.Add(time.Hour)}
	for i := range n {
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		c.Nodes = append(c.Nodes, Node{
			ID: i + 1, Parent: i, Role: role, Content: fmt.Sprintf("message %d", i+1), IDs: []int32{1, 2}, Created: at,
			Figures: &Figures{Prompt: 3, Completion: 4, Decode: time.Second},
		})
	}
	return c
}

func fresh(t *testing.T) *Store {
	t.Helper()
	return New(filepath.Join(t.TempDir(), "sotto.db"), testWait)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// list prints what Conversations finds.
func list(t *testing.T, s *Store) string {
	t.Helper()
	l, err := s.Conversations()
	must(t, err)
	var out []string
	for _, c := range l.Heads {
		out = append(out, fmt.Sprintf("%d:%s", c.ID, c.First))
	}
	return fmt.Sprintf("%v damaged %v last %d", out, l.Damaged, l.LastID)
}

func TestConversations(t *testing.T) {
	s := fresh(t)
	if got := list(t, s); got != "[] damaged [] last 0" {
		t.Errorf("empty: %s", got)
	}
	if _, _, err := s.Conversation(1); !errors.Is(err, ErrMissing) {
		t.Errorf("no file: %v", err)
	}
	want := talk(1, 4)
	must(t, s.SaveConversation(want))
	must(t, s.SaveConversation(talk(300, 0)))
	got, damaged, err := s.Conversation(1)
	want.Last = 4
	if err != nil || damaged != 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %d, %v\nwant %+v", got, damaged, err, want)
	}
	// Some nodes only, and another head.
	must(t, s.SaveConversation(Conversation{ID: 1, Title: "new", Nodes: []Node{
		{ID: 2, Parent: 1, Role: "assistant", Content: "rewritten", Reason: "partial"},
		{ID: 5, Parent: 1, Role: "assistant", Content: "another version"},
	}}))
	got, _, err = s.Conversation(1)
	must(t, err)
	if got.Title != "new" || len(got.Nodes) != 5 || got.Nodes[1].Content != "rewritten" ||
		got.Nodes[2].Content != "message 3" ||
		got.Nodes[4].Parent != 1 {
		t.Errorf("after a second save: %+v", got)
	}
	if got := list(t, s); got != "[1: 300:talk 300] damaged [] last 300" {
		t.Errorf("listed %s", got)
	}
	if _, _, err := s.Conversation(2); !errors.Is(err, ErrMissing) {
		t.Errorf("a conversation that does not exist: %v", err)
	}
}

func TestTrash(t *testing.T) {
	s := fresh(t)
	must(t, s.EmptyTrash())
	for id := range uint64(5) {
		must(t, s.SaveConversation(talk(id+1, 2)))
	}
	must(t, s.Trash(1))
	must(t, s.Trash(2))
	must(t, s.Trash(5))
	must(t, s.Restore(2))
	if got := list(t, s); got != "[2:talk 2 3:talk 3 4:talk 4] damaged [] last 5" {
		t.Errorf("in the trash: %s", got)
	}
	must(t, s.Purge(1))
	must(t, s.Purge(3)) // never in the trash
	must(t, s.Purge(99))
	if _, _, err := s.Conversation(1); !errors.Is(err, ErrMissing) {
		t.Errorf("purged: %v", err)
	}
	must(t, s.EmptyTrash())
	must(t, s.EmptyTrash())
	if got := list(t, s); got != "[2:talk 2 4:talk 4] damaged [] last 4" {
		t.Errorf("at the end: %s", got)
	}
}

func TestSettings(t *testing.T) {
	s := fresh(t)
	if got, err := s.Settings(); err != nil || !reflect.DeepEqual(got, Settings{}) {
		t.Errorf("no settings: %+v, %v", got, err)
	}
	v := float32(0.7)
	want := Settings{
		Model: "m", System: "s", Temperature: &v, MaxTokens: 5, API: true, Port: 7, Folders: []string{"/a", "/b"},
	}
	must(t, s.SaveSettings(want))
	must(t, s.SaveDesk(Desk{Selected: 3, Draft: "d"}))
	if got, err := s.Settings(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := s.Desk(); err != nil || got != (Desk{3, "d"}) {
		t.Errorf("got %+v, %v", got, err)
	}
	rewrite(t, s.path, func(tx *bbolt.Tx) error { return tx.Bucket(settingsBucket).Put(deskKey, []byte("{")) })
	if _, err := s.Desk(); !errors.Is(err, ErrDamaged) {
		t.Errorf("a damaged record: %v", err)
	}
	must(t, s.SaveDesk(Desk{Draft: "new"}))
	must(t, s.SaveDesk(Desk{Draft: "newer"}))
	if got, err := s.Desk(); err != nil || got != (Desk{Draft: "newer"}) {
		t.Errorf("in place of a damaged record: %+v, %v", got, err)
	}
	rewrite(t, s.path, func(tx *bbolt.Tx) error {
		if kept := tx.Bucket(settingsBucket).Get([]byte("desk.damaged")); string(kept) != "{" {
			t.Errorf("the damaged record was not set aside: %q", kept)
		}
		return nil
	})
}

// oldDatabase makes a database as schema 1 had it.
func oldDatabase(t *testing.T, path string) {
	t.Helper()
	rewrite(t, path, func(tx *bbolt.Tx) error {
		meta, err := tx.CreateBucket(metaBucket)
		if err != nil {
			return err
		}
		b, err := tx.CreateBucket(manifestBucket)
		if err != nil {
			return err
		}
		return errors.Join(b.Put([]byte("pack"), []byte("manifest")), meta.Put(schemaKey,
			binary.BigEndian.AppendUint32(nil, 1)))
	})
}

func TestMigration(t *testing.T) {
	s := fresh(t)
	oldDatabase(t, s.path)
	before, err := os.ReadFile(s.path)
	must(t, err)
	if got := list(t, s); got != "[] damaged [] last 0" {
		t.Errorf("an old database has conversations: %s", got)
	}
	if v, err := s.Manifests().Load("pack"); string(v) != "manifest" || err != nil {
		t.Errorf("read from schema 1: %q, %v", v, err)
	}
	if after, err := os.ReadFile(s.path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("reading changed an old database (%v)", err)
	}
	must(t, s.SaveConversation(talk(1, 2)))
	if v, err := s.Manifests().Load("pack"); string(v) != "manifest" || err != nil {
		t.Errorf("after the migration: %q, %v", v, err)
	}
	if got := list(t, s); got != "[1:talk 1] damaged [] last 1" {
		t.Errorf("after the migration: %s", got)
	}
	rewrite(t, s.path, func(tx *bbolt.Tx) error {
		if v, err := schemaOf(tx); v != Schema || err != nil {
			t.Errorf("schema %d, %v", v, err)
		}
		return nil
	})
	copied := New(s.path+".schema1", testWait)
	if v, err := copied.Manifests().Load("pack"); string(v) != "manifest" || err != nil {
		t.Errorf("copy: %q, %v", v, err)
	}
	rewrite(t, copied.path, func(tx *bbolt.Tx) error {
		if v, err := schemaOf(tx); v != 1 || err != nil || tx.Bucket(conversationBucket) != nil {
			t.Errorf("copy has schema %d, %v", v, err)
		}
		return nil
	})
	left, err := filepath.Glob(filepath.Join(filepath.Dir(s.path), ".backup*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestMigrationWithoutBackup holds that a database that cannot be copied is not changed.
func TestMigrationWithoutBackup(t *testing.T) {
	s := fresh(t)
	oldDatabase(t, s.path)
	must(t, os.Mkdir(s.path+".schema1", 0o700)) // in the way
	must(t, os.WriteFile(filepath.Join(s.path+".schema1", "file"), nil, 0o600))
	before, err := os.ReadFile(s.path)
	must(t, err)
	if err := s.SaveConversation(talk(1, 1)); err == nil || !strings.Contains(err.Error(), "backup") {
		t.Errorf("got %v", err)
	}
	if after, err := os.ReadFile(s.path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the database changed (%v)", err)
	}
}

func TestDamagedRecords(t *testing.T) {
	put := func(id uint64, key []byte, value string) func(*bbolt.Tx) error {
		return func(tx *bbolt.Tx) error {
			return tx.Bucket(conversationBucket).Bucket(idKey(id)).Put(key, []byte(value))
		}
	}
	cases := []struct {
		name  string
		harm  func(*bbolt.Tx) error
		list  string
		nodes string // of conversation 2, or an error
	}{
		{
			"head is no record", put(2, headKey, "{"),
			"[1:talk 1 3:talk 3] damaged [2] last 3", "it is damaged",
		},
		{
			"head of another", put(2, headKey, `{"id":3}`),
			"[1:talk 1 3:talk 3] damaged [2] last 3", "it is damaged",
		},
		{
			"no head",
			func(tx *bbolt.Tx) error { return tx.Bucket(conversationBucket).Bucket(idKey(2)).Delete(headKey) },
			"[1:talk 1 3:talk 3] damaged [2] last 3", "it is damaged",
		},
		{
			"a message", put(2, nodeKey(3), "?"),
			"[1:talk 1 2:talk 2 3:talk 3] damaged [] last 3", "[1 2] damaged 3 last 5",
		},
		{
			"the last message", put(2, nodeKey(5), "?"),
			"[1:talk 1 2:talk 2 3:talk 3] damaged [] last 3", "[1 2 3 4] damaged 1 last 5",
		},
		{
			"its own parent", put(2, nodeKey(4), `{"id":4,"parent":4,"role":"user"}`),
			"[1:talk 1 2:talk 2 3:talk 3] damaged [] last 3", "[1 2 3] damaged 2 last 5",
		},
		{
			"an unknown role", put(2, nodeKey(5), `{"id":5,"parent":4,"role":"robot"}`),
			"[1:talk 1 2:talk 2 3:talk 3] damaged [] last 3", "[1 2 3 4] damaged 1 last 5",
		},
		{
			"an unknown key", put(2, []byte("node?"), "x"),
			"[1:talk 1 2:talk 2 3:talk 3] damaged [] last 3", "[1 2 3 4 5] damaged 1 last 5",
		},
		{
			"a strange bucket", func(tx *bbolt.Tx) error {
				_, err := tx.Bucket(conversationBucket).CreateBucket([]byte("odd"))
				return err
			},
			"[1:talk 1 2:talk 2 3:talk 3] damaged [] last 3", "[1 2 3 4 5] damaged 0 last 5",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := fresh(t)
			for id := range uint64(3) {
				must(t, s.SaveConversation(talk(id+1, 5)))
			}
			rewrite(t, s.path, c.harm)
			if got := list(t, s); got != c.list {
				t.Errorf("listed %s, want %s", got, c.list)
			}
			// The second time what was set aside is not told again.
			if got, want := list(t, s), strings.Replace(c.list, "damaged [2]", "damaged []", 1); got != want {
				t.Errorf("listed again %s, want %s", got, want)
			}
			var got string
			if conversation, damaged, err := s.Conversation(2); err != nil {
				got = err.Error()
			} else {
				ids := []int{}
				for _, n := range conversation.Nodes {
					ids = append(ids, n.ID)
				}
				got = fmt.Sprintf("%v damaged %d last %d", ids, damaged, conversation.Last)
			}
			if !strings.Contains(got, c.nodes) {
				t.Errorf("conversation: %s, want %s", got, c.nodes)
			}
			if other, damaged, err := s.Conversation(3); err != nil || damaged != 0 || len(other.Nodes) != 5 {
				t.Errorf("another conversation: %d messages, %d damaged, %v", len(other.Nodes), damaged, err)
			}
		})
	}
}

// TestDamagedPage holds that a page that was overwritten costs one conversation and not the others.
func TestDamagedPage(t *testing.T) {
	s := fresh(t)
	for id := range uint64(3) {
		c := talk(id+1, 2)
		c.Nodes[0].Content = strings.Repeat(fmt.Sprintf("talk %d ", id+1), 3000) // pages of its own
		must(t, s.SaveConversation(c))
	}
	var page int64
	rewrite(t, s.path, func(tx *bbolt.Tx) error {
		page = int64(tx.Bucket(conversationBucket).Bucket(idKey(2)).Root())
		return nil
	})
	f, err := os.OpenFile(s.path, os.O_RDWR, 0)
	must(t, err)
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xa5}, os.Getpagesize()), page*int64(os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	must(t, f.Close())
	if got := list(t, s); got != "[1:talk 1 3:talk 3] damaged [2] last 3" {
		t.Errorf("listed %s", got)
	}
	if _, _, err := s.Conversation(2); !errors.Is(err, ErrDamaged) {
		t.Errorf("the damaged one: %v", err)
	}
	for _, id := range []uint64{1, 3} {
		if c, damaged, err := s.Conversation(id); err != nil || damaged != 0 || len(c.Nodes) != 2 {
			t.Errorf("conversation %d: %d messages, %d damaged, %v", id, len(c.Nodes), damaged, err)
		}
	}
	must(t, s.SaveConversation(talk(4, 1)))
	if got := list(t, s); got != "[1:talk 1 3:talk 3 4:talk 4] damaged [] last 4" {
		t.Errorf("after a write: %s", got)
	}
}

func TestTake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "role")
	l, err := Take(path)
	must(t, err)
	_, err = Take(path)
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("taken twice: %v", err)
	}
	must(t, l.Release())
	l, err = Take(path)
	must(t, err)
	must(t, l.Release())
	if _, err := Take(filepath.Join(path, "below a file")); err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("below a file: %v", err)
	}
	if _, err := Take(filepath.Dir(path)); err == nil {
		t.Error("took a folder")
	}
}
