package token

import (
	"slices"

	"golang.org/x/text/unicode/norm"
)

// A normalizer brings text to NFC as the reference does: by data of an older Unicode, where characters that are
// younger have no combining class and compose with nothing, and without a limit on the length of a run of marks
// (Unicode Standard Annex 15, section 1.3).
type normalizer struct {
	inert map[rune]struct{}
}

func newNormalizer() *normalizer {
	n := &normalizer{inert: map[rune]struct{}{}}
	for _, r := range inertRanges {
		for c := r[0]; c <= r[1]; c++ {
			n.inert[c] = struct{}{}
		}
	}
	return n
}

// char is a decomposed character and its canonical combining class.
type char struct {
	r     rune
	class uint8
	inert bool
}

// apply returns s, which must be valid UTF-8, in NFC. What today's NFC leaves alone the older one does too, because
// characters that both know never change.
func (n *normalizer) apply(s string) string {
	if norm.NFC.IsNormalString(s) {
		return s
	}
	chars := n.decompose(s)
	order(chars)
	chars = compose(chars)
	out := make([]byte, 0, len(s))
	for _, c := range chars {
		out = append(out, string(c.r)...)
	}
	return string(out)
}

func (n *normalizer) decompose(s string) []char {
	out := make([]char, 0, len(s))
	for _, r := range s {
		if _, ok := n.inert[r]; ok {
			out = append(out, char{r: r, inert: true})
			continue
		}
		if l, v, t, ok := splitHangul(r); ok {
			out = append(out, char{r: l}, char{r: v})
			if t != hangulT {
				out = append(out, char{r: t})
			}
			continue
		}
		p := norm.NFD.PropertiesString(string(r))
		d := p.Decomposition()
		if d == nil {
			out = append(out, char{r: r, class: p.CCC()})
			continue
		}
		for _, r := range string(d) {
			out = append(out, char{r: r, class: norm.NFD.PropertiesString(string(r)).CCC()})
		}
	}
	return out
}

// order sorts each run of marks by combining class, keeping the order of equals.
func order(chars []char) {
	for i := 0; i < len(chars); i++ {
		k := i
		for k < len(chars) && chars[k].class != 0 {
			k++
		}
		if k-i > 1 {
			slices.SortStableFunc(chars[i:k], func(a, b char) int { return int(a.class) - int(b.class) })
		}
		i = max(i, k-1)
	}
}

// compose joins starters with what follows them unless something of the same or a higher class stands between.
func compose(chars []char) []char {
	out := chars[:0]
	starter, last := -1, -1 // index in out; class of the last character kept after the starter, -1 if none
	for _, c := range chars {
		if starter >= 0 && !c.inert && !out[starter].inert && (last < int(c.class) || last == -1) {
			if r, ok := composePair(out[starter].r, c.r); ok {
				out[starter].r = r
				continue
			}
		}
		out = append(out, c)
		if c.class == 0 {
			starter, last = len(out)-1, -1
		} else {
			last = int(c.class)
		}
	}
	return out
}

func composePair(a, b rune) (rune, bool) {
	if r, ok := joinHangul(a, b); ok {
		return r, true
	}
	var in, out [16]byte
	pair := append(append(in[:0], string(a)...), string(b)...)
	joined := []rune(string(norm.NFC.Append(out[:0], pair...)))
	if len(joined) == 1 {
		return joined[0], true
	}
	return 0, false
}

// Hangul syllables are composed by arithmetic (The Unicode Standard, section 3.12).
const (
	hangulS, hangulL, hangulV, hangulT = 0xac00, 0x1100, 0x1161, 0x11a7

	countL, countV, countT = 19, 21, 28
)

func splitHangul(r rune) (l, v, t rune, ok bool) {
	k := r - hangulS
	if k < 0 || k >= countL*countV*countT {
		return 0, 0, 0, false
	}
	return hangulL + k/(countV*countT), hangulV + k%(countV*countT)/countT, hangulT + k%countT, true
}

func joinHangul(a, b rune) (rune, bool) {
	if l, v := a-hangulL, b-hangulV; l >= 0 && l < countL && v >= 0 && v < countV {
		return hangulS + (l*countV+v)*countT, true
	}
	if k, t := a-hangulS, b-hangulT; k >= 0 && k < countL*countV*countT && k%countT == 0 && t > 0 && t < countT {
		return a + t, true
	}
	return 0, false
}
