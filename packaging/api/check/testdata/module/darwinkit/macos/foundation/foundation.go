// Package foundation has the shape of darwinkit's.
package foundation

import "github.com/progrium/darwinkit/objc"

type Size struct{ Width, Height float64 }

type Point struct{ X, Y float64 }

type Rect struct {
	Origin Point
	Size   Size
}

var StringClass = _StringClass{objc.GetClass("NSString")}

type _StringClass struct{ objc.Class }

type String struct{ objc.Object }
