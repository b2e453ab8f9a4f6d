package ui

import "sotto/ui/kit"

// Sizes of the panel of a service call in points.
const serviceWidth, serviceHeight = 520, 380

// serviceFrames are the places of the panel's parts.
type serviceFrames struct {
	source, line, transcript, stop, copy, done, replace kit.Frame
}

func layoutService(w, h float64) serviceFrames {
	var f serviceFrames
	top, rest := kit.Frame{W: w, H: h}.Top(lineHeight + 2*pad)
	f.source = top.Inset(pad+4, pad)
	f.line, rest = rest.Top(1)
	foot, rest := rest.Bottom(buttonHeight + 2*pad)
	f.transcript = rest
	foot = foot.Inset(pad, pad)
	f.stop, foot = foot.Left(92)
	f.replace, foot = foot.Right(104)
	_, foot = foot.Right(pad / 2)
	for _, b := range []*kit.Frame{&f.done, &f.copy} {
		*b, foot = foot.Right(84)
		_, foot = foot.Right(pad / 2)
	}
	return f
}
