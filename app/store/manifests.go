package store

import (
	"bytes"

	"go.etcd.io/bbolt"
)

var manifestBucket = []byte("manifests")

// Manifests keeps the manifests of weight packs by key. Their content is not looked at.
type Manifests struct {
	store *Store
}

// Manifests of this database.
func (s *Store) Manifests() Manifests { return Manifests{store: s} }

// Load returns the value of a key, nil if there is none.
func (m Manifests) Load(key string) ([]byte, error) {
	var value []byte
	err := m.store.view(manifestBucket, func(b *bbolt.Bucket) error {
		value = bytes.Clone(b.Get([]byte(key))) // memory of the transaction ends with it
		return nil
	})
	return value, err
}

// Save sets the value of a key; nil deletes it. The value is on disk when Save returns.
func (m Manifests) Save(key string, value []byte) error {
	return m.store.update(manifestBucket, func(b *bbolt.Bucket) error {
		if value == nil {
			return b.Delete([]byte(key))
		}
		return b.Put([]byte(key), value)
	})
}
