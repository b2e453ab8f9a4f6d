package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// Schema is the version of the database that this package writes and the newest that it reads.
//
//	1  manifests
//	2  conversations, trash, aside, settings
const Schema = 2

// migrations lead from the schema of their index to the next one.
var migrations = [Schema]func(*bbolt.Tx) error{
	1: func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{conversationBucket, trashBucket, asideBucket, settingsBucket} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	},
}

// schemaOf reads the version of a database and refuses one that this package does not understand. 0: it is empty.
func schemaOf(tx *bbolt.Tx) (int, error) {
	meta := tx.Bucket(metaBucket)
	if meta == nil {
		if k, _ := tx.Cursor().First(); k != nil {
			return 0, fmt.Errorf("%w: it has no schema version", ErrDamaged)
		}
		return 0, nil
	}
	v := meta.Get(schemaKey)
	if len(v) != 4 {
		return 0, fmt.Errorf("%w: its schema version has %d bytes", ErrDamaged, len(v))
	}
	switch got := binary.BigEndian.Uint32(v); {
	case got > Schema:
		return 0, fmt.Errorf("%w: schema %d, this one knows %d", ErrNewer, got, Schema)
	case got == 0:
		return 0, fmt.Errorf("%w: its schema version is 0", ErrDamaged)
	default:
		return int(got), nil
	}
}

// migrate brings a database to this schema. Before an older one is changed it is copied to a file beside it.
func (s *Store) migrate(tx *bbolt.Tx) error {
	version, err := schemaOf(tx)
	if err != nil || version == Schema {
		return err
	}
	if version > 0 {
		if err := backup(tx, fmt.Sprintf("%s.schema%d", s.path, version)); err != nil {
			return fmt.Errorf("backup before the change to schema %d: %w", Schema, err)
		}
	}
	for v := max(version, 1); v < Schema; v++ {
		if err := migrations[v](tx); err != nil {
			return fmt.Errorf("change to schema %d: %w", v+1, err)
		}
	}
	meta, err := tx.CreateBucketIfNotExists(metaBucket)
	if err != nil {
		return err
	}
	return meta.Put(schemaKey, binary.BigEndian.AppendUint32(nil, Schema))
}

// backup copies the database as it was before the transaction.
func backup(tx *bbolt.Tx, path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".backup-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is gone if all went well
	_, err = tx.WriteTo(f)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
