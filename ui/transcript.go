//go:build darwin || gnustep

package ui

import (
	"unsafe"

	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/macos/foundation"
	"github.com/progrium/darwinkit/objc"

	"sotto/app/screen"
	"sotto/ui/kit"
)

// transcript is a text view that shows messages. Of what changes only the pieces that look different are set again.
type transcript struct {
	scroll  appkit.ScrollView
	text    appkit.TextView
	storage appkit.TextStorage
	key     any // what is shown; another key begins at the end
	pieces  []piece
	lengths []uint64 // of the pieces, in UTF-16 units
}

func newTranscript(s *kit.Scope, send func(screen.Msg)) *transcript {
	t := &transcript{text: s.NewTextView(16)}
	t.text.SetEditable(false)
	t.text.SetSelectable(true)
	t.text.SetRichText(true)
	kit.Optional(t.text, objc.Sel("setLinkTextAttributes:"), map[foundation.AttributedStringKey]objc.IObject{})
	t.scroll = s.NewScroll(t.text)
	t.storage = kit.Hold(s, t.text.TextStorage())
	d := &appkit.TextViewDelegate{}
	d.SetTextViewClickedOnLinkAtIndex(func(_ appkit.TextView, link objc.Object, _ uint) bool {
		if m := clicked(link.Description()); m != nil {
			send(m)
		}
		return true
	})
	s.TextViewDelegate(t.text, d)
	return t
}

// show draws messages. key names the conversation they belong to.
func (t *transcript) show(key any, messages []screen.MessageView) {
	fresh := t.key != key
	t.key = key
	now := pieces(messages)
	if fresh {
		t.storage.DeleteCharactersInRange(foundation.Range{Length: uint64(t.storage.Length())})
		t.pieces, t.lengths = nil, nil
	}
	c := compare(t.pieces, now)
	if c.from == c.oldTo && c.from == c.newTo {
		return
	}
	follow := fresh || t.atEnd()
	start, old := uint64(0), uint64(0)
	for _, n := range t.lengths[:c.from] {
		start += n
	}
	for _, n := range t.lengths[c.from:c.oldTo] {
		old += n
	}
	text := foundation.NewMutableAttributedString()
	lengths := append([]uint64(nil), t.lengths[:c.from]...)
	for _, p := range now[c.from:c.newTo] {
		set := kit.Typeset(compose(messages, p))
		lengths = append(lengths, uint64(set.Length()))
		text.AppendAttributedString(set)
	}
	t.lengths = append(lengths, t.lengths[c.oldTo:]...)
	t.pieces = now
	t.storage.BeginEditing()
	t.storage.ReplaceCharactersInRangeWithAttributedString(foundation.Range{Location: start, Length: old}, text)
	t.storage.EndEditing()
	if follow {
		t.toEnd()
	}
}

// atEnd tells whether the end is in sight: what comes is followed only then.
func (t *transcript) atEnd() bool {
	seen, all := t.scroll.DocumentVisibleRect(), t.text.Frame()
	return seen.Origin.Y+seen.Size.Height >= all.Size.Height-40
}

func (t *transcript) toEnd() {
	t.text.ScrollRangeToVisible(foundation.Range{Location: uint64(t.storage.Length())}) // lays out what is before it
	t.text.ScrollRectToVisible(kit.Frame{Y: t.text.Frame().Size.Height - 1, W: 1, H: 1}.Rect())
}

// links returns where the links that can be seen lie, in the window.
func (t *transcript) links() map[string]foundation.Rect {
	out := map[string]foundation.Rect{}
	layout, container, origin := t.text.LayoutManager(), t.text.TextContainer(), t.text.TextContainerOrigin()
	seen := kit.FrameOf(t.text.VisibleRect())
	for at, n := uint64(0), uint64(t.storage.Length()); at < n; {
		run := &foundation.Range{}
		value := objc.Call[objc.Object](t.storage, objc.Sel("attribute:atIndex:effectiveRange:"), "NSLink", uint(at),
			unsafe.Pointer(run))
		if !value.IsNil() {
			glyphs := layout.GlyphRangeForCharacterRangeActualCharacterRange(*run, nil)
			r := layout.BoundingRectForGlyphRangeInTextContainer(glyphs, container)
			r.Origin.X += origin.X
			r.Origin.Y += origin.Y
			if f := kit.FrameOf(r); f.Y >= seen.Y && f.Y+f.H <= seen.Y+seen.H {
				out[value.Description()] = t.text.ConvertRectToView(r, nil)
			}
		}
		at = max(at+1, run.Location+run.Length)
	}
	return out
}
