// Package api holds facts about Apple's Objective-C interfaces: which classes, protocols, selectors, structs and C
// functions there are and what they take. facts.py reads them out of the objc2 crates and writes facts.json.gz, which
// is committed; nothing of Apple's headers is.
//
// The facts are those of the macOS 26 SDK and do not say since when something exists; since.txt does for what Sotto
// uses and its oldest macOS lacks.
package api

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for the facts
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed facts.json.gz
var packed []byte

// Facts are what is known.
type Facts struct {
	Source    string                    `json:"source"`
	Types     map[string]*Type          `json:"types"`
	Structs   map[string][][2]string    `json:"structs"` // fields: name, type code
	Enums     map[string]map[string]any `json:"enums"`   // constants: a number, or a string that was not understood
	Functions map[string]Signature      `json:"functions"`
	selectors func() map[string][]*Type // who has a selector, instances and classes
}

// Type is a class or a protocol.
type Type struct {
	Kind    string               `json:"kind"`           // class or protocol
	Name    string               `json:"name,omitempty"` // where it is not the key: a protocol called like a class
	Super   string               `json:"super,omitempty"`
	Adopts  []string             `json:"adopts,omitempty"` // protocols
	Methods map[string]Signature `json:"methods"`          // by -selector: and +selector:
}

// Protocol tells a protocol from a class.
func (t *Type) Protocol() bool { return t.Kind == "protocol" }

// Signature is what a method or function gives and takes, in the codes that facts.py documents.
type Signature string

// Codes returns the codes of the result and of the arguments.
func (s Signature) Codes() (result Code, arguments []Code) {
	words, _, _ := strings.Cut(string(s), " !")
	for i, w := range strings.Split(words, " ") {
		if i == 0 {
			result = Code(w)
		} else {
			arguments = append(arguments, Code(w))
		}
	}
	return result, arguments
}

// Optional tells whether a protocol's method may be left out.
func (s Signature) Optional() bool { return s.flag('o') }

// Deprecated tells whether the method is on its way out.
func (s Signature) Deprecated() bool { return s.flag('d') }

func (s Signature) flag(f byte) bool {
	_, flags, _ := strings.Cut(string(s), " !")
	return strings.IndexByte(flags, f) >= 0
}

// Code is the code of one type.
type Code string

// Kind returns the code without a name: one letter, or @?.
func (c Code) Kind() string {
	if strings.HasPrefix(string(c), "{") {
		return "{"
	}
	if kind, _, _ := strings.Cut(string(c), ":"); kind != "" {
		return kind
	}
	return ":"
}

// Struct returns the name of the struct that the code is for, or nothing.
func (c Code) Struct() string {
	if inner, ok := strings.CutPrefix(string(c), "{"); ok {
		return strings.TrimSuffix(inner, "}")
	}
	return ""
}

// Load returns the committed facts. They are read once and must not be changed.
var Load = sync.OnceValues(func() (*Facts, error) { return Decode(packed) })

// Decode reads facts as facts.py writes them.
func Decode(packed []byte) (*Facts, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("API facts: %w", err)
	}
	f := &Facts{}
	if err := json.NewDecoder(z).Decode(f); err != nil {
		return nil, fmt.Errorf("API facts: %w", err)
	}
	if len(f.Types) == 0 || f.Types["NSObject"] == nil {
		return nil, fmt.Errorf("API facts: no types")
	}
	f.selectors = sync.OnceValue(func() map[string][]*Type {
		m := map[string][]*Type{}
		for _, t := range f.Types {
			for key := range t.Methods {
				m[key[1:]] = append(m[key[1:]], t)
			}
		}
		return m
	})
	return f, nil
}

// Find looks a method up, by -selector: or +selector:, in a type, in what it inherits from and in the protocols that
// any of them adopts. A class is an object too: it answers the instance methods of NSObject.
func (f *Facts) Find(name, key string) (Signature, bool) {
	seen := map[string]bool{}
	if s, ok := f.find(name, key, seen); ok {
		return s, true
	}
	if strings.HasPrefix(key, "+") {
		return f.find("NSObject", "-"+key[1:], map[string]bool{})
	}
	return "", false
}

func (f *Facts) find(name, key string, seen map[string]bool) (Signature, bool) {
	t := f.Types[name]
	if t == nil || seen[name] {
		return "", false
	}
	seen[name] = true
	if s, ok := t.Methods[key]; ok {
		return s, true
	}
	next := t.Adopts
	if t.Super != "" {
		next = append(slices.Clone(next), t.Super)
	} else if name != "NSObject" {
		next = append(slices.Clone(next), "NSObject")
	}
	for _, n := range next {
		if s, ok := f.find(n, key, seen); ok {
			return s, true
		}
	}
	return "", false
}

// Anywhere returns the different signatures that a selector has in any type, of instances and classes.
func (f *Facts) Anywhere(selector string) []Signature {
	var out []Signature
	for _, t := range f.selectors()[selector] {
		for _, sign := range "-+" {
			if s, ok := t.Methods[string(sign)+selector]; ok && !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	slices.Sort(out)
	return out
}

// Class finds a class by its name.
func (f *Facts) Class(name string) *Type {
	if t := f.Types[name]; t != nil && !t.Protocol() {
		return t
	}
	return nil
}

// Protocol finds a protocol by its name.
func (f *Facts) Protocol(name string) *Type {
	if t := f.Types[name+"Protocol"]; t != nil && t.Protocol() && t.Name == name {
		return t
	}
	if t := f.Types[name]; t != nil && t.Protocol() {
		return t
	}
	return nil
}

// ProtocolMethods returns all methods of a protocol, with those of the protocols that it adopts but NSObject's.
func (f *Facts) ProtocolMethods(name string) map[string]Signature {
	out := map[string]Signature{}
	t := f.Protocol(name)
	if t == nil {
		return out
	}
	for _, a := range t.Adopts {
		if p := f.Types[a]; p != nil && p.Protocol() {
			for k, s := range f.ProtocolMethods(p.called(a)) {
				out[k] = s
			}
		}
	}
	for k, s := range t.Methods {
		out[k] = s
	}
	return out
}

// called returns the name of a type that is listed under key.
func (t *Type) called(key string) string {
	if t.Name != "" {
		return t.Name
	}
	return key
}
