package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// Conversation is a tree of messages. In its bucket the head and every message have a record of their own, so that a
// growing answer does not write the others again.
type Conversation struct {
	ID      uint64    `json:"id"`
	Title   string    `json:"title,omitempty"`
	First   string    `json:"first,omitempty"`
	Leaf    int       `json:"leaf,omitempty"`
	Draft   string    `json:"draft,omitempty"`
	Created time.Time `json:"created"`
	Used    time.Time `json:"used"`
	Nodes   []Node    `json:"-"` // by ID, ascending
	Last    int       `json:"-"` // greatest ID of a node that Conversation found, also of a damaged one
}

// Node is a message of a conversation.
type Node struct {
	ID        int           `json:"id"`
	Parent    int           `json:"parent,omitempty"`
	Role      string        `json:"role"` // "user" or "assistant"
	Content   string        `json:"content"`
	Reasoning string        `json:"reasoning,omitempty"`
	IDs       []int32       `json:"ids,omitempty"`
	Raw       string        `json:"raw,omitempty"`
	Figures   *Figures      `json:"figures,omitempty"`
	Thought   time.Duration `json:"thought_ns,omitempty"`
	Reason    string        `json:"reason,omitempty"` // why an answer ended; "partial" while it streams
	Error     string        `json:"error,omitempty"`
	Model     string        `json:"model,omitempty"`
	Created   time.Time     `json:"created"`
}

// Figures are what an answer cost: tokens and times.
type Figures struct {
	Prompt     int           `json:"prompt"`
	Cached     int           `json:"cached,omitempty"`
	Completion int           `json:"completion"`
	FirstToken time.Duration `json:"first_token_ns,omitempty"`
	Prefill    time.Duration `json:"prefill_ns,omitempty"`
	Decode     time.Duration `json:"decode_ns,omitempty"`
}

// Listing is what Conversations returns.
type Listing struct {
	Heads   []Conversation // without nodes, by ID
	Damaged []uint64       // conversations that were set aside just now: they cannot be read and are left as they are
	LastID  uint64         // greatest ID that is taken, also by what is deleted or set aside
}

var (
	conversationBucket = []byte("conversations") // a bucket each
	trashBucket        = []byte("trash")         // IDs that are hidden
	asideBucket        = []byte("aside")         // IDs of damaged conversations, with the reason
	headKey            = []byte("head")
	nodePrefix         = []byte("node")
)

func idKey(id uint64) []byte { return binary.BigEndian.AppendUint64(nil, id) }

func nodeKey(id int) []byte {
	return binary.BigEndian.AppendUint64(append([]byte(nil), nodePrefix...), uint64(id))
}

// errKey is for keys that no version of this package writes.
var errKey = fmt.Errorf("%w: unknown key", ErrDamaged)

// Conversations lists the heads. A conversation that cannot be read is set aside and does not keep the others from it.
func (s *Store) Conversations() (Listing, error) {
	var list Listing
	reasons := map[uint64]string{}
	err := s.view(conversationBucket, func(b *bbolt.Bucket) error {
		return b.ForEachBucket(func(k []byte) error {
			if len(k) != 8 {
				return nil // nothing of ours
			}
			id := binary.BigEndian.Uint64(k)
			list.LastID = max(list.LastID, id)
			if has(b.Tx(), trashBucket, k) || has(b.Tx(), asideBucket, k) {
				return nil
			}
			if head, err := readHead(b, id); err == nil {
				list.Heads = append(list.Heads, head)
			} else {
				list.Damaged = append(list.Damaged, id)
				reasons[id] = err.Error()
			}
			return nil
		})
	})
	if err != nil || len(reasons) == 0 {
		return list, err
	}
	return list, s.update(asideBucket, func(b *bbolt.Bucket) error {
		for id, reason := range reasons {
			if err := b.Put(idKey(id), []byte(reason)); err != nil {
				return err
			}
		}
		return nil
	})
}

func has(tx *bbolt.Tx, bucket, key []byte) bool {
	b := tx.Bucket(bucket)
	return b != nil && b.Get(key) != nil
}

// readHead reads the head of a conversation.
func readHead(all *bbolt.Bucket, id uint64) (head Conversation, err error) {
	defer guard(&err)
	b := all.Bucket(idKey(id))
	if b == nil {
		return head, ErrMissing
	}
	return head, decode(b.Get(headKey), &head, func() bool { return head.ID == id })
}

// guard turns the panics of damaged pages into an error, so that what lies elsewhere can still be read.
func guard(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("%w: %v", ErrDamaged, cause)
	}
}

// decode reads a record.
func decode(data []byte, to any, valid func() bool) error {
	if data == nil {
		return fmt.Errorf("%w: a record is missing", ErrDamaged)
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if !valid() {
		return fmt.Errorf("%w: a record has the key of another one", ErrDamaged)
	}
	return nil
}

// Conversation reads a conversation. damaged is the number of its messages that cannot be read, or that hang below
// such a one; they are left out, and left as they are in the file.
func (s *Store) Conversation(id uint64) (c Conversation, damaged int, err error) {
	found := false
	err = s.view(conversationBucket, func(b *bbolt.Bucket) error {
		head, err := readHead(b, id)
		if errors.Is(err, ErrMissing) {
			return nil
		}
		if err != nil {
			return err
		}
		found, c = true, head
		damaged, err = c.readNodes(b.Bucket(idKey(id)))
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("conversation %d: %w", id, ErrMissing)
	}
	return c, damaged, err
}

// readNodes reads the messages of a conversation.
func (c *Conversation) readNodes(b *bbolt.Bucket) (damaged int, err error) {
	defer guard(&err)
	kept := map[int]bool{0: true}
	cursor := b.Cursor()
	for k, v := cursor.Seek(nodePrefix); k != nil; k, v = cursor.Next() {
		n, err := readNode(k, v)
		c.Last = max(c.Last, n.ID)
		if err != nil || !kept[n.Parent] {
			damaged++
			continue
		}
		kept[n.ID] = true
		c.Nodes = append(c.Nodes, n)
	}
	return damaged, nil
}

func readNode(k, v []byte) (n Node, err error) {
	defer guard(&err)
	if len(k) != len(nodePrefix)+8 {
		return n, errKey
	}
	id := int(binary.BigEndian.Uint64(k[len(nodePrefix):]))
	err = decode(v, &n, func() bool {
		return n.ID == id && n.Parent >= 0 && n.Parent < n.ID && (n.Role == "user" || n.Role == "assistant")
	})
	n.ID = id // of a damaged one too
	return n, err
}

// SaveConversation writes the head and the nodes that c has; other nodes stay as they are.
func (s *Store) SaveConversation(c Conversation) error {
	return s.update(conversationBucket, func(all *bbolt.Bucket) error {
		b, err := all.CreateBucketIfNotExists(idKey(c.ID))
		if err != nil {
			return err
		}
		if err := encode(b, headKey, c); err != nil {
			return err
		}
		for _, n := range c.Nodes {
			if err := encode(b, nodeKey(n.ID), n); err != nil {
				return err
			}
		}
		return nil
	})
}

func encode(b *bbolt.Bucket, key []byte, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return b.Put(key, data)
}

// Trash hides a conversation from the list.
func (s *Store) Trash(id uint64) error {
	return s.update(trashBucket, func(b *bbolt.Bucket) error { return b.Put(idKey(id), []byte{1}) })
}

// Restore brings back a conversation that Trash hid.
func (s *Store) Restore(id uint64) error {
	return s.update(trashBucket, func(b *bbolt.Bucket) error { return b.Delete(idKey(id)) })
}

// Purge deletes a conversation for good. It is no error if there is none.
func (s *Store) Purge(id uint64) error {
	return s.update(trashBucket, func(b *bbolt.Bucket) error { return purge(b, idKey(id)) })
}

// EmptyTrash deletes everything that Trash hid.
func (s *Store) EmptyTrash() error {
	n := 0
	err := s.view(trashBucket, func(b *bbolt.Bucket) error {
		n = b.Stats().KeyN
		return nil
	})
	if err != nil || n == 0 {
		return err
	}
	return s.update(trashBucket, func(b *bbolt.Bucket) error {
		for k, _ := b.Cursor().First(); k != nil; k, _ = b.Cursor().First() {
			if err := purge(b, append([]byte(nil), k...)); err != nil {
				return err
			}
		}
		return nil
	})
}

// purge deletes a conversation and its mark in the trash.
func purge(trash *bbolt.Bucket, key []byte) error {
	if all := trash.Tx().Bucket(conversationBucket); all != nil && all.Bucket(key) != nil {
		if err := all.DeleteBucket(key); err != nil {
			return err
		}
	}
	return trash.Delete(key)
}
