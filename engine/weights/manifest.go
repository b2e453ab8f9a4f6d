package weights

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Manifest is what is known of a pack apart from its bytes. It lives outside the pack.
type Manifest struct {
	Version int    // LayoutVersion
	Source  string // [Checkpoint.Source]
	Layout  string // [Layout.Hash]
	Size    int64  // bytes of the file
	Items   []ManifestItem
	// Compact names the items that are NM20 where the recipe says NM.
	Compact []string `json:",omitempty"`
	// Checked is the modification time of the file, in ns since 1970, when its bytes were last compared with the
	// sums; 0 if they never were. A start trusts a file that has not been written since and reads no sums: 20 GB
	// of them would take many seconds.
	Checked int64
}

// ManifestItem is the place of an item and the checksum of its streams.
type ManifestItem struct {
	Name   string
	Offset int64
	// Sum is the CRC-32C of codes, scales and biases, one after another. It finds damage, not forgery (who can
	// write the pack can write the manifest), and processors compute it at memory speed.
	Sum uint32
}

// Manifests keeps manifests between runs. Load returns nil for a key without a value, Save of nil deletes.
type Manifests interface {
	Load(key string) ([]byte, error)
	Save(key string, value []byte) error
}

// Encode is the stored form, for [DecodeManifest].
func (m Manifest) Encode() ([]byte, error) { return json.Marshal(m) }

// DecodeManifest reads the stored form. Whether it fits a pack is for [Open] to say.
func DecodeManifest(data []byte) (Manifest, error) {
	var m Manifest
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return Manifest{}, fmt.Errorf("pack manifest: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Manifest{}, errors.New("pack manifest: text after its end")
	}
	return m, nil
}

// newManifest describes a pack that is to be written.
func newManifest(source string, l *Layout) Manifest {
	m := Manifest{Version: LayoutVersion, Source: source, Layout: l.Hash(), Size: l.size}
	for _, e := range l.entries {
		m.Items = append(m.Items, ManifestItem{Name: e.Name, Offset: e.Codes.Offset})
		if e.Format == NM20 {
			m.Compact = append(m.Compact, e.Name)
		}
	}
	return m
}

// compact applies Compact to a recipe.
func (m Manifest) compact(r Recipe) Recipe {
	out := Recipe{Items: slices.Clone(r.Items)}
	for i := range out.Items {
		if it := &out.Items[i]; it.Format == NM && slices.Contains(m.Compact, it.Name) {
			it.Format = NM20
		}
	}
	return out
}

// mismatch tells why a manifest does not describe a pack of this layout and source, "" if it does.
func (m Manifest) mismatch(source string, l *Layout) string {
	switch {
	case m.Version != LayoutVersion:
		return fmt.Sprintf("layout version %d, want %d", m.Version, LayoutVersion)
	case m.Source != source:
		return "it was made from other files"
	case m.Size != l.size || m.Layout != l.Hash() || len(m.Items) != len(l.entries):
		return "it was made by another recipe"
	}
	for i, e := range l.entries {
		if it := m.Items[i]; it.Name != e.Name || it.Offset != e.Codes.Offset {
			return fmt.Sprintf("item %q at %d, want %q at %d", it.Name, it.Offset, e.Name, e.Codes.Offset)
		}
	}
	return ""
}
