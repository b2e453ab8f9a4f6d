package msl_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sotto/kernels/msl"
)

// shared is one cache for all tests of the package, so that each source is compiled once.
var shared string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "sotto-msl")
	if err != nil {
		panic(err)
	}
	shared = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// newBuilder returns a builder over the folder kernels.
func newBuilder(t testing.TB) *msl.Builder {
	t.Helper()
	tool, err := msl.FindToolchain(t.Context())
	if err != nil {
		t.Skip(err)
	}
	kernels, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return &msl.Builder{Tool: tool, Kernels: kernels, Cache: shared, Jobs: 2, Log: t.Logf}
}

// refusal reads what a source in testdata/refused says about itself: the step that refuses it, and where and how.
func refusal(t *testing.T, path string) (by, want string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if m := regexp.MustCompile(`^// by: (\S+)$`).FindStringSubmatch(line); m != nil {
			by = m[1]
		}
		if _, message, ok := strings.Cut(line, "// refused: "); ok {
			want = fmt.Sprintf(`%s:%d:.*%s`, filepath.Base(path), i+1, regexp.QuoteMeta(message))
		}
	}
	if by == "" || want == "" {
		t.Fatalf("%s does not say by what and how it is refused", path)
	}
	return by, want
}

// TestRefused holds that every rule of the subset is enforced, by the step that its example names, with the place.
func TestRefused(t *testing.T) {
	b := newBuilder(t)
	paths, err := filepath.Glob("testdata/refused/*.metal")
	if err != nil || len(paths) == 0 {
		t.Fatal("no sources", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".metal"), func(t *testing.T) {
			by, want := refusal(t, path)
			got := refuse(t.Context(), b, by, "msl/"+path, t.TempDir())
			if got == nil {
				t.Fatalf("%s does not refuse it, want %q", by, want)
			}
			if !regexp.MustCompile(want).MatchString(got.Error()) {
				t.Errorf("got %v\nwant %s", got, want)
			}
		})
	}
}

// refuse runs one step on a source and returns its error.
func refuse(ctx context.Context, b *msl.Builder, by, file, dir string) error {
	switch by {
	case "preprocess", "parse":
		_, err := b.Parse(ctx, msl.HostFast, file)
		return err
	case "strict":
		return b.Check(ctx, []string{file})
	case "host-fast":
		return b.Library(ctx, msl.HostFast, []string{file}, filepath.Join(dir, "refused.so"))
	}
	return nil
}
