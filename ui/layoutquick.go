package ui

import (
	"sotto/app/screen"
	"sotto/ui/kit"
)

// Sizes of the quick prompt in points.
const (
	quickWidth = 640
	quickLeast = 88 // with nothing asked yet
	quickMost  = 440
)

// quickFrames are the places of the quick prompt's parts.
type quickFrames struct {
	field, ask, transcript, hint, anew, copy, move kit.Frame
}

func layoutQuick(w, h, text float64, answers bool) quickFrames {
	var f quickFrames
	_, rest := kit.Frame{W: w, H: h}.Top(pad)
	row, rest := rest.Top(composerHeight(text))
	row = row.Inset(pad, 0)
	buttons, row := row.Right(sendWidth)
	f.ask, _ = buttons.Top(composerLeast)
	f.ask = f.ask.Middle(buttonHeight)
	_, row = row.Right(pad / 2)
	f.field = row
	_, rest = rest.Top(pad / 2)
	foot, rest := rest.Bottom(buttonHeight + pad)
	foot = foot.Inset(pad, pad/2)
	if answers {
		f.move, foot = foot.Right(150)
		_, foot = foot.Right(pad / 2)
		f.copy, foot = foot.Right(sendWidth)
		_, foot = foot.Right(pad / 2)
		f.anew, foot = foot.Right(sendWidth)
		f.transcript = rest
	}
	f.hint = foot.Middle(lineHeight)
	return f
}

// quickHint is the line at the foot of the quick prompt.
func quickHint(v screen.QuickView) string {
	switch {
	case v.Hint != "":
		return v.Hint
	case len(v.Messages) == 0:
		return "Return asks, Esc closes"
	default:
		return ""
	}
}
