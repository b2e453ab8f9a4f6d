// Package bad makes one mistake a line; the comment is what the check must say.
package bad

import (
	pure "github.com/ebitengine/purego/objc"
	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/objc"
)

type source struct{}

func (s *source) MenuWillOpen(objc.Object)              {}
func (s *source) HasMenuWillOpen() bool                 { return true }
func (s *source) MenuHasKeyEquivalent(objc.Object) bool { return false }
func (s *source) HasMenuHasKeyEquivalent() bool         { return len("") == 0 }

type half struct{}

func (h *half) MenuWillOpen(objc.Object)              {}
func (h *half) HasMenuWillOpen() bool                 { return true }
func (h *half) MenuHasKeyEquivalent(objc.Object) bool { return false }

func attach[P any, T any](protocol string, d *T) { objc.WrapAsProtocol[P](protocol, any(d).(P)) }

func Named(n string) {
	objc.Sel(n) // cannot tell which selector
}

func use() {
	w := appkit.NewWindow()
	objc.Call[objc.Void](w, objc.Sel("setTitel:"), "a")                       // NSWindow does not answer setTitel:
	objc.Call[objc.Void](w, objc.Sel("setTitle:"))                            // setTitle: takes 1 arguments, 0 are given
	objc.Call[objc.Void](w, objc.Sel("setAlphaValue:"), 1)                    // setAlphaValue:: d is given as int, it is a double
	objc.Call[objc.Void](w, objc.Sel("tableView"))                            // NSWindow does not answer tableView
	objc.Call[int32](w, objc.Sel("windowNumber"))                             // the result q is taken as int32
	_ = w.Opaque()                                                            // NSWindow does not answer opaque (through (macos/appkit.Window).Opaque)
	_ = w.Width()                                                             // the result {CGRect} is taken as float64
	_ = w.CascadingReferenceFrame()                                           // exists since macOS 15.0
	objc.Call[objc.Object](objc.GetClass("NSColour"), objc.Sel("labelColor")) // unknown class NSColour // nothing is known of NSColour
	color := objc.GetClass("NSColor")
	_ = objc.Call[objc.Object](color, objc.Sel("redComponent"))                  // the class NSColor does not answer redComponent
	objc.Sel("noSuchThing:")                                                     // unknown selector noSuchThing:
	objc.AddMethod(color, objc.Sel("mine:too:"), func(self, one objc.Object) {}) // mine:too: takes 2 arguments, 1 are given
	d := &appkit.MenuDelegate{}
	d.SetMenuHasKeyEquivalent(func(objc.Object) bool { return true }) // the protocol NSMenuDelegate has no method MenuHasKeyEquivalent
	t := &appkit.TextInputClient{}
	t.SetHasMarkedText(func() bool { return true })                       // the protocol NSTextInputClient requires
	attach[appkit.PMenuDelegate]("NSMenuDelegate", &source{})             // has no method MenuHasKeyEquivalent
	attach[appkit.PMenuDelegate]("NSMenuDelagate", &source{})             // unknown protocol NSMenuDelagate
	attach[appkit.PMenuDelegate]("NSMenuDelegate", &half{})               // bad.half has no method HasMenuHasKeyEquivalent of PMenuDelegate
	pure.GetProtocol("MTLDevise")                                         // unknown protocol MTLDevise
	pure.ID(0).Send(pure.RegisterName("newBufferWithLength:options:"), 1) // takes 2 arguments, 1 are given
	pure.Send[int32](0, pure.RegisterName("maxThreadgroupMemoryLength"))  // the result Q is taken as int32
}
