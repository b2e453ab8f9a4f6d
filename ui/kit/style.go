package kit

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

// Para is a paragraph: its spans, the last of which ends with a line feed, and its shape in points.
type Para struct {
	Spans         []Span
	Before, After float64
	First, Indent float64 // of the first line, of the others
	Tail          float64 // kept free at the right
	Align         Align
	Tabs          []float64 // positions of left tab stops
}
