package main

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/adrg/xdg"
)

// asMain makes the test binary behave as sotto itself, for tests that need a process of its own.
const asMain = "SOTTO_TEST_AS_MAIN"

// folders are the variables that say where Sotto keeps its files.
var folders = []string{"XDG_CACHE_HOME", "XDG_DATA_HOME"}

// TestMain gives all tests folders of their own, so that the built-in model is packed once.
func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		main()
	}
	home, err := os.MkdirTemp("", "sotto-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, name := range folders {
		os.Setenv(name, filepath.Join(home, name))
	}
	xdg.Reload()
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

// emptyHome gives the test empty folders and returns what holds them.
func emptyHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	t.Cleanup(xdg.Reload) // after the variables are back
	for _, name := range folders {
		t.Setenv(name, filepath.Join(home, name))
	}
	xdg.Reload()
	return home
}

// filesIn lists the files under a folder, relative to it.
func filesIn(t *testing.T, root string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		list = append(list, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// output is what one run of sotto left.
type output struct {
	code     int
	out, err string
}

// sotto runs the command line in this process with nothing to read.
func sotto(t *testing.T, args ...string) output {
	t.Helper()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	return sottoFrom(t, null, args...)
}

// pipedSotto runs the command line with text piped in.
func pipedSotto(t *testing.T, text string, args ...string) output {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		io.WriteString(w, text)
		w.Close()
	}()
	return sottoFrom(t, r, args...)
}

func sottoFrom(t *testing.T, in *os.File, args ...string) output {
	t.Helper()
	out, errs := &strings.Builder{}, &strings.Builder{}
	code := run(args, terminal{in: in, out: out, err: errs})
	return output{code, out.String(), errs.String()}
}

// process prepares sotto in a process of its own.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, args...)
	c.Env = append(os.Environ(), asMain+"=1")
	return c
}

// good fails the test unless the run went well.
func good(t *testing.T, o output) output {
	t.Helper()
	if o.code != 0 {
		t.Fatalf("exit code %d: %s", o.code, o.err)
	}
	return o
}

// refused checks that a run ended with one clear sentence and nothing else, and that the sentence has these parts.
func refused(t *testing.T, o output, code int, parts ...string) {
	t.Helper()
	if o.code != code {
		t.Errorf("exit code %d, want %d", o.code, code)
	}
	if o.out != "" {
		t.Errorf("standard output has %q", o.out)
	}
	text := o.err
	if code == exitUsage {
		pointer := regexp.MustCompile(`Run 'sotto( [a-z]+)* --help' for usage\.\n$`)
		if !pointer.MatchString(text) {
			t.Errorf("no pointer to --help in %q", o.err)
		}
		text = pointer.ReplaceAllString(text, "")
	}
	sentence, ok := strings.CutPrefix(text, "sotto: ")
	if !ok || strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		t.Errorf("want one line that begins with \"sotto: \", got %q", text)
	}
	for _, bad := range []string{"failed to", "panic", "%!", "goroutine", "<nil>", "strconv", "invalid syntax"} {
		if strings.Contains(sentence, bad) {
			t.Errorf("%q in %q", bad, sentence)
		}
	}
	for _, part := range parts {
		if !strings.Contains(sentence, part) {
			t.Errorf("got %q, want %q in it", sentence, part)
		}
	}
}

// answered parses what `sotto ask --json` printed.
func answered(t *testing.T, o output) answerJSON {
	t.Helper()
	good(t, o)
	var a answerJSON
	dec := json.NewDecoder(strings.NewReader(o.out))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		t.Fatalf("%v in %q", err, o.out)
	}
	if dec.More() {
		t.Errorf("more than one object in %q", o.out)
	}
	return a
}

// ask asks greedily for JSON.
func ask(t *testing.T, args ...string) answerJSON {
	t.Helper()
	return answered(t, sotto(t, append([]string{"ask", "--json", "--temperature", "0"}, args...)...))
}
