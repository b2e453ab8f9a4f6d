package metal

import (
	"strings"
	"testing"

	"sotto/packaging/api"
)

// words is how many words of a message an argument of that kind takes.
func words(c api.Code) int {
	if c.Struct() == "NSRange" {
		return 2
	}
	return 1 // an MTLSize goes as an address
}

func TestMethodsExist(t *testing.T) {
	facts, err := api.Load()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i, m := range Methods() {
		class, key := m.Class, "-"+m.Selector
		if c, ok := strings.CutPrefix(class, "+"); ok {
			class, key = c, "+"+m.Selector
		}
		if seen[class+key] {
			t.Errorf("%s %s is listed twice", class, key)
		}
		seen[class+key] = true
		s, ok := facts.Find(class, key)
		if !ok {
			t.Errorf("message %d: %s has no %s", i, class, key)
			continue
		}
		result, args := s.Codes()
		n := 0
		for _, a := range args {
			n += words(a)
			if k := a.Kind(); k == "d" || k == "f" {
				t.Errorf("%s %s: argument %s does not travel in an integer register", class, key, a)
			}
		}
		if n != m.Args || n > MaxArguments {
			t.Errorf("%s %s takes %d words, the table says %d", class, key, n, m.Args)
		}
		if k := result.Kind(); k == "d" || k == "f" || k == "{" {
			t.Errorf("%s %s returns %s, which a Messenger does not give", class, key, result)
		}
	}
}

// TestMethodsOfOldest holds which messages macOS 14 does not take: all of them are sent behind a question.
func TestMethodsOfOldest(t *testing.T) {
	_, since, err := api.Reviewed()
	if err != nil {
		t.Fatal(err)
	}
	want := map[method]bool{
		deviceResidency: true, optionsMathMode: true, optionsMathFunctions: true, setDescriptorNew: true, setAdd: true,
		setRemove: true, setCommit: true, setRequest: true, setEnd: true, queueAddSet: true, queueRemoveSet: true,
	}
	for i, m := range Methods() {
		class := strings.TrimPrefix(m.Class, "+")
		newer := since[class] != "" || since[class+" "+m.Selector] != ""
		if newer && !want[method(i)] {
			t.Errorf("%s %s is newer than macOS 14 (since %s%s)", m.Class, m.Selector, since[class],
				since[class+" "+m.Selector])
		}
	}
}
