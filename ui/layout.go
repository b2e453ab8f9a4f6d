package ui

import "sotto/ui/kit"

// Sizes of the chat window in points.
const (
	chatWidth, chatHeight       = 980, 680
	chatMinWidth, chatMinHeight = 640, 400

	sidebarWidth  = 236
	pad           = 12
	buttonHeight  = 28
	sendWidth     = 76
	lineHeight    = 18
	composerLeast = 36  // one line
	composerMost  = 180 // then it scrolls
	noticeWidth   = 96  // of a button beside a notice
	noticeLines   = 6   // at most
	noticeMargin  = 4   // that a label keeps at each side of its text
)

// chatShape says what of the chat window is shown.
type chatShape struct {
	composerText float64 // height of the composer's text
	notice       words   // of the notice; empty: there is none
	undo         bool
	noticeButton bool
	otherModel   bool // a second button
	editing      bool
}

// chatFrames are the places of the chat window's parts. A part that is not shown has no size.
type chatFrames struct {
	sidebar, newChat, list, listEmpty, undo, undoText, undoButton kit.Frame
	divider                                                       kit.Frame
	notice, noticeText, noticeButton, otherModel                  kit.Frame
	transcript                                                    kit.Frame
	emptyTitle, emptyText                                         kit.Frame // from the transcript's upper left corner
	composer, send, cancelEdit, model                             kit.Frame
}

func layoutChat(w, h float64, s chatShape) chatFrames {
	var f chatFrames
	content := kit.Frame{W: w, H: h}
	f.sidebar, content = content.Left(min(sidebarWidth, w/2))
	f.divider, content = content.Left(1)

	side := f.sidebar
	row, side := side.Top(buttonHeight + 2*pad)
	f.newChat = row.Inset(pad, pad)
	if s.undo {
		f.undo, side = side.Bottom(buttonHeight + pad)
		inner := f.undo.Inset(pad, pad/2)
		f.undoButton, inner = inner.Right(64)
		f.undoText = inner.Middle(lineHeight)
	}
	f.list = side
	f.listEmpty = side.Inset(pad, pad)

	bottom, content := content.Bottom(composerHeight(s.composerText) + lineHeight + 3*pad/2)
	footer, bottom := bottom.Inset(pad, pad/2).Bottom(lineHeight)
	f.model = footer
	_, bottom = bottom.Bottom(pad / 2)
	buttons, bottom := bottom.Right(sendWidth)
	f.send, _ = buttons.Bottom(composerLeast)
	f.send = f.send.Middle(buttonHeight)
	if s.editing {
		var cut kit.Frame
		cut, bottom = bottom.Right(sendWidth)
		f.cancelEdit, _ = cut.Bottom(composerLeast)
		f.cancelEdit = f.cancelEdit.Middle(buttonHeight)
	}
	_, bottom = bottom.Right(pad / 2)
	f.composer = bottom

	if len(s.notice.widths) > 0 {
		content = f.layoutNotice(content, s)
	}
	f.transcript = content
	empty := kit.Frame{W: content.W, H: content.H}.Middle(120).Inset(60, 0)
	f.emptyTitle, f.emptyText = kit.Frame{X: empty.X, Y: empty.Y, W: empty.W, H: 30},
		kit.Frame{X: empty.X, Y: empty.Y + 30, W: empty.W, H: empty.H - 30}
	return f
}

// layoutNotice places the notice with its buttons and returns what is left.
func (f *chatFrames) layoutNotice(content kit.Frame, s chatShape) (rest kit.Frame) {
	var buttons []*kit.Frame // from the right
	if s.noticeButton {
		buttons = append(buttons, &f.noticeButton)
	}
	if s.otherModel {
		buttons = append(buttons, &f.otherModel)
	}
	room := content.W - 2*pad - float64(len(buttons))*(noticeWidth+pad)
	lines := float64(min(s.notice.lines(room-2*noticeMargin), noticeLines))
	f.notice, rest = content.Top(max(buttonHeight, lines*lineHeight) + pad)
	inner := f.notice.Inset(pad, pad/2)
	for _, b := range buttons {
		*b, inner = inner.Right(noticeWidth)
		*b = b.Middle(buttonHeight)
		_, inner = inner.Right(pad)
	}
	f.noticeText = inner.Middle(lines * lineHeight)
	return rest
}

// composerHeight is the height of the composer for text of a height.
func composerHeight(text float64) float64 { return min(max(text, composerLeast), composerMost) }

// words are the widths of a text's words, and of the space between two.
type words struct {
	widths []float64
	space  float64
}

// lines is how many lines the words take where there is so much room: a line is broken between words, a word only if
// it is wider than a line.
func (w words) lines(room float64) int {
	room = max(room, 1)
	lines, used := 1, 0.0
	for _, width := range w.widths {
		if used > 0 && used+w.space+width > room {
			lines++
			used = 0
		}
		if used > 0 {
			used += w.space
		}
		for used += width; used > room; used -= room {
			lines++
		}
	}
	return lines
}
