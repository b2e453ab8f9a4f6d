// Package good names only what exists.
package good

import (
	pure "github.com/ebitengine/purego/objc"
	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/macos/foundation"
	"github.com/progrium/darwinkit/objc"
)

var verbs = map[string]int{"explain": 1, "summarise": 2}

// Optional is how code asks first.
func Optional(o objc.IObject, s objc.Selector, arguments ...any) bool { return false }

type source struct{}

func (s *source) MenuWillOpen(objc.Object)              {}
func (s *source) HasMenuWillOpen() bool                 { return true }
func (s *source) MenuHasKeyEquivalent(objc.Object) bool { return false }
func (s *source) HasMenuHasKeyEquivalent() bool         { return false }

func named(names ...string) {
	for _, n := range names {
		objc.Sel(n)
	}
}

func attach[P any, T any](protocol string, d *T) { objc.WrapAsProtocol[P](protocol, any(d).(P)) }

func use() {
	w := appkit.NewWindow()
	w.SetTitle("a")
	_ = w.Frame()
	var i appkit.IWindow = w
	i.SetTitle("b")
	objc.Call[objc.Void](w, objc.Sel("setFrame:display:"), foundation.Rect{}, true)
	for _, s := range []string{"close", "orderOut:"} {
		objc.Sel(s)
	}
	named("undo:", "labelColor")
	Optional(w, objc.Sel("cascadingReferenceFrame"))
	color := objc.GetClass("NSColor")
	_ = objc.Call[objc.Object](color, objc.Sel("labelColor"))
	class := objc.AllocateClass(objc.GetClass("NSObject"), "Provider", 0)
	for v := range verbs {
		objc.AddMethod(class, objc.Sel(v+":userData:error:"), func(self, board, data, err objc.Object) {})
	}
	objc.GetClass("Provider")
	d := &appkit.MenuDelegate{}
	d.SetMenuWillOpen(func(objc.Object) {})
	attach[appkit.PMenuDelegate]("NSMenuDelegate", &source{})

	device := pure.ID(pure.GetClass("MTLCompileOptions")).Send(pure.RegisterName("new"))
	device.Send(pure.RegisterName("setFastMathEnabled:"), false)
	_ = pure.MethodDef{Cmd: pure.RegisterName("mine:"), Fn: func(self pure.ID, cmd pure.SEL, x pure.ID) {}}
	device.Send(pure.RegisterName("mine:"), device)
}
