package prompt

import (
	"errors"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// marks are characters that occur in no input of a rendering. They travel through the template and are taken out of
// its output.
type marks struct {
	cut    rune // breaks the text of a control token
	begin  rune // opens an earlier answer: begin, its number, begin
	end    rune // closes it
	digits rune // stands round a whole number that 64 bits cannot hold
}

// markRanges are where marks are taken from: noncharacters, then the last plane of private characters.
var markRanges = [...][2]rune{{0xfdd0, 0xfdef}, {0x100000, 0x10fffd}}

// newMarks chooses marks that are not taken.
func newMarks(taken func(r rune) bool) (marks, error) {
	var found []rune
	for _, rg := range markRanges {
		for r := rg[0]; r <= rg[1]; r++ {
			if taken(r) {
				continue
			}
			if found = append(found, r); len(found) == 4 {
				return marks{found[0], found[1], found[2], found[3]}, nil
			}
		}
	}
	return marks{}, errors.New("the messages hold every private character")
}

// private notes the characters of s that lie in the ranges of marks.
func private(seen map[rune]bool, s string) {
	if strings.IndexByte(s, 0xef) < 0 && strings.IndexByte(s, 0xf4) < 0 {
		return
	}
	for _, r := range s {
		if inMarkRanges(r) {
			seen[r] = true
		}
	}
}

func inMarkRanges(r rune) bool {
	return slices.ContainsFunc(markRanges[:], func(rg [2]rune) bool { return r >= rg[0] && r <= rg[1] })
}

// controls knows the texts of control tokens and of structure.
type controls struct {
	texts []string
	known map[string]bool // those of tokens
}

func newControls(tokens []string) controls {
	c := controls{known: map[string]bool{}}
	for _, t := range tokens {
		if t != "" && !c.known[t] {
			c.known[t] = true
			c.texts = append(c.texts, t)
		}
	}
	for _, t := range structure {
		if !c.known[t] {
			c.texts = append(c.texts, t)
		}
	}
	return c
}

// nearMiss is how many bytes of a control text may be missing round an untrusted text for it to count as one that a
// template could complete.
const nearMiss = 4

// breaks returns the places in s, ascending, at which a mark must stand so that nothing of s is read as control text:
// inside every one that occurs, and where s could complete one together with what comes before or after it.
func (c *controls) breaks(s string) []int {
	var at []int
	for _, t := range c.texts {
		_, first := utf8.DecodeRuneInString(t)
		for i := 0; ; {
			k := strings.Index(s[i:], t)
			if k < 0 {
				break
			}
			i += k
			at = append(at, i+first)
			if first == len(t) {
				at = append(at, i)
			}
			i += first
		}
		for k := min(len(t)-1, len(s)); k > 0; k-- {
			if strings.HasSuffix(s, t[:k]) {
				at = append(at, len(s)-k+min(first, k))
			}
			if strings.HasPrefix(s, t[len(t)-k:]) {
				at = append(at, 0)
			}
		}
		if len(s) > 1 && len(s)+nearMiss >= len(t) && len(s) < len(t) && strings.Contains(t, s) {
			_, n := utf8.DecodeRuneInString(s)
			at = append(at, n)
		}
	}
	sort.Ints(at)
	return at
}

// mark returns s with the mark at every break.
func (c *controls) mark(s string, m rune) string {
	at := c.breaks(s)
	if len(at) == 0 {
		return s
	}
	var b strings.Builder
	last := 0
	for i, k := range at {
		if i > 0 && k == at[i-1] {
			continue
		}
		b.WriteString(s[last:k])
		b.WriteRune(m)
		last = k
	}
	b.WriteString(s[last:])
	return b.String()
}

// rendered is a template's output with the marks taken out.
type rendered struct {
	text   Text
	spans  map[int][2]int // by message, where an earlier answer stands
	broken bool           // marks did not come out as they went in
}

// unmark takes the marks out of a template's output. Cuts become guards.
func (c *controls) unmark(s string, m marks) rendered {
	out := rendered{spans: map[int][2]int{}}
	var b strings.Builder
	b.Grow(len(s))
	var cuts []int
	open := -1
	isMark := func(r rune) bool { return r == m.cut || r == m.begin || r == m.end || r == m.digits }
	for i := 0; i < len(s); {
		k := strings.IndexFunc(s[i:], isMark)
		if k < 0 {
			b.WriteString(s[i:])
			break
		}
		b.WriteString(s[i : i+k])
		i += k
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch r {
		case m.cut:
			cuts = append(cuts, b.Len())
		case m.begin:
			id, n, ok := index(s[i:], m.begin)
			if !ok {
				out.broken = true
				continue
			}
			i += n
			open = id
			if _, seen := out.spans[id]; !seen {
				out.spans[id] = [2]int{b.Len(), -1}
			}
		case m.end:
			if open >= 0 {
				out.spans[open] = [2]int{out.spans[open][0], b.Len()}
			}
		}
	}
	out.text.S = b.String()
	for i, p := range cuts {
		if i > 0 && c.known[out.text.S[cuts[i-1]:p]] {
			out.text.Guards = append(out.text.Guards, [2]int{cuts[i-1], p})
		}
		out.text.Guards = append(out.text.Guards, [2]int{p, p})
	}
	return out
}

// index reads the number of a message up to the mark that ends it; n is the length of both.
func index(s string, end rune) (id, n int, ok bool) {
	number, _, ok := strings.Cut(s, string(end))
	if !ok || number == "" || len(number) > 9 {
		return 0, 0, false
	}
	for _, d := range []byte(number) {
		if d < '0' || d > '9' {
			return 0, 0, false
		}
		id = id*10 + int(d-'0')
	}
	return id, len(number) + utf8.RuneLen(end), true
}

// guard adds guards over every occurrence of the texts and puts all guards in order.
func (t *Text) guard(texts []string) {
	for _, c := range texts {
		for i := 0; ; i += len(c) {
			k := strings.Index(t.S[i:], c)
			if k < 0 {
				break
			}
			i += k
			t.Guards = append(t.Guards, [2]int{i, i + len(c)})
		}
	}
	sort.Slice(t.Guards, func(i, k int) bool {
		a, b := t.Guards[i], t.Guards[k]
		return a[0] < b[0] || a[0] == b[0] && a[1] < b[1]
	})
	out := t.Guards[:0]
	for _, g := range t.Guards {
		if n := len(out); n > 0 && (g == out[n-1] || g[0] < out[n-1][1]) {
			out[n-1][1] = max(out[n-1][1], g[1])
			continue
		}
		out = append(out, g)
	}
	t.Guards = out
}
