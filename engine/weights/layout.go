package weights

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
)

// Alignments of a pack in bytes, and the version of its layout.
const (
	StreamAlign   = 256       // start of every stream
	PageAlign     = 16 * 1024 // size of the file, and address of a mapping
	LayoutVersion = 1         // to be raised when the same recipe yields other bytes
)

// Extent is a range of the pack in bytes.
type Extent struct {
	Offset, Length int64
}

// Entry is an item and its place. Scales and Biases are empty for B16 and Vector.
type Entry struct {
	Item
	Codes, Scales, Biases Extent
}

// streamExtents lists the places in the order of [Item.streams].
func (e *Entry) streamExtents() []Extent {
	return []Extent{e.Codes, e.Scales, e.Biases}[:len(e.streams())]
}

// bytes is the length of all streams.
func (e *Entry) bytes() int64 { return e.Codes.Length + e.Scales.Length + e.Biases.Length }

// Layout is where every item of a recipe lies in the pack. It is constant after [Plan].
type Layout struct {
	entries []Entry
	index   map[string]int
	size    int64
	data    int64 // bytes of all streams
	hash    string
}

// Plan places the items of a recipe one after another; the file has no header. It reads no checkpoint, so it
// serves for sizes that do not exist here too.
func Plan(r Recipe) (*Layout, error) {
	if len(r.Items) == 0 {
		return nil, fmt.Errorf("pack layout: no items")
	}
	l := &Layout{entries: make([]Entry, len(r.Items)), index: make(map[string]int, len(r.Items))}
	for i, it := range r.Items {
		if err := it.check(); err != nil {
			return nil, fmt.Errorf("pack layout: item %q: %w", it.Name, err)
		}
		if _, ok := l.index[it.Name]; ok {
			return nil, fmt.Errorf("pack layout: item %q twice", it.Name)
		}
		l.index[it.Name] = i
		l.entries[i] = Entry{Item: it}
		if err := l.place(&l.entries[i]); err != nil {
			return nil, fmt.Errorf("pack layout: item %q: %w", it.Name, err)
		}
	}
	size, ok := roundUp(l.size, PageAlign)
	if !ok {
		return nil, errTooLarge
	}
	l.size = size
	l.hash = hashEntries(l.entries)
	return l, nil
}

var errTooLarge = fmt.Errorf("pack layout: more than %d bytes", int64(math.MaxInt64))

// place appends the streams of one item.
func (l *Layout) place(e *Entry) error {
	to := [...]*Extent{&e.Codes, &e.Scales, &e.Biases}
	for i, s := range e.streams() {
		n, ok := product(int64(max(e.Experts, 1)), int64(e.Rows), int64(s.width), s.dtype.Size())
		if e.Format == NM20 && i == 1 {
			n /= 4 // of 16 bits each, 4 are left; rows are a multiple of 8
		}
		start, ok2 := roundUp(l.size, StreamAlign)
		if !ok || !ok2 || n > math.MaxInt64-start {
			return errTooLarge
		}
		*to[i] = Extent{Offset: start, Length: n}
		l.size = start + n
		l.data += n
	}
	return nil
}

// roundUp returns the next multiple of align; ok is false when it exceeds an int64.
func roundUp(n, align int64) (r int64, ok bool) {
	if n > math.MaxInt64-(align-1) {
		return 0, false
	}
	return (n + align - 1) / align * align, true
}

// Size of the pack in bytes, a multiple of [PageAlign].
func (l *Layout) Size() int64 { return l.size }

// Entries are the items in the order of the file. They are not to be changed.
func (l *Layout) Entries() []Entry { return l.entries }

// Lookup finds an item by its name.
func (l *Layout) Lookup(name string) (Entry, bool) {
	i, ok := l.index[name]
	if !ok {
		return Entry{}, false
	}
	return l.entries[i], true
}

// Hash identifies everything that decides the bytes of a pack but the tensors themselves: the version, the
// items, their sources and their offsets.
func (l *Layout) Hash() string { return l.hash }

func hashEntries(entries []Entry) string {
	h := sha256.New()
	fmt.Fprintf(h, "layout %d\n", LayoutVersion)
	// Strings, integers and lists of them always encode, and a hash takes every write.
	_ = json.NewEncoder(h).Encode(entries)
	return hex.EncodeToString(h.Sum(nil))
}
