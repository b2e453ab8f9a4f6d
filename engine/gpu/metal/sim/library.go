package sim

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"sotto/engine/gpu/metal/sim/source"
)

// compileOptions is an MTLCompileOptions.
type compileOptions struct {
	language uintptr // MTLLanguageVersion; 0 if nobody said
	fast     bool    // fast math, as it is by default
}

// librarySource is the text of a library and the functions in it. Libraries of one text share it.
type librarySource struct {
	hash      string
	functions map[string]source.Function
	err       error
}

// function is an MTLFunction.
type function struct {
	name    string
	library *object
	threads int // the most of a threadgroup
}

// MTLLanguageVersion and MTLMathMode.
const (
	language31 = 3<<16 | 1
	language32 = 3<<16 | 2
	language40 = 4 << 16
	mathSafe   = 0
	mathFast   = 2
)

// headers40 came with language 4.0.
var headers40 = []string{"metal_tensor", "MetalPerformancePrimitives/MetalPerformancePrimitives.h"}

// newestLanguage is what the system that is played compiles.
func (r *Runtime) newestLanguage() uintptr {
	switch {
	case r.os.Major >= 26:
		return language40
	case r.os.Major >= 15:
		return language32
	}
	return language31
}

// languageNumber is what __METAL_VERSION__ says.
func languageNumber(version uintptr) string {
	return fmt.Sprint(100*(version>>16) + 10*(version&0xffff))
}

func libraryBehaviours() behaviours {
	return behaviours{
		"MTLCompileOptions": {
			"-languageVersion":     func(_ *Runtime, o *object, _ *args) uintptr { return o.options.language },
			"-setLanguageVersion:": setLanguage,
			"-fastMathEnabled":     func(_ *Runtime, o *object, _ *args) uintptr { return truth(o.options.fast) },
			"-setFastMathEnabled:": func(_ *Runtime, o *object, a *args) uintptr {
				o.options.fast = a[0] != 0
				return 0
			},
			"-setMathMode:": func(r *Runtime, o *object, a *args) uintptr {
				if a[0] > mathFast {
					r.violate("%d is no MTLMathMode", a[0])
				}
				o.options.fast = a[0] != mathSafe
				return 0
			},
			"-setMathFloatingPointFunctions:": func(r *Runtime, _ *object, a *args) uintptr {
				if a[0] > 1 {
					r.violate("%d is no MTLMathFloatingPointFunctions", a[0])
				}
				return 0
			},
		},
		"MTLLibrary": labelled(map[string]behaviour{
			"-newFunctionWithName:": newFunction,
		}),
		"MTLFunction": labelled(map[string]behaviour{
			"-name": func(r *Runtime, o *object, _ *args) uintptr { return r.string(o.function.name) },
			"-functionConstantsDictionary": func(r *Runtime, _ *object, _ *args) uintptr {
				return r.autorelease(r.make("NSDictionary"))
			},
		}),
	}
}

func setLanguage(r *Runtime, o *object, a *args) uintptr {
	if v := a[0]; v > r.newestLanguage() || v < 1<<16 {
		r.violate("language version %d.%d, the newest here is %d.%d", v>>16, v&0xffff, r.newestLanguage()>>16,
			r.newestLanguage()&0xffff)
		return 0
	}
	o.options.language = a[0]
	return 0
}

// newLibrary makes a library of a text. Kernels are exact only with safe math in a known language: anything else is
// a violation.
func newLibrary(r *Runtime, _ *object, a *args) uintptr {
	src := r.object(a[0], "the source")
	o := r.optional(a[1])
	switch {
	case src == nil:
		return 0
	case o == nil || o.options.language == 0:
		r.violate("no language version was set: which one it is depends on the SDK of the binary")
		return 0
	case o.options.fast:
		r.violate("fast math is on")
		return 0
	case r.removed:
		return r.fail(a[2], gone())
	}
	if f := r.strikes(LibraryFails, ""); f != nil {
		return r.fail(a[2], failure{libraryDomain, 3, f.reason("program_source:1: error: this is no Metal")})
	}
	l := r.parse(src.text.s, o.options.language)
	if l.err != nil {
		return r.fail(a[2], failure{libraryDomain, 3, l.err.Error()})
	}
	lib := r.make("MTLLibrary")
	lib.library = l
	return uintptr(lib.id)
}

// parse reads a text, once however often it is compiled.
func (r *Runtime) parse(text string, language uintptr) *librarySource {
	hash := fmt.Sprintf("%x-%d", sha256.Sum256([]byte(text)), language)
	if l := r.libraries[hash]; l != nil {
		return l
	}
	l := &librarySource{hash: hash, functions: map[string]source.Function{}}
	fs, err := source.Functions(text, map[string]string{
		"__METAL__": "1", "__METAL_MACOS__": "1", "__METAL_VERSION__": languageNumber(language),
	}, func(header string) bool { return language >= language40 || !slices.Contains(headers40, header) })
	l.err = err
	for _, f := range fs {
		l.functions[f.Name] = f
	}
	r.libraries[hash] = l
	return l
}

// newFunction answers newFunctionWithName:, with nil for a name that the text does not declare.
func newFunction(r *Runtime, o *object, a *args) uintptr {
	name := r.object(a[0], "the name")
	if name == nil {
		return 0
	}
	f, ok := o.library.functions[name.text.s]
	if !ok {
		return 0
	}
	n := r.make("MTLFunction")
	n.function = &function{name: f.Name, library: o.retain(), threads: f.MaxThreads}
	return uintptr(n.id)
}
