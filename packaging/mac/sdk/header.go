package sdk

import (
	"fmt"
	"slices"
	"strings"

	"sotto/packaging/api"
)

// ctypes are C's words for type codes.
var ctypes = map[string]string{
	"v": "void", "B": "BOOL", "Q": "unsigned long", "q": "long", "I": "unsigned", "i": "int", "S": "unsigned short",
	"s": "short", "C": "unsigned char", "c": "char", "x": "long long", "X": "unsigned long long", "d": "double",
	"f": "float", "@": "id", "@?": "void (^)(void)", "#": "Class", ":": "SEL", "^": "void *",
}

// header collects declarations.
type header struct {
	facts     *api.Facts
	structs   []string // definitions, those first that others need
	protocols []string
	done      map[string]bool
}

// Header returns a C header that declares the protocols named, with the methods and structs that the facts know.
func Header(f *api.Facts, protocols []string) []byte {
	h := &header{facts: f, done: map[string]bool{"NSObject": true}}
	for _, p := range append([]string{"NSCopying"}, protocols...) { // Foundation.h names it
		h.protocol(p)
	}
	return []byte("// Generated from the API facts.\n#pragma once\n" +
		"#pragma clang diagnostic ignored \"-Wduplicate-method-match\"\n#import <objc/NSObject.h>\n" +
		strings.Join(h.structs, "") +
		strings.Join(h.protocols, ""))
}

// protocol declares a protocol after those that it adopts.
func (h *header) protocol(name string) {
	if h.done[name] {
		return
	}
	h.done[name] = true
	adopts := []string{"NSObject"}
	var methods map[string]api.Signature
	if t := h.facts.Protocol(name); t != nil {
		methods = t.Methods
		for _, key := range t.Adopts {
			p := h.facts.Types[key]
			if p == nil || !p.Protocol() {
				continue
			}
			if p.Name != "" {
				key = p.Name
			}
			h.protocol(key)
			adopts = append(adopts, key)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "@protocol %s <%s>\n", name, strings.Join(adopts, ", "))
	for _, optional := range []bool{false, true} {
		opened := false
		for _, key := range sortedKeys(methods) {
			s := methods[key]
			if s.Optional() != optional || key[1:] == "init" || key[1:] == "new" {
				continue
			}
			if optional && !opened {
				opened = true
				b.WriteString("@optional\n")
			}
			h.method(&b, key, s)
		}
	}
	h.protocols = append(h.protocols, b.String()+"@end\n")
}

func (h *header) method(b *strings.Builder, key string, s api.Signature) {
	result, arguments := s.Codes()
	fmt.Fprintf(b, "%c (%s)", key[0], h.ctype(result))
	if len(arguments) == 0 {
		fmt.Fprintf(b, "%s;\n", key[1:])
		return
	}
	parts := strings.Split(key[1:], ":")
	for i, a := range arguments {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(b, "%s:(%s)a%d", parts[i], h.ctype(a), i)
	}
	b.WriteString(";\n")
}

// ctype returns the C type of a code, after defining the struct that it may be.
func (h *header) ctype(c api.Code) string {
	name := c.Struct()
	if name == "" {
		if t, ok := ctypes[c.Kind()]; ok {
			return t
		}
		return "void *"
	}
	if !h.done["struct "+name] {
		h.done["struct "+name] = true
		fields := ""
		for _, f := range h.facts.Structs[name] {
			fields += fmt.Sprintf(" %s %s;", h.ctype(api.Code(f[1])), f[0])
		}
		h.structs = append(h.structs, fmt.Sprintf("typedef struct %s {%s } %s;\n", name, fields, name))
	}
	return name
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
