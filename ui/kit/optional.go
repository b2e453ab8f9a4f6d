//go:build darwin || gnustep

package kit

import "github.com/progrium/darwinkit/objc"

// Optional sends a message without a result if the object knows it, and tells whether it does. It is for what only
// some of the systems have on which Sotto runs.
func Optional(o objc.IObject, selector objc.Selector, arguments ...any) bool {
	if o.IsNil() || !o.RespondsToSelector(selector) {
		return false
	}
	objc.Call[objc.Void](o, selector, arguments...)
	return true
}

// OptionalOf sends a message with a result to a class if it knows it.
func OptionalOf[T any](class objc.Class, selector objc.Selector, arguments ...any) (result T, ok bool) {
	if class.Ptr() == nil || !objc.ObjectFrom(class.Ptr()).RespondsToSelector(selector) {
		return result, false
	}
	return objc.Call[T](class, selector, arguments...), true
}
