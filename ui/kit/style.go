package kit

import "strings"

// Ink is the role of a colour. What it looks like is the system's business, light or dark.
type Ink uint8

// Inks.
const (
	InkText Ink = iota
	InkSecondary
	InkAccent
	InkError
)

// Face is how a stretch of text looks.
type Face struct {
	Size         float64 // points
	Bold, Italic bool
	Mono         bool
	Strike       bool
	Ink          Ink
	Filled       bool // on the background of code
}

// Span is text of one face. Link is what a click tells, "" for no link; a Quiet link looks as its face says.
type Span struct {
	Text  string
	Face  Face
	Link  string
	Quiet bool
}

// Align is where a paragraph's lines stand.
type Align uint8

// Alignments.
const (
	AlignLeft Align = iota
	AlignCenter
	AlignRight
)

// LineBreak breaks a line inside a paragraph.
const LineBreak = "\u2028"

// Para is a paragraph: its spans, the last of which ends with a line feed, and its shape in points.
type Para struct {
	Spans         []Span
	Before, After float64
	First, Indent float64 // of the first line, of the others
	Tail          float64 // kept free at the right
	Align         Align
	Tabs          []float64 // positions of left tab stops
}

// Lines returns the paragraph in pieces without [LineBreak], since GNUstep does not break there: only the first line
// keeps the first line's indent, only the outer edges keep the space around.
func (p Para) Lines() []Para {
	line := p
	line.Spans = nil
	var out []Para
	for _, s := range p.Spans {
		for {
			before, after, broken := strings.Cut(s.Text, LineBreak)
			if !broken {
				break
			}
			cut := s
			cut.Text = before + "\n"
			line.Spans, line.After = append(line.Spans, cut), 0
			out = append(out, line)
			line.Spans, line.Before, line.First = nil, 0, p.Indent
			s.Text = after
		}
		line.Spans = append(line.Spans, s)
	}
	line.After = p.After
	return append(out, line)
}
