package metal

import (
	"fmt"
	"sync"

	"sotto/kernels"
)

// Values of MTLMathMode and MTLMathFloatingPointFunctions.
const (
	mathSafe         = 0
	functionsPrecise = 1
)

// library is one source, compiled when the first pipeline of it is wanted.
type library struct {
	file string
	text string
	once sync.Once
	obj  object
	err  error
}

// sources expands every file of the kernels.
func sourceTexts(all []kernels.Kernel) (map[string]*library, error) {
	libraries := map[string]*library{}
	for i := range all {
		file := all[i].File
		if libraries[file] != nil {
			continue
		}
		text, err := expand(kernels.Sources(), file)
		if err != nil {
			return nil, fmt.Errorf("source of kernel %s: %w", all[i].Name, err)
		}
		libraries[file] = &library{file: file, text: text}
	}
	return libraries, nil
}

// library compiles l, once. A pool must be in place.
func (b *builder) library(l *library) (ID, error) {
	l.once.Do(func() {
		options := b.objects.keep(b.compileOptions(), "MTLCompileOptions", l.file)
		defer b.objects.drop(&options)
		if options.id == 0 {
			l.err = fmt.Errorf("%s: no compile options", l.file)
			return
		}
		id, err := b.objc.try(deviceLibrary, b.device, uintptr(b.objc.str(l.text)), uintptr(options.id))
		if err != nil {
			l.err = fmt.Errorf("compile %s: %w", l.file, err)
			return
		}
		l.obj = b.objects.keep(id, "MTLLibrary", l.file)
	})
	return l.obj.id, l.err
}

// compileOptions returns new options: arithmetic as written, in the system's newest language.
func (b *builder) compileOptions() ID {
	o := b.objc.class(optionsNew)
	if o == 0 {
		return 0
	}
	b.objc.send(optionsLanguage, o, b.objc.sys.language())
	if b.objc.sys.hasMathMode() {
		b.objc.send(optionsMathMode, o, mathSafe)
		b.objc.send(optionsMathFunctions, o, functionsPrecise)
	} else {
		b.objc.send(optionsFastMath, o, word(false))
	}
	return o
}
