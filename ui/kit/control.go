//go:build darwin || gnustep

package kit

import (
	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/macos/foundation"
	"github.com/progrium/darwinkit/objc"
)

// NewLabel returns text that cannot be edited, of one line that ends with an ellipsis where it is too long.
func (s *Scope) NewLabel(face Face) appkit.TextField {
	l := Hold(s, appkit.NewTextFieldWithFrame(foundation.Rect{}))
	l.SetEditable(false)
	l.SetSelectable(false)
	l.SetBordered(false)
	l.SetBezeled(false)
	l.SetDrawsBackground(false)
	l.SetFont(Font(face))
	l.SetTextColor(Color(face.Ink))
	objc.Call[objc.Void](objc.Call[objc.Object](l, objc.Sel("cell")), objc.Sel("setLineBreakMode:"), appkit.LineBreakByTruncatingTail)
	return l
}

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

// NewTextView returns a text view for a scroll view, with margins of inset points. Its width follows the scroll view.
func (s *Scope) NewTextView(inset float64) appkit.TextView {
	t := Hold(s, appkit.NewTextViewWithFrame(Frame{W: 400, H: 100}.Rect()))
	t.SetVerticallyResizable(true)
	t.SetHorizontallyResizable(false)
	t.SetMinSize(foundation.Size{})
	t.SetMaxSize(foundation.Size{Width: 1e7, Height: 1e7})
	t.SetAutoresizingMask(appkit.ViewWidthSizable)
	t.SetTextContainerInset(foundation.Size{Width: inset, Height: inset})
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

// Place lays v out.
func Place(v appkit.IView, f Frame) { v.SetFrame(f.Rect()) }

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
	}
}

// SetText changes the text of a field where it differs.
func SetText(f appkit.TextField, text string) {
	if text = Clean(text); f.StringValue() != text {
		f.SetStringValue(text)
	}
}
