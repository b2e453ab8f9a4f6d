// Package icon draws Sotto's icon, in every size from its shapes rather than by scaling a picture, and writes it in
// Apple's container for icons. It shows a speech bubble with a voice that grows quiet: sotto voce.
package icon

import (
	"image"
	"image/color"
	"math"
)

// The shapes, in units of the icon's width; y grows downwards. The tile keeps the margin that macOS icons have.
const (
	tileHalf   = 0.4023 // half the tile's width
	tileRadius = 0.18
	shadowDrop = 0.010
	shadowSize = 0.036
)

var bubble = box{x: 0.5, y: 0.47, w: 0.292, h: 0.212, r: 0.112}

// tail is the bubble's, a triangle.
var tail = [3]point{{0.300, 0.600}, {0.430, 0.660}, {0.285, 0.776}}

// bars are the voice, from loud to quiet.
var bars = [5]box{
	{0.328, 0.47, 0.0250, 0.1350, 0.0250},
	{0.414, 0.47, 0.0250, 0.0980, 0.0250},
	{0.500, 0.47, 0.0250, 0.0680, 0.0250},
	{0.586, 0.47, 0.0250, 0.0430, 0.0250},
	{0.672, 0.47, 0.0250, 0.0250, 0.0250},
}

type rgb struct{ r, g, b float64 }

var (
	top    = rgb{0.29, 0.33, 0.66} // the tile from top to bottom
	bottom = rgb{0.09, 0.10, 0.29}
	paper  = rgb{0.985, 0.975, 0.955}
	loud   = rgb{0.16, 0.18, 0.46} // the bars from left to right
	quiet  = rgb{0.55, 0.57, 0.78}
)

type point struct{ x, y float64 }

// box is a rectangle by its middle and half its width and height, with round corners.
type box struct{ x, y, w, h, r float64 }

// length is what math.Hypot computes, without its care for extremes.
func length(x, y float64) float64 { return math.Sqrt(x*x + y*y) }

// distance is how far p is outside of the box, negative inside.
func (b box) distance(p point) float64 {
	dx, dy := math.Abs(p.x-b.x)-b.w+b.r, math.Abs(p.y-b.y)-b.h+b.r
	return length(max(dx, 0), max(dy, 0)) + min(max(dx, dy), 0) - b.r
}

// triangle is how far p is outside of a triangle, negative inside.
func triangle(t [3]point, p point) float64 {
	nearest, inside := math.Inf(1), true
	for i, a := range t {
		b := t[(i+1)%3]
		ex, ey, px, py := b.x-a.x, b.y-a.y, p.x-a.x, p.y-a.y
		along := min(max((px*ex+py*ey)/(ex*ex+ey*ey), 0), 1)
		nearest = min(nearest, length(px-along*ex, py-along*ey))
		inside = inside && ex*py-ey*px >= 0
	}
	if inside {
		return -nearest
	}
	return nearest
}

// Draw returns the icon, size pixels wide and high.
func Draw(size int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, size, size))
	for y := range size {
		for x := range size {
			p := point{(float64(x) + 0.5) / float64(size), (float64(y) + 0.5) / float64(size)}
			img.SetNRGBA(x, y, pixel(p, float64(size)))
		}
	}
	return img
}

// pixel is the icon's colour at p.
func pixel(p point, size float64) color.NRGBA {
	cover := func(distance float64) float64 { return min(max(0.5-distance*size, 0), 1) }
	tile := box{0.5, 0.5, tileHalf, tileHalf, tileRadius}
	solid := cover(tile.distance(p))
	shadow := 0.24 * fade(tile.distance(point{p.x, p.y - shadowDrop}), shadowSize)
	alpha := solid + shadow*(1-solid)
	if alpha == 0 {
		return color.NRGBA{}
	}
	c := mix(top, bottom, (p.y-0.5+tileHalf)/(2*tileHalf))
	sheen := math.Exp(-8 * ((p.x-0.32)*(p.x-0.32) + (p.y-0.12)*(p.y-0.12)))
	c = mix(c, rgb{1, 1, 1}, 0.13*sheen)
	talk := min(bubble.distance(p), triangle(tail, p)-0.012)
	c = mix(c, rgb{}, 0.22*fade(talk-0.004, 0.035))
	c = mix(c, paper, cover(talk))
	voice := math.Inf(1)
	for _, b := range bars {
		voice = min(voice, b.distance(p))
	}
	ink := mix(loud, quiet, (p.x-bars[0].x)/(bars[4].x-bars[0].x))
	c = mix(c, ink, cover(voice))
	c = mix(rgb{}, c, solid/alpha)
	return color.NRGBA{byte255(c.r), byte255(c.g), byte255(c.b), byte255(alpha)}
}

// fade falls from 1 at a shape's edge to 0 at a distance.
func fade(distance, width float64) float64 {
	t := min(max(1-distance/width, 0), 1)
	return t * t * (3 - 2*t)
}

func mix(a, b rgb, t float64) rgb {
	t = min(max(t, 0), 1)
	return rgb{a.r + (b.r-a.r)*t, a.g + (b.g-a.g)*t, a.b + (b.b-a.b)*t}
}

func byte255(v float64) uint8 { return uint8(math.Round(255 * min(max(v, 0), 1))) }
