package screen

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestBlocks prints the blocks of the Markdown files under testdata.
func TestBlocks(t *testing.T) {
	files, err := filepath.Glob("testdata/markdown/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		t.Run(name, func(t *testing.T) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("markdown", name+".txt"), printBlocks(blocksOf(string(source)), false))
		})
	}
}

// TestStreaming prints what an answer looks like while it comes in, with the revisions of its blocks.
func TestStreaming(t *testing.T) {
	cases := []struct {
		name   string
		pieces []string
	}{
		{"fence", []string{"Here:\n", "`", "``", "go", "\nfunc main() {", "\n}\n", "`", "``", "\nDone."}},
		{"emphasis", []string{"This is *", "*bo", "ld*", "*, `co", "de", "`, _i", "t_ and ~~o", "ld~~."}},
		{"link", []string{"See [the ", "docs](", "https://exa", "mple.com/a", ") now"}},
		{"table", []string{"|", " Name", " | Ag", "e |", "\n", "|--", "-|---:|", "\n| Ada", " | 36", " |\n", "\nEnd"}},
		{"list", []string{"1", ". ", "one\n2", ".", " two\n", "   - ", "inner\n", "\nAfter"}},
		{"heading", []string{"#", "# Ti", "tle", "\n", "text\n", "-", "--", "\nmore"}},
		{"list item marks", []string{"- **a", "b** c\n- *", "d\n- `e", "\n"}},
		{"rule or item", []string{"x\n\n", "*", " *", " *", "\n\ny"}},
		{"task", []string{"- [", " ", "] ", "do\n- [x", "] done"}},
		{"crlf", []string{"a\r", "\nb\r\n", "\r\nc"}},
		{"not a table", []string{"|a|", "\n", "b"}},
		{"stars", []string{"2 * 3", " * 4 = 24 and snake_", "case_name"}},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			var d Doc
			var w strings.Builder
			show := func(what string) {
				fmt.Fprintf(&w, "%s (%d finished)\n%s", what, d.Finished(), printBlocks(d.Blocks(), true))
			}
			for _, p := range tt.pieces {
				d = d.Append(p)
				show(fmt.Sprintf("%q", p))
			}
			d = d.End()
			show("end")
			golden(t, filepath.Join("streaming", strings.ReplaceAll(tt.name, " ", "-")+".txt"), w.String())
		})
	}
}

// alike says whether blocks look the same; revisions depend on how the text arrived.
func alike(a, b []Block) bool { return slices.EqualFunc(a, b, Block.looks) }

// same says whether blocks are the same, with their revisions.
func same(a, b Block) bool { return a.looks(b) && a.Rev == b.Rev }

// checkStream feeds a text in pieces and holds what Doc promises.
func checkStream(t *testing.T, s string, cuts func() int) {
	t.Helper()
	var d Doc
	for at := 0; at < len(s); {
		n := min(max(cuts(), 1), len(s)-at)
		next := d.Append(s[at : at+n])
		at += n
		if next.Finished() < d.Finished() {
			t.Fatalf("after %q: %d finished blocks, before %d", s[:at], next.Finished(), d.Finished())
		}
		if !slices.EqualFunc(next.Blocks()[:d.Finished()], d.Blocks()[:d.Finished()], same) {
			t.Fatalf("after %q: a finished block changed from %v to %v", s[:at], d.Blocks()[:d.Finished()],
				next.Blocks())
		}
		for i, b := range next.Blocks() {
			if i < len(d.Blocks()) && (b.Rev == d.Blocks()[i].Rev) != b.looks(d.Blocks()[i]) {
				t.Fatalf("after %q: block %d has revision %d and had %d: %v, %v", s[:at], i, b.Rev, d.Blocks()[i].Rev,
					b, d.Blocks()[i])
			}
		}
		d = next
		if at%8 != 0 && at > 200 || s[at-1] == '\r' {
			continue
		}
		if whole := (Doc{}).Append(s[:at]); !alike(whole.Blocks(), d.Blocks()) {
			t.Fatalf("%q in pieces:\n%sat once:\n%s", s[:at], printBlocks(d.Blocks(), false),
				printBlocks(whole.Blocks(), false))
		}
	}
	end := d.End()
	if whole := blocksOf(s); !alike(whole, end.Blocks()) {
		t.Fatalf("%q ended in pieces:\n%sat once:\n%s", s, printBlocks(end.Blocks(), false), printBlocks(whole, false))
	}
	plainParse, _ := parse(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s))
	if !alike(plainParse, end.Blocks()) {
		t.Fatalf("%q block by block:\n%sas one text:\n%s", s, printBlocks(end.Blocks(), false), printBlocks(plainParse,
			false))
	}
	if end.Finished() != len(end.Blocks()) {
		t.Fatalf("ended with %d of %d blocks finished", end.Finished(), len(end.Blocks()))
	}
}

// TestStreamOfFiles streams the test files in pieces of all sizes.
func TestStreamOfFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/markdown/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{1, 3, 17} {
			checkStream(t, string(source), func() int { return size })
		}
	}
}

// TestStreamOfFragments streams texts that are put together from pieces of syntax.
func TestStreamOfFragments(t *testing.T) {
	fragments := []string{
		"\n", "\n\n", "- ", "1. ", "7) ", "> ", "# ", "```", "~~~", "    ", "\t", "| a | b |\n", "|---|:-:|\n", "---",
		"***", "===",
		"text ", "word", "*", "**", "_", "`", "[x](y)", "[", "](", ")", "[a]: /b", "<br>", "<div>", "<!--", "-->",
		"\\", "&amp;",
		"  ", "- [ ] ", "é", "\x00", "\r\n",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 600 {
		var b strings.Builder
		for range 1 + r.IntN(14) {
			b.WriteString(fragments[r.IntN(len(fragments))])
		}
		checkStream(t, b.String(), func() int { return 1 + r.IntN(5) })
	}
}

// TestBounds holds that structure beyond the bounds stays text, and that it streams as any other text.
func TestBounds(t *testing.T) {
	wide := strings.Repeat("| a ", maxColumns+1) + "|\n"
	cases := []struct{ name, text, kept string }{
		{"quotes", strings.Repeat("> ", 2*maxNesting) + "end", "end"},
		{"quotes without spaces", strings.Repeat(">", 2*maxNesting) + "end", "end"},
		{"lists", strings.Repeat("- ", 2*maxNesting) + "end", "end"},
		{"wide table", wide + strings.Repeat("|---", maxColumns+1) + "|\n" + wide, "|---|---"},
	}
	for _, tt := range cases {
		text := ""
		for _, b := range blocksOf(tt.text) {
			if b.Quote+b.List > maxNesting || b.Kind == Table {
				t.Errorf("%s: block %+v", tt.name, b)
			}
			text += printRuns(b.Runs)
		}
		if !strings.Contains(text, tt.kept) {
			t.Errorf("%s: %q lost %q", tt.name, text, tt.kept)
		}
		checkStream(t, tt.text, func() int { return 7 })
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{
		"# A `b`\n\n1. c **d**\n   ~~~x\n   e\n   ~~~\n", "> - [x] a [b](c\n> | d |\n> |:-:|\n> | e |",
		"***a** b*\n<br>\\&amp;",
	} {
		f.Add(seed, uint8(3))
	}
	f.Add("- a\n\n      b\n\tc\n> d\n```\ne", uint8(1))
	f.Add("text\n| a | b |\n|---|---|\nmore\n===\n", uint8(2))
	f.Fuzz(func(t *testing.T, s string, size uint8) {
		if len(s) > 300 {
			return
		}
		checkStream(t, s, func() int { return int(size%13) + 1 })
	})
}

// BenchmarkAppend appends tokens to an answer that is long already.
func BenchmarkAppend(b *testing.B) {
	paragraph := "Some **bold** words with `code`, and a [link](https://example.com) in them.\n\n"
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("%d paragraphs", n), func(b *testing.B) {
			d := Doc{}.Append(strings.Repeat(paragraph, n))
			b.ReportAllocs()
			for b.Loop() {
				d.Append(" word")
			}
		})
	}
}
