package token

import "unicode/utf8"

// Character classes of the pre-tokenizers' expressions. Their numbers are those of make_tables.py.
const (
	other  uint8 = iota
	upper        // Lu, Lt
	lower        // Ll
	letter       // Lm, Lo
	mark         // M
	number       // N
	space        // \s
)

const (
	pageBits = 8
	pageSize = 1 << pageBits
)

// classes maps a code point to its class through two steps: a page number, then a byte of the page.
type classes struct {
	page  [(utf8.MaxRune + 1) >> pageBits]uint16
	pages [][pageSize]uint8
}

// newClasses expands classRuns. Equal pages are stored once.
func newClasses() *classes {
	c := &classes{}
	seen := map[[pageSize]uint8]uint16{}
	var page [pageSize]uint8
	point := 0
	for i := 0; i < len(classRuns); {
		n := 0
		for shift := 0; ; shift += 7 {
			b := classRuns[i]
			i++
			n |= int(b&0x7f) << shift
			if b < 0x80 {
				break
			}
		}
		for length, class := n>>3, uint8(n&7); length > 0; {
			k := min(length, pageSize-point&(pageSize-1))
			for j := range k {
				page[point&(pageSize-1)+j] = class
			}
			point += k
			length -= k
			if point&(pageSize-1) == 0 {
				number, ok := seen[page]
				if !ok {
					number = uint16(len(c.pages))
					seen[page] = number
					c.pages = append(c.pages, page)
				}
				c.page[point>>pageBits-1] = number
			}
		}
	}
	return c
}

func (c *classes) of(r rune) uint8 {
	return c.pages[c.page[r>>pageBits]][r&(pageSize-1)]
}

// at returns the character at s[i:], its class and its size; at the end of s the size is 0.
func (c *classes) at(s string, i int) (rune, uint8, int) {
	if i >= len(s) {
		return -1, other, 0
	}
	if b := s[i]; b < utf8.RuneSelf {
		return rune(b), c.pages[0][b], 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	return r, c.of(r), n
}

// run returns where the characters from s[i:] on stop belonging to the set of classes (bit k stands for class k).
func (c *classes) run(s string, i int, set uint8) int {
	for {
		_, k, n := c.at(s, i)
		if n == 0 || set>>k&1 == 0 {
			return i
		}
		i += n
	}
}
