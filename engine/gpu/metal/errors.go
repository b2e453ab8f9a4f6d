package metal

import (
	"fmt"

	"sotto/engine/gpu"
)

// CommandError is why a command buffer failed.
type CommandError struct {
	Code int    // of MTLCommandBufferErrorDomain
	Text string // the system's description
}

// Codes of MTLCommandBufferErrorDomain.
const (
	commandInternal        = 1
	commandTimeout         = 2
	commandPageFault       = 3
	commandAccessRevoked   = 4
	commandNotPermitted    = 7
	commandOutOfMemory     = 8
	commandInvalidResource = 9
	commandMemoryless      = 10
	commandDeviceRemoved   = 11
	commandStackOverflow   = 12
)

// reason is a code in words.
func (e *CommandError) reason() string {
	switch e.Code {
	case commandInternal:
		return "internal error"
	case commandTimeout:
		return "it took too long"
	case commandPageFault:
		return "page fault"
	case commandAccessRevoked:
		return "access to the device was revoked"
	case commandNotPermitted:
		return "not permitted"
	case commandOutOfMemory:
		return "out of memory"
	case commandInvalidResource:
		return "a resource was deleted"
	case commandMemoryless:
		return "out of tile memory"
	case commandDeviceRemoved:
		return "the device was removed"
	case commandStackOverflow:
		return "stack overflow"
	}
	return fmt.Sprintf("error %d", e.Code)
}

func (e *CommandError) Error() string {
	if e.Text == "" {
		return "command buffer: " + e.reason()
	}
	return fmt.Sprintf("command buffer: %s (%s)", e.reason(), e.Text)
}

// Is tells the errors of the device contract.
func (e *CommandError) Is(target error) bool {
	switch target {
	case gpu.ErrOutOfMemory:
		return e.Code == commandOutOfMemory
	case gpu.ErrLost:
		return e.Code == commandAccessRevoked || e.Code == commandDeviceRemoved
	}
	return false
}
