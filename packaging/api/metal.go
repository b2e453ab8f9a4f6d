package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// metalFoundation lists the classes outside of Metal that a Metal driver meets.
var metalFoundation = []string{
	"NSArray", "NSData", "NSDictionary", "NSError", "NSNumber", "NSObject", "NSProcessInfo", "NSString", "NSURL",
}

// metalType is a type with what it has since later macOS than Sotto's oldest: "" for all of it, else by method.
type metalType struct {
	*Type
	Since map[string]string `json:"since,omitempty"`
}

// Metal returns the part of the facts that the simulated Metal runtime plays, with the versions of since.txt, as JSON
// with a line for each type. What takes or gives a newer type is as new as that.
func Metal() ([]byte, error) {
	f, err := Load()
	if err != nil {
		return nil, err
	}
	_, since, err := Reviewed()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"source\":%q,\n\"types\":{", "facts.json.gz and since.txt of packaging/api")
	separator := "\n"
	structs := map[string][][2]string{}
	for _, name := range slices.Sorted(maps.Keys(f.Types)) {
		if !strings.HasPrefix(name, "MTL") && !slices.Contains(metalFoundation, name) {
			continue
		}
		line, err := json.Marshal(f.metalType(name, since, structs))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(&b, "%s%q:%s", separator, name, line)
		separator = ",\n"
	}
	s, err := json.Marshal(structs)
	if err != nil {
		return nil, fmt.Errorf("structs: %w", err)
	}
	fmt.Fprintf(&b, "\n},\n\"structs\":%s}\n", s)
	return b.Bytes(), nil
}

// metalType adds the structs that the type's methods take to structs, and what is in them.
func (f *Facts) metalType(name string, since map[string]string, structs map[string][][2]string) metalType {
	t := metalType{f.Types[name], map[string]string{}}
	if v := typeSince(name, since); v != "" {
		t.Since[""] = v
	}
	for key, signature := range t.Methods {
		newest := since[name+" "+key[1:]]
		result, arguments := signature.Codes()
		for _, c := range append(arguments, result) {
			f.addStruct(c.Struct(), structs)
			if _, of, ok := strings.Cut(string(c), ":"); ok {
				newest = later(newest, typeSince(of, since))
			}
		}
		if newest != later(newest, t.Since[""]) {
			continue
		}
		if newest != t.Since[""] {
			t.Since[key] = newest
		}
	}
	return t
}

func (f *Facts) addStruct(name string, structs map[string][][2]string) {
	fields, ok := f.Structs[name]
	if !ok || structs[name] != nil {
		return
	}
	structs[name] = fields
	for _, field := range fields {
		f.addStruct(Code(field[1]).Struct(), structs)
	}
}

// typeSince is the version that brought a type, or "". All that is called MTL4 is of Metal 4, which came with 26.
func typeSince(name string, since map[string]string) string {
	if strings.HasPrefix(name, "MTL4") {
		return "26.0"
	}
	return since[name]
}

// later is the later of two versions of the form "15.0", where "" is the earliest.
func later(a, b string) string {
	if len(a) > len(b) || len(a) == len(b) && a > b {
		return a
	}
	return b
}
