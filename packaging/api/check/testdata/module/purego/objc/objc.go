// Package objc has the shape of purego's, without what it does.
package objc

type (
	ID        uintptr
	Class     uintptr
	SEL       uintptr
	Protocol  uintptr
	MethodDef struct {
		Cmd SEL
		Fn  any
	}
)

func RegisterName(name string) SEL                       { return 0 }
func GetClass(name string) Class                         { return 0 }
func GetProtocol(name string) *Protocol                  { return nil }
func (id ID) Send(sel SEL, args ...any) ID               { return 0 }
func Send[T any](id ID, sel SEL, args ...any) (result T) { return result }
