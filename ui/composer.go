//go:build darwin || gnustep

package ui

import (
	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/macos/foundation"
	"github.com/progrium/darwinkit/objc"

	"sotto/ui/kit"
)

// composer is a text view in which Return sends and Shift-, Option- or Control-Return breaks the line.
type composer struct {
	scroll appkit.ScrollView
	text   appkit.TextView
	hint   appkit.TextField // what stands in the empty field
	rev    int
	laid   bool // some text was laid in
	single bool // it has one line
}

// Margins around the text in points: where text of several lines is written, and in a small field.
const (
	composerInset = 8
	fieldInset    = 4
)

// composerEvents is what a composer tells.
type composerEvents struct {
	changed func(text string)
	send    func(text string)
	escape  func()
	done    func() // typing has ended; nil: nobody asks
}

func newComposer(s *kit.Scope, inset float64, on composerEvents) *composer {
	c := &composer{text: s.NewTextView(inset)}
	c.text.SetRichText(false)
	c.text.SetFont(kit.Font(body))
	c.text.SetAllowsUndo(true)
	for _, off := range []string{
		"setAutomaticQuoteSubstitutionEnabled:", "setAutomaticDashSubstitutionEnabled:",
	} {
		kit.Optional(c.text, objc.Sel(off), false)
	}
	c.scroll = s.NewScroll(c.text)
	c.scroll.SetBorderType(appkit.LineBorder)
	c.hint = s.NewHint(kit.Face{Size: bodySize, Ink: kit.InkSecondary})
	c.text.AddSubview(c.hint)
	kit.Place(c.hint, kit.Frame{X: inset + 4, Y: inset - 1, W: 400, H: lineHeight})
	d := &appkit.TextViewDelegate{}
	d.SetTextViewDoCommandBySelector(func(_ appkit.TextView, command objc.Selector) bool {
		switch command.Name() {
		case "insertNewline:", "insertLineBreak:", "insertNewlineIgnoringFieldEditor:":
			if c.composing() || !c.single && (command.Name() != "insertNewline:" || breaksLine()) {
				return false
			}
			on.send(c.text.String())
			return true
		case "cancelOperation:", "complete:":
			if c.composing() {
				return false
			}
			on.escape()
			return true
		}
		return false
	})
	d.SetTextDidChange(func(foundation.Notification) {
		text := c.text.String()
		kit.SetHidden(c.hint, text != "")
		on.changed(text)
	})
	if on.done != nil {
		d.SetTextDidEndEditing(func(foundation.Notification) { on.done() })
	}
	s.TextViewDelegate(c.text, d)
	return c
}

// breaksLine tells whether a key that goes with Return asks for a line feed.
func breaksLine() bool {
	e := appkit.Application_SharedApplication().CurrentEvent()
	if e.IsNil() {
		return false
	}
	const breaking = appkit.EventModifierFlagShift | appkit.EventModifierFlagOption | appkit.EventModifierFlagControl
	return objc.Call[appkit.EventModifierFlags](e, objc.Sel("modifierFlags"))&breaking != 0
}

// composing tells whether an input method is in the middle of a character: then keys belong to it.
func (c *composer) composing() bool {
	const none = ^uint64(0) >> 1 // NSNotFound
	r := objc.Call[foundation.Range](c.text, objc.Sel("markedRange"))
	return r.Length > 0 && r.Location != none
}

// show lays text into the field, if it is another than what was laid in last. hint stands in the empty field.
func (c *composer) show(text string, rev int, hint string) {
	if !c.laid || rev != c.rev {
		c.laid, c.rev = true, rev
		if text = kit.Clean(text); c.text.String() != text {
			c.text.SetString(text)
			c.text.SetSelectedRange(foundation.Range{Location: uint64(c.text.TextStorage().Length())})
		}
	}
	kit.SetText(c.hint, hint)
	kit.SetHidden(c.hint, c.text.TextStorage().Length() > 0)
}

// height is how high the field would be to show all of its text, margins and border included.
func (c *composer) height() float64 {
	used := objc.Call[foundation.Rect](c.text.LayoutManager(), objc.Sel("usedRectForTextContainer:"),
		c.text.TextContainer())
	return used.Size.Height + 2*c.text.TextContainerInset().Height + 2
}
