package screen

import (
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// Doc is Markdown that arrives in pieces, as blocks. It is a value: Append returns a new one.
//
// A block is finished when a later block of the top level has begun on a whole line; what comes after cannot change
// it. That holds because the dialect has nothing that reaches back: no reference links, no setext headings, no raw
// HTML blocks. The rest is CommonMark with tables, strikethrough, task lists and bare links; line breaks are kept.
// Nesting and the width of tables are bounded.
type Doc struct {
	text     string
	open     int     // offset of the text whose blocks are not finished; begins a line
	finished int     // number of blocks before it
	blocks   []Block // finished ones, then those of the open text as they look now
	rev      int     // newest revision given out
	cr       bool    // the text so far ended with a carriage return
}

// Append adds a piece of text.
func (d Doc) Append(piece string) Doc {
	piece = d.lineFeeds(piece)
	if piece == "" {
		return d
	}
	d.text += piece
	from := d
	if strings.Contains(piece, "\n") {
		d.settle()
	}
	tail, _ := parse(mend(d.text[d.open:]))
	return d.with(from, tail)
}

// End says that nothing more comes: what was left open is taken as it is, and every block is finished.
func (d Doc) End() Doc {
	tail, _ := parse(d.text[d.open:])
	d = d.with(d, tail)
	d.open, d.finished = len(d.text), len(d.blocks)
	return d
}

// Blocks are what the text looks like now. They are not changed by what is appended later.
func (d Doc) Blocks() []Block { return d.blocks }

// Finished is the number of blocks that stay as they are whatever is appended.
func (d Doc) Finished() int { return d.finished }

// blocksOf parses a whole text.
func blocksOf(s string) []Block { return Doc{}.Append(s).End().Blocks() }

// plain shows text as it was typed.
func plain(s string) []Block {
	if s == "" {
		return nil
	}
	return []Block{{Kind: Paragraph, Rev: 1, Runs: []Run{{Text: s}}}}
}

// lineFeeds turns every line ending into a line feed, also one that is cut in two.
func (d *Doc) lineFeeds(s string) string {
	if s == "" {
		return s
	}
	if d.cr && s[0] == '\n' {
		s, d.cr = s[1:], false
		if s == "" {
			return s
		}
	}
	d.cr = s[len(s)-1] == '\r'
	if strings.Contains(s, "\r") {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	}
	return s
}

// settle moves the border of the open text to the last block of the top level that the whole lines hold, and lays the
// blocks before it down.
func (d *Doc) settle() {
	whole := d.text[d.open : strings.LastIndexByte(d.text, '\n')+1]
	blocks, tops := parse(whole)
	if len(tops) < 2 {
		return
	}
	last := tops[len(tops)-1]
	d.open += last.offset
	d.blocks = slices.Concat(d.blocks[:d.finished], blocks[:last.first])
	d.finished = len(d.blocks)
}

// with sets the blocks behind the finished ones. Blocks that look as they did in from keep their revision.
func (d Doc) with(from Doc, tail []Block) Doc {
	blocks := slices.Concat(d.blocks[:d.finished], tail)
	next := from.rev + 1
	for i := from.finished; i < len(blocks); i++ {
		if i < len(from.blocks) && from.blocks[i].looks(blocks[i]) {
			blocks[i].Rev = from.blocks[i].Rev
			continue
		}
		blocks[i].Rev, d.rev = next, next
	}
	d.blocks = blocks
	return d
}

// looks says whether two blocks look the same.
func (b Block) looks(c Block) bool {
	return b.Kind == c.Kind && b.Level == c.Level && b.Quote == c.Quote && b.List == c.List && b.Marker == c.Marker &&
		b.Text == c.Text && b.Lang == c.Lang && slices.Equal(b.Runs, c.Runs) &&
		slices.EqualFunc(b.Rows, c.Rows, func(r, s []Cell) bool {
			return slices.EqualFunc(r, s, func(x, y Cell) bool {
				return x.Align == y.Align && slices.Equal(x.Runs,
					y.Runs)
			})
		})
}

// top is a block of the top level.
type top struct {
	offset int // of the line where it begins
	first  int // index of its first Block
}

// parse makes the blocks of a text and says where those of the top level begin.
func parse(s string) ([]Block, []top) {
	source := []byte(s)
	f := flattener{source: source}
	var tops []top
	for n := dialect.Parse(text.NewReader(source)).FirstChild(); n != nil; n = n.NextSibling() {
		offset := strings.LastIndexByte(s[:max(start(n), 0)], '\n') + 1
		// A table and the lines above it were one paragraph, and are one for this purpose.
		if k := len(tops); k == 0 || offset > tops[k-1].offset {
			tops = append(tops, top{offset, len(f.blocks)})
		}
		f.block(n, nesting{})
	}
	return f.blocks, tops
}

// start is where a block begins. Where the parser does not know, it is the start of its first child.
func start(n ast.Node) int {
	for ; n != nil; n = n.FirstChild() {
		if p := n.Pos(); p >= 0 {
			return p
		}
	}
	return -1
}
