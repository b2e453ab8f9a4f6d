//go:build darwin || gnustep

package ui

// #cgo LDFLAGS: -framework AppKit
// void NSBeep(void);
import "C"

// beep makes the system's sound for what cannot be done.
func beep() { C.NSBeep() }
