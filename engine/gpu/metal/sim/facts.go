package sim

import (
	_ "embed" // for the facts
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// packed is written by packaging/api/cmd/metalfacts.
//
//go:embed facts.json
var packed []byte

// facts are the classes and protocols that exist, in the codes of packaging/api.
type facts struct {
	Types   map[string]*factType   `json:"types"`
	Structs map[string][][2]string `json:"structs"`
}

// factType is a class or protocol.
type factType struct {
	Kind    string            `json:"kind"`
	Super   string            `json:"super"`
	Adopts  []string          `json:"adopts"`
	Methods map[string]string `json:"methods"` // signature by -selector: or +selector:
	Since   map[string]string `json:"since"`   // first macOS by method, "" for all of the type; older ones are left out
}

var loadFacts = sync.OnceValues(func() (*facts, error) {
	f := &facts{}
	if err := json.Unmarshal(packed, f); err != nil {
		return nil, fmt.Errorf("facts of Metal: %w", err)
	}
	return f, nil
})

// find looks up a method in a type, in what it adopts and inherits from, and in NSObject. It returns the type that
// has it.
func (f *facts) find(name, key string) (t *factType, ok bool) {
	if t = f.Types[name]; t == nil {
		return nil, false
	}
	if _, ok := t.Methods[key]; ok {
		return t, true
	}
	for _, a := range t.Adopts {
		if has, ok := f.find(a, key); ok {
			return has, true
		}
	}
	switch {
	case t.Super != "":
		return f.find(t.Super, key)
	case name != "NSObject":
		return f.find("NSObject", key)
	}
	return nil, false
}

// is reports whether objects of a type are objects of another.
func (f *facts) is(name, other string) bool {
	t := f.Types[name]
	if t == nil {
		return false
	}
	if name == other || other == "NSObject" || t.Super != "" && f.is(t.Super, other) {
		return true
	}
	for _, a := range t.Adopts {
		if f.is(a, other) {
			return true
		}
	}
	return false
}

// has reports whether the system that is played is as new as a version such as "15.0"; "" is any.
func (r *Runtime) has(since string) bool {
	major, minor, _ := strings.Cut(since, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	if errA != nil || errB != nil {
		return since == ""
	}
	return r.os.Major > a || r.os.Major == a && r.os.Minor >= b
}

// parameter is one argument of a method.
type parameter struct {
	code  string // kind: @, @?, #, :, B, ^, {, or that of a number
	class string // of an object, where it is known
	words int    // of a message
}

// signature is what a method takes, in words of a message.
type signature struct {
	params []parameter
	words  int
	result string // code
	cannot string // why it cannot be sent by a messenger
}

// signature reads the codes of a method.
func (f *facts) signature(codes string) signature {
	codes, _, _ = strings.Cut(codes, " !")
	all := strings.Split(codes, " ")
	s := signature{result: kindOf(all[0])}
	switch s.result {
	case "d", "f", "{":
		s.cannot = "its result does not come in an integer register"
	}
	for _, c := range all[1:] {
		p := parameter{code: kindOf(c), words: 1}
		if _, name, ok := strings.Cut(c, ":"); ok {
			p.class = name
		}
		switch p.code {
		case "d", "f", "?":
			s.cannot = "an argument of it goes into a floating-point register"
		case "{":
			name := strings.Trim(c, "{}")
			bytes, integers := f.structure(name)
			switch {
			case !integers:
				s.cannot = "its argument " + name + " is no struct of integers"
			case bytes <= 16:
				p.words = (bytes + 7) / 8
				p.code = "words"
			}
		}
		s.params = append(s.params, p)
		s.words += p.words
	}
	return s
}

// kindOf is a code without the name.
func kindOf(code string) string {
	if strings.HasPrefix(code, "{") {
		return "{"
	}
	if kind, _, _ := strings.Cut(code, ":"); kind != "" {
		return kind
	}
	return ":"
}

// structure returns the size of a struct, and whether it consists of 64-bit integers alone.
func (f *facts) structure(name string) (bytes int, integers bool) {
	fields := f.Structs[name]
	for _, field := range fields {
		switch kindOf(field[1]) {
		case "Q", "q", "x", "X":
			bytes += 8
		case "{":
			n, ok := f.structure(strings.Trim(field[1], "{}"))
			if !ok {
				return 0, false
			}
			bytes += n
		default:
			return 0, false
		}
	}
	return bytes, len(fields) > 0
}
