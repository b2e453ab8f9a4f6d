package token

import (
	"strings"
	"unicode/utf8"
)

// A splitter returns the end of the word that starts at s[i:], i < len(s). Words cover the text without gaps.
type splitter func(c *classes, s string, i int) int

// The pre-tokenizer expressions that are known, as they stand in tokenizer.json.
const (
	qwenExpression = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|` +
		` ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	tekkenExpression = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|` +
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}|` +
		` ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// Sets of classes, one bit each.
const (
	letters   = 1<<upper | 1<<lower | 1<<letter
	uppers    = 1<<upper | 1<<letter | 1<<mark // [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
	lowers    = 1<<lower | 1<<letter | 1<<mark // [\p{Ll}\p{Lm}\p{Lo}\p{M}]
	qwenSigns = 1 << other
	signs     = 1<<other | 1<<mark
)

func splitterFor(expression string) (splitter, bool) {
	switch expression {
	case qwenExpression:
		return qwenWord, true
	case tekkenExpression:
		return tekkenWord, true
	}
	return nil, false
}

func qwenWord(c *classes, s string, i int) int {
	r, k, n := c.at(s, i)
	if r == '\'' {
		if e := contraction(s, i+1); e > 0 {
			return e
		}
	}
	const word = letters | 1<<mark
	if prefix(r, k) {
		if e := c.run(s, i+n, word); e > i+n {
			return e
		}
	}
	if word>>k&1 != 0 {
		return c.run(s, i, word)
	}
	if k == number {
		return i + n
	}
	if e := signRun(c, s, i, qwenSigns); e > i {
		return skipAny(s, e, "\r\n")
	}
	return spaces(c, s, i)
}

func tekkenWord(c *classes, s string, i int) int {
	r, k, n := c.at(s, i)
	pre := prefix(r, k)
	if pre {
		if e := mixedCase(c, s, i+n); e >= 0 {
			return e
		}
	}
	if e := mixedCase(c, s, i); e >= 0 {
		return e
	}
	if pre {
		if e := c.run(s, i+n, uppers); e > i+n {
			return c.run(s, e, lowers)
		}
	}
	if e := c.run(s, i, uppers); e > i {
		return c.run(s, e, lowers)
	}
	if k == number {
		return i + n
	}
	if e := signRun(c, s, i, signs); e > i {
		return skipAny(s, e, "\r\n/")
	}
	return spaces(c, s, i)
}

// prefix reports whether the character matches [^\r\n\p{L}\p{N}].
func prefix(r rune, class uint8) bool {
	return r != '\r' && r != '\n' && (letters|1<<number)>>class&1 == 0
}

// contraction matches what follows the apostrophe in (?i:'s|'t|'re|'ve|'m|'ll|'d), or returns 0. The long s folds to s.
func contraction(s string, i int) int {
	rest := s[i:]
	if strings.HasPrefix(rest, "ſ") {
		return i + len("ſ")
	}
	if rest == "" {
		return 0
	}
	second := byte(0)
	if len(rest) > 1 {
		second = rest[1] | 0x20
	}
	switch rest[0] | 0x20 {
	case 's', 't', 'm', 'd':
		return i + 1
	case 'r', 'v':
		if second == 'e' {
			return i + 2
		}
	case 'l':
		if second == 'l' {
			return i + 2
		}
	}
	return 0
}

// mixedCase matches uppers*lowers+ with the expression's backtracking, or returns -1.
func mixedCase(c *classes, s string, i int) int {
	e := c.run(s, i, uppers)
	if x := c.run(s, e, lowers); x > e {
		return x
	}
	for e > i {
		r, n := utf8.DecodeLastRuneInString(s[i:e])
		if lowers>>c.of(r)&1 != 0 {
			return e
		}
		e -= n
	}
	return -1
}

// signRun matches an optional blank and then one or more characters of the set, or returns i.
func signRun(c *classes, s string, i int, set uint8) int {
	k := i
	if s[k] == ' ' {
		k++
	}
	if e := c.run(s, k, set); e > k {
		return e
	}
	return i
}

func skipAny(s string, i int, chars string) int {
	for i < len(s) && strings.IndexByte(chars, s[i]) >= 0 {
		i++
	}
	return i
}

// spaces matches \s*[\r\n]+ | \s+(?!\S) | \s+.
func spaces(c *classes, s string, i int) int {
	e := c.run(s, i, 1<<space)
	if k := strings.LastIndexAny(s[i:e], "\r\n"); k >= 0 {
		return i + k + 1
	}
	if e < len(s) {
		if _, n := utf8.DecodeLastRuneInString(s[i:e]); e-n > i {
			return e - n
		}
	}
	return e
}
