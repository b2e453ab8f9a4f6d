package api

import (
	_ "embed" // for the two lists
	"fmt"
	"strings"
)

//go:embed since.txt
var sinceList string

//go:embed extra.txt
var extraList string

// Reviewed returns what people found out and the facts do not say: selectors that are in no public header, and since
// when newer things exist, by "Class" or "Class selector:".
func Reviewed() (extra map[string]bool, since map[string]string, err error) {
	extra, since = map[string]bool{}, map[string]string{}
	f, err := Load()
	if err != nil {
		return nil, nil, err
	}
	for _, w := range words(extraList) {
		if len(f.Anywhere(w[0])) > 0 {
			return nil, nil, fmt.Errorf("extra.txt: %s is in a public header", w[0])
		}
		extra[w[0]] = true
	}
	for _, w := range words(sinceList) {
		t := f.Types[w[0]]
		switch {
		case t == nil || len(w) < 2 || len(w) > 3:
			return nil, nil, fmt.Errorf("since.txt: %v is not understood", w)
		case len(w) == 3:
			if _, ok := f.Find(w[0], "-"+w[1]); !ok {
				if _, ok = f.Find(w[0], "+"+w[1]); !ok {
					return nil, nil, fmt.Errorf("since.txt: %s has no %s", w[0], w[1])
				}
			}
			since[w[0]+" "+w[1]] = w[2]
		default:
			since[w[0]] = w[1]
		}
	}
	return extra, since, nil
}

// words returns the words of the lines that are no comments.
func words(text string) [][]string {
	var out [][]string
	for line := range strings.Lines(text) {
		if w := strings.Fields(line); len(w) > 0 && w[0] != "#" {
			out = append(out, w)
		}
	}
	return out
}
