package screen

// BlockKind tells the kinds of [Block] apart.
type BlockKind uint8

// Kinds of blocks.
const (
	Paragraph BlockKind = iota + 1
	Heading
	Code  // Text and Lang
	Table // Rows
	Rule
)

// Block is a piece of a message that is laid out on its own. Nested structure is flat: a paragraph in a list in a quote
// is a Paragraph with Quote 1 and List 1.
//
// While a message streams, a block keeps its index and its Rev for as long as it looks the same: a front end keeps what
// it drew for (message, index) and draws again only where Rev differs, and what is beyond the end is gone.
type Block struct {
	Kind   BlockKind
	Rev    int
	Level  int      // Heading: 1 to 6
	Quote  int      // depth of quotes around it
	List   int      // depth of lists around it, 0 for none
	Marker string   // first block of a list item: "•", "3.", "☐", "☑"
	Runs   []Run    // Paragraph, Heading
	Text   string   // Code, without the last line feed
	Lang   string   // Code: language as the author named it, "" if not
	Rows   [][]Cell // Table: the first row is the header
}

// Run is text of one style. Runs are comparable. "\n" in Text breaks the line.
type Run struct {
	Text   string
	Style  Style
	Target string // of a link
}

// Style is a set of attributes of a run.
type Style uint8

// Attributes.
const (
	Bold Style = 1 << iota
	Italic
	Mono
	Strike
	Link // Run.Target
)

// Align is the alignment of a table's column.
type Align uint8

// Alignments.
const (
	AlignLeft Align = iota
	AlignCenter
	AlignRight
)

// Cell is a cell of a table.
type Cell struct {
	Runs  []Run
	Align Align
}
