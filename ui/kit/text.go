//go:build darwin || gnustep

package kit

import (
	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/macos/foundation"
	"github.com/progrium/darwinkit/objc"
)

// Names of attributes as AppKit spells them.
const (
	attrFont       foundation.AttributedStringKey = "NSFont"
	attrColor      foundation.AttributedStringKey = "NSColor"
	attrBackground foundation.AttributedStringKey = "NSBackgroundColor"
	attrParagraph  foundation.AttributedStringKey = "NSParagraphStyle"
	attrLink       foundation.AttributedStringKey = "NSLink"
	attrStrike     foundation.AttributedStringKey = "NSStrikethrough"
	attrUnderline  foundation.AttributedStringKey = "NSUnderline"
)

// Typeset makes AppKit's text of paragraphs.
func Typeset(paras []Para) foundation.MutableAttributedString {
	out := foundation.NewMutableAttributedString()
	for _, whole := range paras {
		for _, p := range whole.Lines() {
			space(out, p.Before)
			style := paragraphStyle(p)
			for _, s := range p.Spans {
				attrs := attributes(s)
				attrs[attrParagraph] = style
				out.AppendAttributedString(foundation.NewAttributedStringWithStringAttributes(Clean(s.Text), attrs))
			}
			space(out, p.After)
		}
	}
	return out
}

// space appends an empty line of a height: GNUstep lays no other space between paragraphs.
func space(out foundation.MutableAttributedString, height float64) {
	if height <= 0 {
		return
	}
	const lineHeight = 1.21 // of a font's size
	out.AppendAttributedString(foundation.NewAttributedStringWithStringAttributes("\n",
		map[foundation.AttributedStringKey]objc.IObject{attrFont: appkit.Font_SystemFontOfSize(height / lineHeight)}))
}

func attributes(s Span) map[foundation.AttributedStringKey]objc.IObject {
	a := map[foundation.AttributedStringKey]objc.IObject{attrFont: Font(s.Face), attrColor: Color(s.Face.Ink)}
	if s.Face.Filled {
		a[attrBackground] = CodeFill()
	}
	if s.Face.Strike {
		a[attrStrike] = foundation.Number_NumberWithInt(1)
	}
	if s.Link != "" {
		a[attrLink] = foundation.String_StringWithString(Clean(s.Link))
		if !s.Quiet {
			a[attrColor] = Color(InkAccent)
			a[attrUnderline] = foundation.Number_NumberWithInt(1)
		}
	}
	return a
}

func paragraphStyle(p Para) appkit.MutableParagraphStyle {
	s := appkit.NewMutableParagraphStyle()
	s.SetFirstLineHeadIndent(p.First)
	s.SetHeadIndent(p.Indent)
	s.SetTailIndent(-p.Tail)
	s.SetLineSpacing(2)
	switch p.Align {
	case AlignCenter:
		s.SetAlignment(appkit.TextAlignmentCenter)
	case AlignRight:
		s.SetAlignment(appkit.TextAlignmentRight)
	case AlignLeft:
	}
	if len(p.Tabs) > 0 {
		tabs := make([]appkit.ITextTab, len(p.Tabs))
		for i, at := range p.Tabs {
			t := objc.Call[appkit.TextTab](appkit.TextTabClass.Alloc(), objc.Sel("initWithType:location:"),
				appkit.LeftTabStopType, at)
			t.Autorelease()
			tabs[i] = t
		}
		s.SetTabStops(tabs)
	}
	return s
}

// Width is how wide text of one line is, in points.
func Width(text string, face Face) float64 {
	t := foundation.NewAttributedStringWithStringAttributes(Clean(text), attributes(Span{Face: face}))
	return objc.Call[foundation.Size](t, objc.Sel("size")).Width
}

// Fit shortens text of one line to a width in points.
func Fit(text string, face Face, width float64) string {
	return Shorten(Clean(text), width, func(s string) float64 { return Width(s, face) })
}
