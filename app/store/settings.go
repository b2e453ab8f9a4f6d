package store

import (
	"encoding/json"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"
)

// Settings are what the user chose; zero values stand for what Sotto does by itself.
type Settings struct {
	Model       string   `json:"model,omitempty"`
	System      string   `json:"system,omitempty"`
	Temperature *float32 `json:"temperature,omitempty"`
	MaxTokens   int      `json:"max_tokens,omitempty"`
	API         bool     `json:"api,omitempty"`
	Port        int      `json:"port,omitempty"`
	Folders     []string `json:"folders,omitempty"` // of models that were opened, the newest first
}

// Desk is where the user left off.
type Desk struct {
	Selected uint64 `json:"selected,omitempty"`
	Draft    string `json:"draft,omitempty"` // of a conversation in which nothing was said yet
}

var (
	settingsBucket = []byte("settings")
	settingsKey    = []byte("settings")
	deskKey        = []byte("desk")
	damagedSuffix  = []byte(".damaged") // of the key of a value that was set aside
)

// Settings reads the settings; the zero value if there are none.
func (s *Store) Settings() (Settings, error) {
	var v Settings
	return v, s.read(settingsKey, &v)
}

// SaveSettings writes the settings. Damaged ones that they take the place of are set aside.
func (s *Store) SaveSettings(v Settings) error { return write(s, settingsKey, v) }

// Desk reads where the user left off; the zero value if nothing is known.
func (s *Store) Desk() (Desk, error) {
	var v Desk
	return v, s.read(deskKey, &v)
}

// SaveDesk writes where the user is.
func (s *Store) SaveDesk(v Desk) error { return write(s, deskKey, v) }

func (s *Store) read(key []byte, to any) error {
	return s.view(settingsBucket, func(b *bbolt.Bucket) error {
		data := b.Get(key)
		if data == nil {
			return nil
		}
		if err := json.Unmarshal(data, to); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrDamaged, key, err)
		}
		return nil
	})
}

func write[T any](s *Store, key []byte, value T) error {
	return s.update(settingsBucket, func(b *bbolt.Bucket) error {
		if old := b.Get(key); old != nil && json.Unmarshal(old, new(T)) != nil {
			if err := b.Put(slices.Concat(key, damagedSuffix), slices.Clone(old)); err != nil {
				return err
			}
		}
		return encode(b, key, value)
	})
}
