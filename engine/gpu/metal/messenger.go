package metal

// ID is an Objective-C object or class, as the runtime's pointer. 0 is nil.
type ID uintptr

// Sel is a registered selector.
type Sel uintptr

// MaxArguments is the number of arguments of a message beyond the receiver and the selector.
const MaxArguments = 6

// Message is one message, laid out once and sent as often as wanted. All arguments are integers in the sense of
// the arm64 ABI: objects, pointers, integers, booleans (0 or 1); a struct of up to 16 bytes takes one argument a
// word (NSRange: two), a larger one is passed as the address of a copy (MTLSize: one). Results in floating-point
// registers and struct results are not supported.
type Message struct {
	To    ID
	Sel   Sel
	Count int // arguments in use
	Args  [MaxArguments]uintptr
}

// System is the macOS that the process runs on.
type System struct {
	Major, Minor int    // 26, 2
	Build        string // "25C56"
}

// Messenger is the Objective-C runtime and the few C functions that the driver needs. On macOS it is purego, in
// tests metal/sim. Memory that an argument points to must stay where it is until Send returns.
type Messenger interface {
	System() System
	// Class returns 0 for an unknown class.
	Class(name string) ID
	// Selector registers a name; it does not say whether anyone responds to it.
	Selector(name string) Sel
	// Send returns the result's first word; void messages return an unspecified word. It does not allocate.
	Send(m *Message) uintptr
	// SendAll sends messages in order and drops their results: the path of the hot loop. It does not allocate.
	SendAll(ms []Message)
	// DefaultDevice is MTLCreateSystemDefaultDevice: retained for the caller, 0 where there is no GPU.
	DefaultDevice() ID
	// PushPool and PopPool are objc_autoreleasePoolPush and -Pop, on one thread, in pairs.
	PushPool() uintptr
	PopPool(pool uintptr)
}
