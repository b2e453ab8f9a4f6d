package token

import "unicode/utf8"

// Decode returns the text of ids, special tokens included. Bytes that are no UTF-8 become U+FFFD, one for each
// maximal ill-formed part (The Unicode Standard, section 3.9, table 3-8). Unknown ids are skipped.
func (t *Tokenizer) Decode(ids []int32) string {
	n := 0
	for _, id := range ids {
		n += len(t.Bytes(id))
	}
	raw := make([]byte, 0, n)
	for _, id := range ids {
		raw = append(raw, t.Bytes(id)...)
	}
	if utf8.Valid(raw) {
		return string(raw)
	}
	return string(appendValid(make([]byte, 0, n+16), raw))
}

// Decoder turns ids into text as they come. What it has returned, joined, equals the text of all ids at once. A
// token costs time in proportion to its own length; a character whose bytes are spread over tokens comes whole with
// its last byte; a genuine U+FFFD comes at once.
type Decoder struct {
	t       *Tokenizer
	show    bool
	pending [utf8.UTFMax]byte // the start of a character, its end still to come
	n       int
	buf     []byte
}

// NewDecoder returns a decoder that shows special tokens or leaves them out.
func (t *Tokenizer) NewDecoder(showSpecial bool) *Decoder { return &Decoder{t: t, show: showSpecial} }

// Push returns the text that id completes; it may be empty.
func (d *Decoder) Push(id int32) string {
	if !d.show && d.t.Special(id) {
		return ""
	}
	s := d.t.Bytes(id)
	if d.n == 0 && utf8.ValidString(s) {
		return s
	}
	d.buf = append(append(d.buf[:0], d.pending[:d.n]...), s...)
	whole := len(d.buf) - tail(d.buf)
	d.n = copy(d.pending[:], d.buf[whole:])
	raw := d.buf[:whole]
	if utf8.Valid(raw) {
		return string(raw)
	}
	return string(appendValid(nil, raw))
}

// Pending is the number of bytes of a character whose end is still to come.
func (d *Decoder) Pending() int { return d.n }

// Flush returns U+FFFD if the ids ended inside a character, and makes the decoder ready for a new text.
func (d *Decoder) Flush() string {
	n := d.n
	d.n = 0
	if n == 0 {
		return ""
	}
	return string(utf8.RuneError)
}

// tail returns how many bytes at the end of b begin a character whose end is missing.
func tail[T string | []byte](b T) int {
	for k := min(len(b), utf8.UTFMax-1); k > 0; k-- {
		if n, whole := part(b[len(b)-k:]); n == k && !whole && expects(b[len(b)-k]) > k {
			return k
		}
	}
	return 0
}

// appendValid appends s to dst with each maximal ill-formed part replaced by U+FFFD.
func appendValid[T string | []byte](dst []byte, s T) []byte {
	for len(s) > 0 {
		n, ok := part(s)
		if ok {
			dst = append(dst, s[:n]...)
		} else {
			dst = utf8.AppendRune(dst, utf8.RuneError)
		}
		s = s[n:]
	}
	return dst
}

// part returns the length of the character that b starts with, or of the maximal ill-formed part, and which it is.
func part[T string | []byte](b T) (n int, whole bool) {
	size := expects(b[0])
	low, high := byte(0x80), byte(0xbf)
	switch b[0] {
	case 0xe0:
		low = 0xa0
	case 0xed:
		high = 0x9f
	case 0xf0:
		low = 0x90
	case 0xf4:
		high = 0x8f
	}
	for n = 1; n < size && n < len(b); n++ {
		if b[n] < low || b[n] > high {
			return n, false
		}
		low, high = 0x80, 0xbf
	}
	return n, n == size
}

// expects returns the length of a character by its first byte; 0 for a byte that starts none.
func expects(b byte) int {
	switch {
	case b < 0x80:
		return 1
	case b < 0xc2 || b > 0xf4:
		return 0
	case b < 0xe0:
		return 2
	case b < 0xf0:
		return 3
	}
	return 4
}
