package kit

// Frame is a rectangle in points whose origin is the lower left corner, as AppKit counts.
type Frame struct{ X, Y, W, H float64 }

// Inset returns f made smaller by dx on the left and right and dy above and below; never smaller than nothing.
func (f Frame) Inset(dx, dy float64) Frame {
	dx, dy = min(dx, f.W/2), min(dy, f.H/2)
	return Frame{f.X + dx, f.Y + dy, f.W - 2*dx, f.H - 2*dy}
}

// Top cuts h points off the upper edge and returns them and the rest.
func (f Frame) Top(h float64) (cut, rest Frame) {
	h = clamp(h, f.H)
	return Frame{f.X, f.Y + f.H - h, f.W, h}, Frame{f.X, f.Y, f.W, f.H - h}
}

// Bottom cuts h points off the lower edge.
func (f Frame) Bottom(h float64) (cut, rest Frame) {
	h = clamp(h, f.H)
	return Frame{f.X, f.Y, f.W, h}, Frame{f.X, f.Y + h, f.W, f.H - h}
}

// Left cuts w points off the left edge.
func (f Frame) Left(w float64) (cut, rest Frame) {
	w = clamp(w, f.W)
	return Frame{f.X, f.Y, w, f.H}, Frame{f.X + w, f.Y, f.W - w, f.H}
}

// Right cuts w points off the right edge.
func (f Frame) Right(w float64) (cut, rest Frame) {
	w = clamp(w, f.W)
	return Frame{f.X + f.W - w, f.Y, w, f.H}, Frame{f.X, f.Y, f.W - w, f.H}
}

// Middle returns a frame of height h in the middle of f, as wide as f.
func (f Frame) Middle(h float64) Frame {
	h = clamp(h, f.H)
	return Frame{f.X, f.Y + (f.H-h)/2, f.W, h}
}

func clamp(v, most float64) float64 { return max(0, min(v, most)) }
