package screen

import (
	"html"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// flattener turns a syntax tree into blocks.
type flattener struct {
	source []byte
	blocks []Block
}

// nesting is what is around a block.
type nesting struct {
	quote, list int
	marker      *string // of the list item, taken by its first block
}

func (f *flattener) block(n ast.Node, in nesting) {
	switch n := n.(type) {
	case *ast.Heading:
		f.add(Block{Kind: Heading, Level: n.Level, Runs: f.runs(n)}, in)
	case *ast.FencedCodeBlock:
		f.add(Block{Kind: Code, Text: f.lines(n), Lang: string(n.Language(f.source))}, in)
	case *ast.CodeBlock:
		f.add(Block{Kind: Code, Text: f.lines(n)}, in)
	case *ast.ThematicBreak:
		f.add(Block{Kind: Rule}, in)
	case *extast.Table:
		f.add(Block{Kind: Table, Rows: f.rows(n)}, in)
	case *ast.Blockquote:
		in.quote++
		f.children(n, in)
	case *ast.List:
		f.list(n, in)
	default: // Paragraph, and TextBlock in tight lists
		if runs := f.runs(n); len(runs) > 0 || in.marker != nil && *in.marker != "" {
			f.add(Block{Kind: Paragraph, Runs: runs}, in)
		}
	}
}

func (f *flattener) children(n ast.Node, in nesting) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		f.block(c, in)
	}
}

// list flattens the items; each marks its first block, an empty one makes a paragraph to mark.
func (f *flattener) list(n *ast.List, in nesting) {
	in.list++
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		if in.marker != nil && *in.marker != "" { // the outer item begins with this list
			f.add(Block{Kind: Paragraph}, nesting{quote: in.quote, list: in.list - 1, marker: in.marker})
		}
		marker := "•"
		if n.IsOrdered() {
			marker = strconv.Itoa(number) + "."
			number++
		}
		inner := in
		inner.marker = &marker
		f.children(item, inner)
		if marker != "" {
			f.add(Block{Kind: Paragraph}, inner)
		}
	}
}

func (f *flattener) add(b Block, in nesting) {
	b.Quote, b.List = in.quote, in.list
	if in.marker != nil {
		b.Marker, *in.marker = *in.marker, ""
		if len(b.Runs) > 0 && b.Runs[0].Text == boxEmpty || len(b.Runs) > 0 && b.Runs[0].Text == boxDone {
			b.Marker, b.Runs = b.Runs[0].Text, b.Runs[1:]
		}
	}
	f.blocks = append(f.blocks, b)
}

// lines is the text of a code block without its last line feed.
func (f *flattener) lines(n ast.Node) string {
	return strings.TrimSuffix(string(n.Lines().Value(f.source)), "\n")
}

func (f *flattener) rows(n *extast.Table) [][]Cell {
	var rows [][]Cell
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		var row []Cell
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			cell := Cell{Runs: f.runs(c)}
			if tc, ok := c.(*extast.TableCell); ok {
				switch tc.Alignment {
				case extast.AlignCenter:
					cell.Align = AlignCenter
				case extast.AlignRight:
					cell.Align = AlignRight
				default:
				}
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return rows
}

// Markers of task lists.
const (
	boxEmpty = "☐"
	boxDone  = "☑"
)

// runs flattens inline content; neighbours of one style are joined.
func (f *flattener) runs(n ast.Node) []Run {
	w := inline{source: f.source}
	w.children(n, 0, "")
	if k := len(w.runs); k > 0 { // a line break at the end shows nothing
		if w.runs[k-1].Text = strings.TrimSuffix(w.runs[k-1].Text, "\n"); w.runs[k-1].Text == "" {
			w.runs = w.runs[:k-1]
		}
	}
	return w.runs
}

// inline collects runs.
type inline struct {
	source []byte
	runs   []Run
}

func (w *inline) add(s string, style Style, target string) {
	if s == "" {
		return
	}
	if k := len(w.runs); k > 0 && w.runs[k-1].Style == style && w.runs[k-1].Target == target &&
		w.runs[k-1].Text != boxEmpty && w.runs[k-1].Text != boxDone {
		w.runs[k-1].Text += s
		return
	}
	w.runs = append(w.runs, Run{s, style, target})
}

func (w *inline) children(n ast.Node, style Style, target string) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.node(c, style, target)
	}
}

func (w *inline) node(n ast.Node, style Style, target string) {
	switch n := n.(type) {
	case *ast.Text:
		w.text(n, style, target)
	case *ast.String:
		w.add(string(n.Value), style, target)
	case *ast.CodeSpan:
		w.code(n, style|Mono, target)
	case *ast.Emphasis:
		if n.Level > 1 {
			style |= Bold
		} else {
			style |= Italic
		}
		w.children(n, style, target)
	case *extast.Strikethrough:
		w.children(n, style|Strike, target)
	case *ast.Link:
		w.children(n, style|Link, unescape(string(n.Destination)))
	case *ast.Image:
		w.children(n, style|Link, unescape(string(n.Destination)))
	case *ast.AutoLink:
		label, url := string(n.Label(w.source)), string(n.URL(w.source))
		if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(url, "mailto:") {
			url = "mailto:" + url
		}
		w.add(label, style|Link, url)
	case *ast.RawHTML:
		w.html(string(n.Segments.Value(w.source)), style, target)
	case *extast.TaskCheckBox:
		box := boxEmpty
		if n.IsChecked {
			box = boxDone
		}
		w.runs = append(w.runs, Run{Text: box})
	default:
		w.children(n, style, target)
	}
}

func (w *inline) text(n *ast.Text, style Style, target string) {
	s := string(n.Segment.Value(w.source))
	if !n.IsRaw() {
		s = unescape(s)
	}
	if n.HardLineBreak() || n.SoftLineBreak() {
		s += "\n"
	}
	w.add(s, style, target)
}

// code is the content of a code span, in which a line break is a space.
func (w *inline) code(n *ast.CodeSpan, style Style, target string) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			w.add(strings.ReplaceAll(string(t.Segment.Value(w.source)), "\n", " "), style, target)
		}
	}
}

// html shows tags as they are, but for the line break that models put into tables.
func (w *inline) html(tag string, style Style, target string) {
	switch strings.ToLower(strings.ReplaceAll(tag, " ", "")) {
	case "<br>", "<br/>":
		tag = "\n"
	}
	w.add(tag, style, target)
}

// unescape resolves backslashes before punctuation and references of characters.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && punctuation(s[i+1]) {
			i++
			b.WriteByte(s[i])
			continue
		}
		if s[i] == '&' {
			if end := strings.IndexByte(s[i:min(i+maxReference, len(s))], ';'); end > 0 {
				b.WriteString(html.UnescapeString(s[i : i+end+1]))
				i += end
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// maxReference is longer than the longest name of a character.
const maxReference = 40

// punctuation says whether c is ASCII punctuation.
func punctuation(c byte) bool {
	return c >= '!' && c <= '/' || c >= ':' && c <= '@' || c >= '[' && c <= '`' || c >= '{' && c <= '~'
}
