package screen

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares text with a file under testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and look at the difference\n%s", path, firstDifference(got, string(want)))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		a, b := "(end)", "(end)"
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			return fmt.Sprintf("line %d:\n got %s\nwant %s", i+1, a, b)
		}
	}
	return ""
}

func printRuns(runs []Run) string {
	var b strings.Builder
	for _, r := range runs {
		style := ""
		for i, letter := range "bicsl" {
			if r.Style&(1<<i) != 0 {
				style += string(letter)
			}
		}
		text := strings.ReplaceAll(r.Text, "\n", "⏎")
		switch {
		case r.Style&Link != 0:
			fmt.Fprintf(&b, "[%s|%s → %s]", style, text, r.Target)
		case style != "":
			fmt.Fprintf(&b, "[%s|%s]", style, text)
		default:
			b.WriteString(text)
		}
	}
	return b.String()
}

// printBlocks prints a block a line, with the revisions if revs.
func printBlocks(blocks []Block, revs bool) string {
	var w strings.Builder
	for _, b := range blocks {
		if revs {
			fmt.Fprintf(&w, "%2d ", b.Rev)
		}
		w.WriteString(strings.Repeat("> ", b.Quote) + strings.Repeat("  ", b.List))
		if b.Marker != "" {
			w.WriteString(b.Marker + " ")
		}
		switch b.Kind {
		case Heading:
			fmt.Fprintf(&w, "h%d %s\n", b.Level, printRuns(b.Runs))
		case Code:
			fmt.Fprintf(&w, "code(%s) %s\n", b.Lang, strings.ReplaceAll(b.Text, "\n", "⏎"))
		case Rule:
			w.WriteString("rule\n")
		case Table:
			w.WriteString("table")
			for _, row := range b.Rows {
				w.WriteString(" /")
				for _, c := range row {
					w.WriteString(" " + "<^>"[c.Align:c.Align+1] + printRuns(c.Runs))
				}
			}
			w.WriteString("\n")
		default:
			fmt.Fprintf(&w, "p %s\n", printRuns(b.Runs))
		}
	}
	return w.String()
}
