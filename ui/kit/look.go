//go:build darwin || gnustep

package kit

import (
	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/macos/foundation"
	"github.com/progrium/darwinkit/objc"
)

// rgb is a colour for systems that have no colour of a role.
type rgb struct{ r, g, b float64 }

// role asks the system for its colour of a role, by the names it has had, newest first.
func role(otherwise rgb, names ...string) appkit.Color {
	class := objc.GetClass("NSColor")
	for _, n := range names {
		if c, ok := OptionalOf[appkit.Color](class, objc.Sel(n)); ok && !c.IsNil() {
			return c
		}
	}
	return appkit.Color_ColorWithCalibratedRedGreenBlueAlpha(otherwise.r, otherwise.g, otherwise.b, 1)
}

// Color returns the colour of an ink.
func Color(i Ink) appkit.Color {
	switch i {
	case InkSecondary:
		return role(rgb{0.45, 0.45, 0.47}, "secondaryLabelColor")
	case InkAccent:
		return role(rgb{0, 0.42, 0.90}, "linkColor")
	case InkError:
		return role(rgb{0.75, 0.15, 0.12}, "systemRedColor")
	default:
		return role(rgb{0.11, 0.11, 0.12}, "labelColor")
	}
}

// Background is the colour behind text.
func Background() appkit.Color { return role(rgb{1, 1, 1}, "textBackgroundColor") }

// Sidebar is the colour behind a list beside the content.
func Sidebar() appkit.Color { return role(rgb{0.95, 0.95, 0.96}, "windowBackgroundColor") }

// CodeFill is the colour behind code.
func CodeFill() appkit.Color { return role(rgb{0.945, 0.945, 0.955}, "quaternarySystemFillColor") }

// Font returns the font of a face.
func Font(f Face) appkit.Font {
	var font appkit.Font
	switch {
	case f.Mono:
		weight := 0.0 // regular, in NSFontWeight
		if f.Bold {
			weight = 0.4
		}
		var ok bool
		font, ok = OptionalOf[appkit.Font](objc.GetClass("NSFont"), objc.Sel("monospacedSystemFontOfSize:weight:"),
			f.Size, weight)
		if !ok {
			font = appkit.Font_UserFixedPitchFontOfSize(f.Size)
		}
	case f.Bold:
		font = appkit.Font_BoldSystemFontOfSize(f.Size)
	default:
		font = appkit.Font_SystemFontOfSize(f.Size)
	}
	if f.Italic {
		font = appkit.FontManager_SharedFontManager().ConvertFontToHaveTrait(font, appkit.ItalicFontMask)
	}
	return font
}

// Rect makes AppKit's rectangle.
func (f Frame) Rect() foundation.Rect {
	return foundation.Rect{
		Origin: foundation.Point{X: f.X, Y: f.Y}, Size: foundation.Size{Width: f.W, Height: f.H},
	}
}

// FrameOf reads AppKit's rectangle.
func FrameOf(r foundation.Rect) Frame {
	return Frame{r.Origin.X, r.Origin.Y, r.Size.Width, r.Size.Height}
}
