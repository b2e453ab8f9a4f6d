package token

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Limits of a tokenizer.json, far above any real one. They keep a lying file from asking for memory.
const (
	MaxFile  = 256 << 20 // bytes of a tokenizer.json
	maxVocab = 1 << 22   // ids
)

// Load reads a tokenizer.json. It refuses what it would not follow exactly: other models than byte-level BPE, unknown
// pre-tokenizer expressions and normalisers, ids out of range or given twice, merges of tokens that do not exist.
func Load(data []byte) (*Tokenizer, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("tokenizer.json: %d bytes, at most %d are read", len(data), MaxFile)
	}
	l := &loader{t: &Tokenizer{byName: map[string]int32{}}}
	if err := l.load(data); err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	return l.t, nil
}

// loader holds what is needed only until the tokenizer is whole.
type loader struct {
	t      *Tokenizer
	blob   []byte
	vocab  []vocabEntry
	decode [512]int16 // byte by character of the byte-level alphabet, -1 for others
	raw    []byte     // the last text that was decoded
}

type vocabEntry struct {
	id    int32
	span  span
	plain bool // all its characters are of the byte-level alphabet
}

// section is a member of the file or of its model as text, with the offset at which it begins.
type section struct {
	text []byte
	off  int
}

func (p section) scan() *scanner { return &scanner{data: p.text, base: p.off} }

// sections returns the members of the file by name, and those of its model by "model/" and their name.
func sections(data []byte) (map[string]section, error) {
	s := &scanner{data: data}
	out := map[string]section{}
	var collect func(prefix string)
	collect = func(prefix string) {
		s.object(func(name []byte) {
			key := prefix + string(name)
			if _, ok := out[key]; ok {
				s.fail("%q stands twice", key)
				return
			}
			s.peek()
			start := s.pos
			out[key] = section{off: start}
			if key == "model" {
				collect("model/")
			} else {
				s.skip()
			}
			out[key] = section{data[start:s.pos], start}
		})
	}
	collect("")
	s.end()
	return out, s.err
}

func (l *loader) load(data []byte) error {
	file, err := sections(data)
	if err != nil {
		return err
	}
	if err := l.pipeline(file); err != nil {
		return err
	}
	if err := l.model(file); err != nil {
		return err
	}
	l.alphabet()
	if err := l.readVocab(file["model/vocab"]); err != nil {
		return fmt.Errorf("vocab: %w", err)
	}
	if err := l.readAdded(file["added_tokens"]); err != nil {
		return fmt.Errorf("added_tokens: %w", err)
	}
	if err := l.index(); err != nil {
		return err
	}
	if err := l.readMerges(file["model/merges"]); err != nil {
		return fmt.Errorf("merges: %w", err)
	}
	l.t.classes = newClasses()
	return nil
}

// decodePart reads a small member into out; an absent one leaves it as it is.
func decodePart(p section, name string, out any) error {
	if p.text == nil {
		return nil
	}
	if err := json.Unmarshal(p.text, out); err != nil {
		return fmt.Errorf("%s at byte %d: %w", name, p.off, err)
	}
	return nil
}

// step is a normaliser, a pre-tokenizer or a decoder of the file.
type step struct {
	Type    string `json:"type"`
	Pattern struct {
		Regex string `json:"Regex"`
	} `json:"pattern"`
	Behavior       string `json:"behavior"`
	Invert         bool   `json:"invert"`
	AddPrefixSpace bool   `json:"add_prefix_space"`
	UseRegex       *bool  `json:"use_regex"`
	Pretokenizers  []step `json:"pretokenizers"`
}

// pipeline checks the steps round the model.
func (l *loader) pipeline(file map[string]section) error {
	var normalizer, decoder *step
	var pre step
	err := errors.Join(decodePart(file["normalizer"], "normalizer", &normalizer),
		decodePart(file["decoder"], "decoder", &decoder), decodePart(file["pre_tokenizer"], "pre_tokenizer", &pre))
	if err != nil {
		return err
	}
	if normalizer != nil {
		if normalizer.Type != "NFC" {
			return fmt.Errorf("normalizer %q is not known; NFC and none are", normalizer.Type)
		}
		l.t.norm = newNormalizer()
	}
	if decoder == nil || decoder.Type != "ByteLevel" {
		return errors.New("decoder: only ByteLevel is known")
	}
	return l.split(pre)
}

// split checks the pre-tokenizer.
func (l *loader) split(pre step) error {
	p := pre.Pretokenizers
	if pre.Type != "Sequence" || len(p) != 2 || p[0].Type != "Split" || p[1].Type != "ByteLevel" {
		return errors.New("pre_tokenizer: only a Sequence of Split and ByteLevel is known")
	}
	if p[0].Behavior != "Isolated" || p[0].Invert {
		return fmt.Errorf("pre_tokenizer: Split with behavior %q, invert %v; only Isolated, false is known",
			p[0].Behavior, p[0].Invert)
	}
	if p[1].AddPrefixSpace || p[1].UseRegex == nil || *p[1].UseRegex {
		return errors.New("pre_tokenizer: ByteLevel with add_prefix_space or use_regex is not known")
	}
	var ok bool
	if l.t.split, ok = splitterFor(p[0].Pattern.Regex); !ok {
		return fmt.Errorf("pre_tokenizer: unknown expression %q", p[0].Pattern.Regex)
	}
	return nil
}

// model checks the settings of the model.
func (l *loader) model(file map[string]section) error {
	var kind string
	var dropout *float64
	var prefix, suffix *string
	var byteFallback bool
	var errs []error
	for name, out := range map[string]any{
		"type": &kind, "dropout": &dropout, "continuing_subword_prefix": &prefix,
		"end_of_word_suffix": &suffix, "byte_fallback": &byteFallback, "ignore_merges": &l.t.ignore,
	} {
		errs = append(errs, decodePart(file["model/"+name], name, out))
	}
	switch err := errors.Join(errs...); {
	case err != nil:
		return fmt.Errorf("model: %w", err)
	case kind != "BPE":
		return fmt.Errorf("model type %q is not known; BPE is", kind)
	case dropout != nil && *dropout != 0:
		return errors.New("model: dropout is not known")
	case prefix != nil && *prefix != "" || suffix != nil && *suffix != "":
		return errors.New("model: a prefix or suffix of subwords is not known")
	case byteFallback:
		return errors.New("model: byte_fallback is not known")
	case file["model/vocab"].text == nil || file["model/merges"].text == nil:
		return errors.New("model: vocab or merges missing")
	}
	return nil
}

// alphabet fills the table of the byte-level alphabet: printable bytes stand for themselves, the others for the
// characters from U+0100 on.
func (l *loader) alphabet() {
	for i := range l.decode {
		l.decode[i] = -1
	}
	next := 256
	for b := range 256 {
		if b > ' ' && b < 0x7f || b > 0xa0 && b != 0xad {
			l.decode[b] = int16(b)
			continue
		}
		l.decode[next] = int16(b)
		next++
	}
}

// bytes decodes a text of the byte-level alphabet. A text with another character stands for its own UTF-8. The result
// is valid until the next call.
func (l *loader) bytes(text []byte) (raw []byte, plain bool) {
	l.raw = l.raw[:0]
	for i := 0; i < len(text); {
		r, n := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(text[i:])
		}
		if int(r) >= len(l.decode) || l.decode[r] < 0 {
			l.raw = append(l.raw[:0], text...)
			return l.raw, false
		}
		l.raw = append(l.raw, byte(l.decode[r]))
		i += n
	}
	return l.raw, true
}

func (l *loader) add(id int32, text []byte) {
	raw, plain := l.bytes(text)
	start := uint32(len(l.blob))
	l.blob = append(l.blob, raw...)
	l.vocab = append(l.vocab, vocabEntry{id, span{start, uint32(len(l.blob))}, plain})
}

func (l *loader) readVocab(p section) error {
	s := p.scan()
	l.vocab = make([]vocabEntry, 0, min(len(p.text)/12, maxVocab))
	l.blob = make([]byte, 0, len(p.text)/2)
	s.object(func(name []byte) {
		if len(name) == 0 {
			s.fail("an empty token")
			return
		}
		at := len(l.vocab)
		l.add(0, name)
		l.vocab[at].id = int32(s.integer(maxVocab - 1))
	})
	s.end()
	return s.err
}

func (l *loader) readAdded(p section) error {
	var list []addedToken
	if err := decodePart(p, "list", &list); err != nil {
		return err
	}
	var raw, normed []addedToken
	for _, a := range list {
		switch {
		case a.Content == "":
			return fmt.Errorf("token %d has no content", a.ID)
		case a.ID < 0 || a.ID >= maxVocab:
			return fmt.Errorf("%q has id %d, allowed are 0 to %d", a.Content, a.ID, maxVocab-1)
		case a.SingleWord || a.LStrip || a.RStrip:
			return fmt.Errorf("%q: single_word, lstrip and rstrip are not known", a.Content)
		}
		if _, ok := l.t.byName[a.Content]; ok {
			return fmt.Errorf("%q stands twice", a.Content)
		}
		l.t.byName[a.Content] = a.ID
		if a.Normalized && l.t.norm != nil {
			a.Content = l.t.norm.apply(a.Content)
			normed = append(normed, a)
		} else {
			raw = append(raw, a)
		}
	}
	l.t.added = list
	l.t.raw, l.t.normed = newMatcher(raw), newMatcher(normed)
	return nil
}

// index builds the tables by id and by text, the added tokens included.
func (l *loader) index() error {
	t := l.t
	count := 0
	for _, v := range l.vocab {
		count = max(count, int(v.id)+1)
	}
	for _, a := range t.added {
		count = max(count, int(a.ID)+1)
	}
	own := make([]int32, count) // by id, one more than the index in l.vocab
	for i, v := range l.vocab {
		if own[v.id] != 0 {
			return fmt.Errorf("vocab: id %d stands twice", v.id)
		}
		own[v.id] = int32(i + 1)
	}
	t.special = make([]bool, count)
	isAdded := make([]bool, count)
	for _, a := range t.added {
		if isAdded[a.ID] {
			return fmt.Errorf("added_tokens: id %d stands twice", a.ID)
		}
		isAdded[a.ID], t.special[a.ID] = true, a.Special
		raw, _ := l.bytes([]byte(a.Content))
		if k := own[a.ID]; k == 0 {
			l.add(a.ID, []byte(a.Content))
		} else if v := l.vocab[k-1].span; string(l.blob[v.off:v.end]) != string(raw) {
			return fmt.Errorf("added_tokens: id %d is %q here, another token in vocab", a.ID, a.Content)
		}
	}
	return l.words(count)
}

// words builds the tables of count tokens from all entries. A special token is not found by its text, but as an added
// token.
func (l *loader) words(count int) error {
	t := l.t
	t.blob, l.blob = string(l.blob), nil
	t.spans = make([]span, count)
	t.words = make(map[string]int32, len(l.vocab))
	for _, v := range l.vocab {
		t.spans[v.id] = v.span
		if !v.plain || t.special[v.id] {
			continue
		}
		w := t.blob[v.span.off:v.span.end]
		if _, ok := t.words[w]; ok {
			return fmt.Errorf("vocab: %q stands twice", w)
		}
		t.words[w] = v.id
	}
	for b := range 256 {
		id, ok := t.words[string([]byte{byte(b)})]
		if !ok {
			return fmt.Errorf("vocab: no token for byte 0x%02x", b)
		}
		t.byByte[b] = id
	}
	return nil
}

// readMerges reads pairs of texts, or texts with one blank between. Where a pair stands twice the last one counts.
func (l *loader) readMerges(p section) error {
	s := p.scan()
	var list []pairSlot
	s.array(func() {
		m := merge{l: l, s: s, rank: int32(len(list)), guess: -1}
		if len(list) > 0 {
			m.guess = list[len(list)-1].id + 1
		}
		if s.peek() == '[' {
			s.array(func() { m.part(s.text()) })
		} else {
			for text := range bytes.SplitSeq(bytes.Clone(s.text()), []byte(" ")) {
				m.part(text)
			}
		}
		list = append(list, m.slot())
	})
	s.end()
	if s.err != nil {
		return s.err
	}
	l.t.merges = newPairs(len(list))
	for _, m := range list {
		*l.t.merges.find(m.key) = m
	}
	return nil
}

// merge is one entry of the merges as it is read.
type merge struct {
	l     *loader
	s     *scanner
	rank  int32
	guess int32 // the id that the merge makes, perhaps
	ids   [2]int32
	parts int
	whole []byte
	space [64]byte
}

func (m *merge) part(text []byte) {
	if m.s.err != nil {
		return
	}
	raw, plain := m.l.bytes(text)
	id, ok := m.l.t.words[string(raw)]
	if !ok || !plain {
		m.s.fail("merge %d: %q is not in the vocabulary", m.rank, text)
		return
	}
	if m.parts < 2 {
		m.ids[m.parts] = id
	}
	m.parts++
	if m.whole == nil {
		m.whole = m.space[:0]
	}
	m.whole = append(m.whole, raw...)
}

func (m *merge) slot() pairSlot {
	if m.s.err != nil {
		return pairSlot{}
	}
	if m.parts != 2 {
		m.s.fail("merge %d has %d parts, not 2", m.rank, m.parts)
		return pairSlot{}
	}
	id := m.guess // merges mostly make one token after the other: spare the look-up
	if string(m.whole) != m.l.t.Bytes(id) || m.l.t.Special(id) {
		var ok bool
		if id, ok = m.l.t.words[string(m.whole)]; !ok {
			m.s.fail("merge %d: the result %q is not in the vocabulary", m.rank, m.whole)
		}
	}
	return pairSlot{pairKey(m.ids[0], m.ids[1]), m.rank, id}
}
