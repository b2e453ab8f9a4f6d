package check_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/packaging/api"
	"sotto/packaging/api/check"
)

func run(t *testing.T, folder string, change func(*check.Rules)) []check.Finding {
	t.Helper()
	facts, err := api.Load()
	if err != nil {
		t.Fatal(err)
	}
	rules := check.Rules{Facts: facts, Services: []string{"explain", "summarise"}}
	if rules.Extra, rules.Since, err = api.Reviewed(); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&rules)
	}
	r, err := check.Run(t.Context(), check.Source{
		Dir: filepath.Join("testdata", "module"), Patterns: []string{"./" + folder},
	}, rules)
	if err != nil {
		t.Fatal(err)
	}
	return r.Findings
}

func TestGood(t *testing.T) {
	for _, f := range run(t, "good", nil) {
		t.Error(f)
	}
}

// TestBad holds the findings against the comments at the ends of the lines.
func TestBad(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "module", "bad", "bad.go"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[int][]string{}
	for i, line := range strings.Split(string(b), "\n") {
		if code, comment, ok := strings.Cut(line, "// "); ok && strings.TrimSpace(code) != "" {
			want[i+1] = strings.Split(comment, " // ")
		}
	}
	if len(want) < 20 {
		t.Fatalf("%d lines with a comment: the file was not read", len(want))
	}
	for _, f := range run(t, "bad", func(r *check.Rules) { r.Services = nil }) {
		i := slices.IndexFunc(want[f.Pos.Line], func(w string) bool { return strings.Contains(f.Text, w) })
		if i < 0 {
			t.Errorf("unexpected: %v", f)
			continue
		}
		want[f.Pos.Line] = slices.Delete(want[f.Pos.Line], i, i+1)
	}
	for line, w := range want {
		if len(w) > 0 {
			t.Errorf("bad.go:%d: not found: %v", line, w)
		}
	}
}

// TestMissingProtocolMethod takes a method out of the facts: code that sets it must not pass.
func TestMissingProtocolMethod(t *testing.T) {
	findings := run(t, "good", func(r *check.Rules) {
		facts, p := *r.Facts, *r.Facts.Types["NSMenuDelegate"]
		p.Methods = maps.Clone(p.Methods)
		delete(p.Methods, "-menuWillOpen:")
		facts.Types = maps.Clone(facts.Types)
		facts.Types["NSMenuDelegate"] = &p
		r.Facts = &facts
	})
	if len(findings) != 2 || !strings.Contains(findings[0].Text, "has no method MenuWillOpen") {
		t.Errorf("got %v, want two findings about MenuWillOpen", findings)
	}
}

func TestServices(t *testing.T) {
	tests := map[string]struct {
		services []string
		want     string
	}{
		"not answered": {
			[]string{"explain", "summarise", "proofread"}, "no class of ours answers proofread:userData:error:",
		},
		"not named": {[]string{"explain"}, "answers summarise:userData:error:, which Info.plist does not name"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := run(t, "good", func(r *check.Rules) { r.Services = tt.services })
			if len(f) != 1 || !strings.Contains(f[0].Text, tt.want) {
				t.Errorf("got %v, want %q", f, tt.want)
			}
		})
	}
}

func TestBroken(t *testing.T) {
	f := run(t, "broken", func(r *check.Rules) { r.Services = nil })
	if len(f) != 1 || !strings.Contains(f[0].Text, "cannot use") {
		t.Errorf("got %v, want the compiler's complaint", f)
	}
}
