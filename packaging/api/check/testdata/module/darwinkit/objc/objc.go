// Package objc has the shape of darwinkit's, without what it does.
package objc

import "unsafe"

type Handle interface{ Ptr() unsafe.Pointer }

type IObject interface {
	Handle
	IsNil() bool
}

type Object struct{ ptr unsafe.Pointer }

func (o Object) Ptr() unsafe.Pointer { return o.ptr }
func (o Object) IsNil() bool         { return o.ptr == nil }

type Class struct{ ptr unsafe.Pointer }

func (c Class) Ptr() unsafe.Pointer { return c.ptr }

type Selector struct{ ptr unsafe.Pointer }

type Void struct{}

func Sel(name string) Selector                                     { return Selector{} }
func GetClass(name string) Class                                   { return Class{} }
func AllocateClass(super Class, name string, extra uint) Class     { return Class{} }
func AddMethod(class Class, sel Selector, f any) bool              { return true }
func Call[T any](o Handle, sel Selector, params ...any) (result T) { return result }
func WrapAsProtocol[T any](protocol string, d T) Object            { return Object{} }
