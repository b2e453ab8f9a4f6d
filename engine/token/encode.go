package token

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// Text is text of mixed trust. Outside the guards control tokens are recognised; inside them never.
type Text struct {
	S string
	// Guards are byte ranges [from, to) of S, ascending and disjoint, such as typed text. No added token is matched
	// that overlaps one. An empty guard is a cut: no added token is matched across it.
	Guards [][2]int
}

// Encode appends the ids of text to dst. Added tokens are found outside the guards, leftmost first and the longest
// of those; everything between them is tokenised jointly, guarded or not. Invalid UTF-8 counts as U+FFFD.
func (t *Tokenizer) Encode(dst []int32, text Text) []int32 {
	s, start := text.S, 0
	for i := 0; ; {
		at, k := t.raw.next(s, i, text.Guards)
		if k < 0 {
			break
		}
		dst = t.encodeSegment(dst, s, start, at, text.Guards)
		dst = append(dst, t.raw.tokens[k].ID)
		start = at + len(t.raw.tokens[k].Content)
		i = start
	}
	return t.encodeSegment(dst, s, start, len(s), text.Guards)
}

// EncodePlain appends the ids of s as typed text: added tokens are never matched.
func (t *Tokenizer) EncodePlain(dst []int32, s string) []int32 {
	return t.encodeWords(dst, t.normalize(s))
}

// EncodeTrusted appends the ids of s with added tokens matched everywhere.
func (t *Tokenizer) EncodeTrusted(dst []int32, s string) []int32 { return t.Encode(dst, Text{S: s}) }

// encodeSegment appends s[from:to], which holds no added token but those that are found after normalisation. Where a
// guard touches the segment these are not looked for, since normalising moves its bounds.
func (t *Tokenizer) encodeSegment(dst []int32, s string, from, to int, guards [][2]int) []int32 {
	if from == to {
		return dst
	}
	text := t.normalize(s[from:to])
	if len(t.normed.tokens) == 0 || guarded(guards, from, to) {
		return t.encodeWords(dst, text)
	}
	start := 0
	for {
		at, k := t.normed.next(text, start, nil)
		if k < 0 {
			return t.encodeWords(dst, text[start:])
		}
		dst = t.encodeWords(dst, text[start:at])
		dst = append(dst, t.normed.tokens[k].ID)
		start = at + len(t.normed.tokens[k].Content)
	}
}

func (t *Tokenizer) encodeWords(dst []int32, s string) []int32 {
	for i := 0; i < len(s); {
		e := min(t.split(t.classes, s, i), i+maxWord)
		dst = t.cached(dst, s[i:e])
		i = e
	}
	return dst
}

func (t *Tokenizer) normalize(s string) string {
	if !utf8.ValidString(s) {
		s = string(appendValid(nil, s))
	}
	if t.norm != nil {
		s = t.norm.apply(s)
	}
	return s
}

// guarded reports whether a match at s[from:to] would touch a guard or span a cut.
func guarded(guards [][2]int, from, to int) bool {
	k := sort.Search(len(guards), func(k int) bool { return guards[k][1] > from })
	return k < len(guards) && guards[k][0] < to
}

// matcher finds added tokens.
type matcher struct {
	tokens []addedToken
	first  [256][]int32 // by first byte, indices into tokens, the longest first
	starts string       // the first bytes
}

func newMatcher(tokens []addedToken) matcher {
	m := matcher{tokens: tokens}
	for i, a := range tokens {
		b := a.Content[0]
		if m.first[b] == nil {
			m.starts += string(rune(b))
		}
		m.first[b] = append(m.first[b], int32(i))
	}
	for _, list := range m.first {
		sort.SliceStable(list, func(i, k int) bool {
			return len(tokens[list[i]].Content) > len(tokens[list[k]].Content)
		})
	}
	return m
}

// next returns where in s[i:] the first allowed added token stands, and its index, or -1.
func (m *matcher) next(s string, i int, guards [][2]int) (at, k int) {
	if len(m.tokens) == 0 {
		return len(s), -1
	}
	for ; i < len(s); i++ {
		if len(m.starts) == 1 {
			n := strings.IndexByte(s[i:], m.starts[0])
			if n < 0 {
				return len(s), -1
			}
			i += n
		}
		for _, k := range m.first[s[i]] {
			c := m.tokens[k].Content
			if strings.HasPrefix(s[i:], c) && !guarded(guards, i, i+len(c)) {
				return i, int(k)
			}
		}
	}
	return len(s), -1
}
