package prompt

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of a template.
const (
	maxTemplate = 256 << 10 // bytes
	maxTag      = 32 << 10  // bytes of code in one tag
	maxBrackets = 64        // brackets inside one another
	maxBlocks   = 100       // blocks inside one another
	maxSigns    = 32        // signs or nots in a row
	maxNumber   = 1 << 20   // a whole number in code
	maxFactor   = 256       // a factor that is computed; it may repeat a text
	maxProduct  = 1024      // the product of all factors in one tag
)

// names are the variables by which a rewritten template calls back; prefixed so that no template has them.
type names struct{ prefix string }

func (n names) out() string             { return n.prefix + "out" }
func (n names) step() string            { return n.prefix + "step" }
func (n names) enter() string           { return n.prefix + "enter" }
func (n names) leave() string           { return n.prefix + "leave" }
func (n names) size() string            { return n.prefix + "size" }
func (n names) count() string           { return n.prefix + "count" }
func (n names) filter(of string) string { return n.prefix + of }

// ownFilters are the filters that this package brings, because the library's differ from Python's.
var ownFilters = map[string]bool{"string": true, "tojson": true}

// rewriter turns a template into one for the library: white space is settled, literals become expressions, strings
// lose escapes that the library does not know, and calls are put in that count output, steps and depth.
type rewriter struct {
	names  names
	b      strings.Builder
	blocks []string
	factor int // the product of the factors in this tag
}

func rewrite(src string) (string, names, error) {
	n := names{prefix: "sotto_"}
	for strings.Contains(src, n.prefix) {
		n.prefix += "_"
	}
	if len(src) > maxTemplate {
		return "", n, fmt.Errorf("%w: %d bytes, at most %d", ErrLimit, len(src), maxTemplate)
	}
	if !utf8.ValidString(src) {
		return "", n, errors.New("the text is not UTF-8")
	}
	pieces, err := lex(src)
	if err != nil {
		return "", n, err
	}
	r := &rewriter{names: n}
	for _, p := range pieces {
		if err := r.piece(p); err != nil {
			return "", n, fmt.Errorf("line %d: %w", p.line, err)
		}
	}
	return r.b.String(), n, nil
}

func (r *rewriter) call(name, args string) { fmt.Fprintf(&r.b, "{{ %s(%s) }}", name, args) }

func (r *rewriter) piece(p piece) error {
	if p.kind == literal {
		r.call(r.names.out(), quote(p.text))
		return nil
	}
	if len(p.text) > maxTag {
		return fmt.Errorf("%w: a tag of %d bytes, at most %d", ErrLimit, len(p.text), maxTag)
	}
	code, err := r.code(p.text)
	if err != nil {
		return err
	}
	if p.kind == expression {
		if strings.TrimSpace(code) == "" {
			return errors.New("an empty expression")
		}
		r.call(r.names.out(), code)
		return nil
	}
	return r.statement(strings.TrimSpace(code))
}

var (
	word   = regexp.MustCompile(`^[A-Za-z_]+`)
	target = regexp.MustCompile(`^set\s+([A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)?)\s*=`)
	block  = regexp.MustCompile(`^set\s+[A-Za-z_][A-Za-z_0-9]*$`)
)

func (r *rewriter) statement(code string) error {
	keyword := word.FindString(code)
	if err := r.nest(keyword, code); err != nil {
		return err
	}
	if keyword == "endmacro" {
		r.call(r.names.leave(), "")
	}
	fmt.Fprintf(&r.b, "{%% %s %%}", code)
	switch keyword {
	case "for":
		r.call(r.names.step(), "")
	case "macro":
		r.call(r.names.enter(), "")
	case "set":
		if m := target.FindStringSubmatch(code); m != nil {
			r.call(r.names.size(), m[1])
		}
	}
	return nil
}

// nest follows the blocks and refuses statements that the library would misread.
func (r *rewriter) nest(keyword, code string) error {
	switch keyword {
	case "set":
		if target.MatchString(code) {
			return nil
		}
		if !block.MatchString(code) {
			return fmt.Errorf("set with several names is not supported: %q", short(code))
		}
	case "macro":
		if err := macroHeader(code); err != nil {
			return err
		}
	case "for":
		if strings.HasSuffix(code, "recursive") {
			return errors.New("recursive loops are not supported")
		}
	case "if", "filter", "call", "generation":
	case "endif", "endfor", "endmacro", "endset", "endfilter", "endcall", "endgeneration":
		if len(r.blocks) == 0 || "end"+r.blocks[len(r.blocks)-1] != keyword {
			return fmt.Errorf("%s without its beginning", keyword)
		}
		r.blocks = r.blocks[:len(r.blocks)-1]
		return nil
	case "elif", "else", "break", "continue":
		return nil
	default:
		return fmt.Errorf("unknown statement %q", short(code))
	}
	if r.blocks = append(r.blocks, keyword); len(r.blocks) > maxBlocks {
		return fmt.Errorf("%w: %d blocks inside one another", ErrLimit, len(r.blocks))
	}
	return nil
}

// macroHeader refuses default values with commas, at which the library would cut them.
func macroHeader(code string) error {
	_, params, _ := strings.Cut(code, "(")
	depth, quote := 0, rune(0)
	for _, c := range params {
		switch {
		case c == ',' && (quote != 0 || depth > 0):
			return errors.New("a macro's default value with a comma is not supported")
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case strings.ContainsRune("([{", c):
			depth++
		case strings.ContainsRune(")]}", c):
			depth--
		}
	}
	return nil
}

func short(s string) string {
	if len(s) > 40 {
		s = s[:40]
	}
	return strings.ToValidUTF8(s, "")
}

// token is a token of a tag's code.
var token = regexp.MustCompile(`^(?:\s+|[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|[A-Za-z_][A-Za-z_0-9]*|` +
	`'(?:[^'\\]|\\[\s\S])*'|"(?:[^"\\]|\\[\s\S])*"|\*\*|//|[=!<>]=|[-+*/%~|.,:()\[\]{}=<>])`)

// code copies the code of a tag, checked, with strings and the names of filters rewritten.
func (r *rewriter) code(text string) (string, error) {
	var b strings.Builder
	depth, signs := 0, 0
	last := "" // the token before
	r.factor = 1
	for text != "" {
		t := token.FindString(text)
		if t == "" {
			return "", fmt.Errorf("code that is not understood: %q", short(text))
		}
		text = text[len(t):]
		if strings.TrimSpace(t) == "" {
			b.WriteString(t)
			continue
		}
		signs = inARow(signs, t)
		switch {
		case strings.Contains("([{", t):
			depth++
		case strings.Contains(")]}", t):
			depth--
			if last == "}" || last == "%" {
				b.WriteByte(' ')
			}
		}
		if depth > maxBrackets || signs > maxSigns {
			return "", fmt.Errorf("%w: an expression nested too deeply", ErrLimit)
		}
		out, err := r.one(t, last)
		if err != nil {
			return "", err
		}
		b.WriteString(out)
		last = t
		switch t {
		case "**":
			return "", errors.New("the operator ** is not supported")
		case "*":
			code, used, err := r.multiply(text)
			if err != nil {
				return "", err
			}
			b.WriteString(" " + code)
			text = strings.TrimLeft(text, " \t\r\n")[used:]
		}
	}
	if depth != 0 {
		return "", errors.New("an expression without an end")
	}
	return b.String(), nil
}

// one returns what stands for token t, which comes after last.
func (r *rewriter) one(t, last string) (string, error) {
	switch c := t[0]; {
	case c == '\'' || c == '"':
		s, err := unquote(t[1 : len(t)-1])
		return quote(s), err
	case last == "|" && ownFilters[t]:
		return r.names.filter(t), nil
	}
	return t, r.number(t)
}

// inARow counts the signs and nots that end with t.
func inARow(before int, t string) int {
	if t == "-" || t == "+" || t == "not" {
		return before + 1
	}
	return 0
}

func (r *rewriter) number(t string) error {
	if t[0] < '0' || t[0] > '9' {
		return nil
	}
	if v, err := strconv.ParseFloat(t, 64); err != nil || v > maxNumber {
		return fmt.Errorf("%w: the number %s", ErrLimit, short(t))
	}
	return nil
}

// multiply checks what follows a sign of multiplication, since a text is repeated by it. It returns the code with which
// a factor that is no number is read: a name or a bracket then becomes a call that checks its value.
func (r *rewriter) multiply(rest string) (code string, used int, err error) {
	rest = strings.TrimLeft(rest, " \t\r\n")
	n := maxFactor
	if m := digits.FindString(rest); m != "" {
		n, err = strconv.Atoi(m)
		if err != nil {
			n = maxProduct
		}
	} else if rest != "" && rest[0] == '(' {
		code = r.names.count()
	} else if m := path.FindStringSubmatch(rest); m != nil {
		code, used = r.names.count()+"("+m[1]+")", len(m[1])
	} else {
		return "", 0, errors.New("a product with such a factor is not supported: " + strconv.Quote(short(rest)))
	}
	if r.factor *= max(n, 1); r.factor > maxProduct {
		return "", 0, fmt.Errorf("%w: products of more than %d", ErrLimit, maxProduct)
	}
	return code, used, nil
}

var (
	digits = regexp.MustCompile(`^[0-9]+(?:\.[0-9]+)?`)
	path   = regexp.MustCompile(`^([A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)*)` +
		`\s*(?:[^\s\[(.|A-Za-z_0-9]|$|(?:else|if|and|or|in|is|not)\b)`)
)

// quote writes a string literal in the escapes that the library knows.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// unquote resolves the escapes of a Python string literal. An unknown one stays as it is, backslash included.
func unquote(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	simple := map[byte]string{
		'n': "\n", 't': "\t", 'r': "\r", '\\': `\`, '\'': "'", '"': `"`, 'a': "\a", 'b': "\b",
		'f': "\f", 'v': "\v", '\n': "",
	}
	wide := map[byte]int{'x': 2, 'u': 4, 'U': 8}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		c := s[i]
		if text, ok := simple[c]; ok {
			b.WriteString(text)
			continue
		}
		digits, ok := wide[c]
		if !ok {
			b.WriteByte('\\')
			b.WriteByte(c)
			continue
		}
		if i+digits >= len(s) {
			return "", errors.New("a string with a cut escape")
		}
		v, err := strconv.ParseUint(s[i+1:i+1+digits], 16, 32)
		if err != nil || !utf8.ValidRune(rune(v)) {
			return "", fmt.Errorf("a string with the escape %q", s[i-1:i+1+digits])
		}
		b.WriteRune(rune(v))
		i += digits
	}
	return b.String(), nil
}
