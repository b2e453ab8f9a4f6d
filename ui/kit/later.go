//go:build darwin || gnustep

package kit

import (
	"github.com/progrium/darwinkit/helper/action"
	"github.com/progrium/darwinkit/objc"
)

// Later runs f on the main thread, on which it must be called, when what runs there now has ended. Unlike what the main
// queue runs, f may serve events itself, as a panel does: the queue goes on meanwhile.
func Later(f func()) {
	target, message := action.Wrap(func(objc.Object) { f() })
	defer target.Release() // it is kept until then
	objc.Call[objc.Void](target, objc.Sel("performSelector:withObject:afterDelay:"), message, objc.Object{}, 0.0)
}
