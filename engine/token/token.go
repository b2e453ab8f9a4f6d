// Package token turns text into token ids and back: byte-level BPE as a checkpoint's tokenizer.json describes it.
//
// Ids equal the reference library's, character for character: the Unicode data of its pre-tokenizer and of its NFC
// are part of this package, whatever data this Go has. Control tokens are matched only where the caller allows it,
// so typed text never becomes one. Decoding is exact too, whole or token by token. Pre-tokenizers other than the
// known ones are refused by name. The package applies no template and adds no tokens of its own.
package token

// Tokenizer is a loaded vocabulary. It is safe for concurrent use.
type Tokenizer struct {
	blob    string // bytes of all tokens, one after another
	spans   []span // by id
	special []bool // by id

	words   map[string]int32 // bytes to id, added tokens left out
	byByte  [256]int32       // ids of the single bytes
	merges  pairs
	ignore  bool // a word that is a token is not built by merges
	norm    *normalizer
	classes *classes
	split   splitter

	raw    matcher // added tokens that are found in the text as it is
	normed matcher // added tokens that are found after normalisation
	added  []addedToken
	byName map[string]int32 // content to id of added tokens

	cache cache
}

type span struct{ off, end uint32 }

type addedToken struct {
	Content    string `json:"content"`
	ID         int32  `json:"id"`
	Special    bool   `json:"special"`
	Normalized bool   `json:"normalized"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
}

// Vocab returns one more than the greatest token id. A model may have more rows than that; ids may have holes.
func (t *Tokenizer) Vocab() int { return len(t.spans) }

// ID returns the id of the token whose text is content: an added token, else an ordinary one.
func (t *Tokenizer) ID(content string) (int32, bool) {
	if id, ok := t.byName[content]; ok {
		return id, true
	}
	id, ok := t.words[content]
	return id, ok
}

// Special reports whether id is an added token that the file marks as special: one that a reader should not see.
func (t *Tokenizer) Special(id int32) bool {
	return id >= 0 && int(id) < len(t.special) && t.special[id]
}

// Added returns the texts of all added tokens, special or not, in the order of the file.
func (t *Tokenizer) Added() []string {
	out := make([]string, len(t.added))
	for i, a := range t.added {
		out[i] = a.Content
	}
	return out
}

// Bytes returns the bytes that id stands for; they need not be whole characters. An unknown id has none.
func (t *Tokenizer) Bytes(id int32) string {
	if id < 0 || int(id) >= len(t.spans) {
		return ""
	}
	s := t.spans[id]
	return t.blob[s.off:s.end]
}
