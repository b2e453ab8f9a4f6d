//go:build darwin || gnustep

package kit

import (
	"sync"

	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/macos/foundation"
	"github.com/progrium/darwinkit/objc"
)

// NewLabel returns text that cannot be edited, of one line that ends with an ellipsis where it is too long.
func (s *Scope) NewLabel(face Face) appkit.TextField {
	return label(Hold(s, appkit.NewTextFieldWithFrame(foundation.Rect{})), face)
}

func label(l appkit.TextField, face Face) appkit.TextField {
	l.SetEditable(false)
	l.SetSelectable(false)
	l.SetBordered(false)
	l.SetBezeled(false)
	l.SetDrawsBackground(false)
	l.SetFont(Font(face))
	l.SetTextColor(Color(face.Ink))
	cell := objc.Call[objc.Object](l, objc.Sel("cell"))
	objc.Call[objc.Void](cell, objc.Sel("setLineBreakMode:"), appkit.LineBreakByTruncatingTail)
	return l
}

// NewHint returns a label that lets clicks through to what lies below it.
func (s *Scope) NewHint(face Face) appkit.TextField {
	room := objc.Call[objc.Object](hintClass(), objc.Sel("alloc"))
	hint := objc.Call[appkit.TextField](room, objc.Sel("initWithFrame:"), foundation.Rect{})
	hint.Autorelease()
	return label(Hold(s, hint), face)
}

// hintClass is registered with the first hint: a class cannot be taken back.
var hintClass = sync.OnceValue(func() objc.Class {
	class := objc.AllocateClass(objc.GetClass("NSTextField"), "SottoHint", 0)
	objc.AddMethod(class, objc.Sel("hitTest:"), func(objc.Object, foundation.Point) objc.Object {
		return objc.Object{}
	})
	objc.RegisterClass(class)
	return class
})

// NewButton returns a push button that runs f.
func (s *Scope) NewButton(title string, f func()) appkit.Button {
	b := Hold(s, appkit.NewButtonWithFrame(foundation.Rect{}))
	b.SetTitle(title)
	b.SetBezelStyle(appkit.BezelStyleRounded)
	b.SetFont(Font(Face{Size: 13}))
	s.Action(b, f)
	return b
}

// NewLine returns a thin line between parts.
func (s *Scope) NewLine() appkit.Box {
	b := Hold(s, appkit.NewBoxWithFrame(foundation.Rect{}))
	b.SetBoxType(appkit.BoxSeparator)
	return b
}

// NewScroll returns a view that scrolls its document up and down.
func (s *Scope) NewScroll(document appkit.IView) appkit.ScrollView {
	v := Hold(s, appkit.NewScrollViewWithFrame(Frame{W: 100, H: 100}.Rect()))
	v.SetHasVerticalScroller(true)
	v.SetHasHorizontalScroller(false)
	v.SetBorderType(appkit.NoBorder)
	v.SetAutohidesScrollers(true)
	v.SetDocumentView(document)
	return v
}

// textPadding is what stands left and right of text in addition to the margins of its view.
const textPadding = 5

// NewTextView returns a text view for a scroll view, with margins of inset points. Its width follows the scroll view.
func (s *Scope) NewTextView(inset float64) appkit.TextView {
	t := Hold(s, appkit.NewTextViewWithFrame(Frame{W: 400, H: 100}.Rect()))
	t.SetVerticallyResizable(true)
	t.SetHorizontallyResizable(false)
	t.SetMinSize(foundation.Size{})
	t.SetMaxSize(foundation.Size{Width: 1e7, Height: 1e7})
	t.SetAutoresizingMask(appkit.ViewWidthSizable)
	t.SetTextContainerInset(foundation.Size{Width: inset + textPadding, Height: inset})
	t.TextContainer().SetLineFragmentPadding(0) // GNUstep and AppKit count indents from different sides of it
	objc.Call[objc.Void](t.TextContainer(), objc.Sel("setContainerSize:"), foundation.Size{Width: 400, Height: 1e7})
	t.TextContainer().SetWidthTracksTextView(true)
	t.SetBackgroundColor(Background())
	t.SetTextColor(Color(InkText))
	return t
}

// PlaceText lays a scroll view out and makes its text as wide as there is room.
func PlaceText(v appkit.ScrollView, t appkit.TextView, f Frame) {
	Place(v, f)
	room, now := v.ContentSize(), t.Frame().Size
	if room.Width > 0 && now.Width != room.Width {
		t.SetFrameSize(foundation.Size{Width: room.Width, Height: max(now.Height, room.Height)})
	}
}

// Place lays v out. What it leaves and what it takes is drawn anew.
func Place(v appkit.IView, f Frame) {
	old := FrameOf(v.Frame())
	if old == f {
		return
	}
	v.SetFrame(f.Rect())
	if s := v.Superview(); !s.IsNil() {
		s.SetNeedsDisplayInRect(old.Rect())
		s.SetNeedsDisplayInRect(f.Rect())
	}
}

// Wrap lets a label have more than one line.
func Wrap(l appkit.TextField) {
	objc.Call[objc.Void](objc.Call[objc.Object](l, objc.Sel("cell")), objc.Sel("setWraps:"), true)
	objc.Call[objc.Void](objc.Call[objc.Object](l, objc.Sel("cell")), objc.Sel("setLineBreakMode:"),
		appkit.LineBreakByWordWrapping)
}

// SetHidden shows or hides v, where that is a change.
func SetHidden(v appkit.IView, hidden bool) {
	if v.IsHidden() != hidden {
		v.SetHidden(hidden)
		if s := v.Superview(); !s.IsNil() {
			s.SetNeedsDisplayInRect(v.Frame())
		}
	}
}

// SetText changes the text of a field where it differs.
func SetText(f appkit.TextField, text string) {
	if text = Clean(text); f.StringValue() != text {
		f.SetStringValue(text)
	}
}
