package store

import (
	"encoding/json"
	"fmt"

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
)

// Settings reads the settings; the zero value if there are none.
func (s *Store) Settings() (Settings, error) {
	var v Settings
	return v, s.read(settingsKey, &v)
}

// SaveSettings writes the settings.
func (s *Store) SaveSettings(v Settings) error { return s.write(settingsKey, v) }

// Desk reads where the user left off; the zero value if nothing is known.
func (s *Store) Desk() (Desk, error) {
	var v Desk
	return v, s.read(deskKey, &v)
}

// SaveDesk writes where the user is.
func (s *Store) SaveDesk(v Desk) error { return s.write(deskKey, v) }

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

func (s *Store) write(key []byte, value any) error {
	return s.update(settingsBucket, func(b *bbolt.Bucket) error { return encode(b, key, value) })
}
