package token

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// file is a tokenizer.json that tests change.
type file map[string]any

// small returns a vocabulary of the 256 bytes and a few words. Ids of bytes are the bytes themselves.
func small(t testing.TB) file {
	t.Helper()
	l := &loader{}
	l.alphabet()
	vocab := map[string]any{}
	for r, b := range l.decode {
		if b >= 0 {
			vocab[string(rune(r))] = int(b)
		}
	}
	words := []string{"he", "ll", "hell", "hello", "lo", "Ġh", "</", "im", "xhe"}
	for i, w := range words {
		vocab[w] = 256 + i
	}
	split := map[string]any{
		"type": "Split", "pattern": map[string]any{"Regex": qwenExpression}, "behavior": "Isolated",
		"invert": false,
	}
	level := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false}
	return file{
		"added_tokens": []any{
			added(300, "<|end|>", true), added(301, "<|end", false), added(302, "</t>", false),
			added(303, "é", true),
		},
		"normalizer":    map[string]any{"type": "NFC"},
		"pre_tokenizer": map[string]any{"type": "Sequence", "pretokenizers": []any{split, level}},
		"decoder":       level,
		"model": map[string]any{"type": "BPE", "ignore_merges": false, "vocab": vocab, "merges": []any{
			"h e",
			[]any{"l", "l"},
			"he ll", "l o", "hell o", "Ġ h", "< /", "i m",
		}},
	}
}

func added(id int, content string, special bool) map[string]any {
	return map[string]any{
		"id": id, "content": content, "special": special, "normalized": false, "single_word": false,
		"lstrip": false, "rstrip": false,
	}
}

func (f file) bytes(t testing.TB) []byte {
	t.Helper()
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (f file) model() map[string]any { return f["model"].(map[string]any) }

func (f file) vocab() map[string]any { return f.model()["vocab"].(map[string]any) }

func (f file) pre(i int) map[string]any {
	return f["pre_tokenizer"].(map[string]any)["pretokenizers"].([]any)[i].(map[string]any)
}

func loadSmall(t testing.TB, change func(f file)) *Tokenizer {
	t.Helper()
	f := small(t)
	if change != nil {
		change(f)
	}
	tok, err := Load(f.bytes(t))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func bytesOf(s string) []int32 {
	var ids []int32
	for _, b := range []byte(s) {
		ids = append(ids, int32(b))
	}
	return ids
}

func TestMerges(t *testing.T) {
	ignoring := func(f file) { f.model()["ignore_merges"] = true }
	for _, c := range []struct {
		name, text string
		change     func(file)
		want       []int32
	}{
		{"by rank", "hello", nil, []int32{259}},
		{"leftmost first", "lll", nil, []int32{257, 'l'}},
		{"a word in front", " hello", nil, []int32{' ', 259}},
		{"a later merge with the blank", " h", nil, []int32{261}},
		{"a token that no merge makes", "xhe", nil, []int32{'x', 256}},
		{"ignore_merges takes it whole", "xhe", ignoring, []int32{264}},
		{"the first of two ranks", "llo", nil, []int32{257, 'o'}},
		{"the last of two equal pairs counts", "llo", func(f file) {
			f.model()["merges"] = append(f.model()["merges"].([]any), "l l")
		}, []int32{'l', 260}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := loadSmall(t, c.change).EncodePlain(nil, c.text); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestGuards(t *testing.T) {
	tok := loadSmall(t, nil)
	for _, c := range []struct {
		name   string
		text   string
		guards [][2]int
		want   []int32
	}{
		{"free", "a<|end|>b", nil, []int32{'a', 300, 'b'}},
		{"guarded", "<|end|>", [][2]int{{0, 7}}, bytesOf("<|end|>")},
		{"a cut inside", "<|end|>", [][2]int{{1, 1}}, bytesOf("<|end|>")},
		{"cuts at the borders", "<|end|>", [][2]int{{0, 0}, {7, 7}}, []int32{300}},
		{"a guard that ends where it begins", "ab<|end|>", [][2]int{{0, 2}}, []int32{'a', 'b', 300}},
		{"a guard that begins where it ends", "<|end|>ab", [][2]int{{7, 9}}, []int32{300, 'a', 'b'}},
		{"a guard over its last byte", "<|end|>", [][2]int{{6, 7}}, []int32{301, '|', '>'}},
		{"the second is free", "<|end|><|end|>", [][2]int{{0, 7}}, append(bytesOf("<|end|>"), 300)},
		{"words run across guards", "hello", [][2]int{{1, 3}}, []int32{259}},
		{"words run across refused tokens", "</t>", [][2]int{{0, 4}}, []int32{262, 't', '>'}},
		{"one character", "é", nil, []int32{303}},
		{"one character, guarded", "é", [][2]int{{0, 2}}, bytesOf("é")},
		{"the longest wins", "<|end|>", nil, []int32{300}},
		{"the leftmost wins", "<|end<|end|>", nil, []int32{301, 300}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := tok.Encode(nil, Text{c.text, c.guards}); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestNormalizedTokens(t *testing.T) {
	tok := loadSmall(t, func(f file) {
		a := added(304, "<é>", false)
		a["normalized"] = true
		f["added_tokens"] = []any{a}
	})
	decomposed := "x<e\u0301>"
	if got, want := tok.EncodeTrusted(nil, decomposed), []int32{'x', 304}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := tok.EncodePlain(nil, decomposed), bytesOf("x<é>"); !slices.Equal(got, want) {
		t.Errorf("plain: got %v, want %v", got, want)
	}
	guarded := Text{decomposed, [][2]int{{2, 2}}}
	if got, want := tok.Encode(nil, guarded), bytesOf("x<é>"); !slices.Equal(got, want) {
		t.Errorf("guarded: got %v, want %v", got, want)
	}
}

func TestLookups(t *testing.T) {
	tok := loadSmall(t, nil)
	if got := tok.Vocab(); got != 304 {
		t.Errorf("vocab: got %d, want 304", got)
	}
	for content, want := range map[string]int32{"<|end|>": 300, " h": 261, "hello": 259} {
		if id, ok := tok.ID(content); !ok || id != want {
			t.Errorf("id of %q: got %d, %v, want %d", content, id, ok, want)
		}
	}
	if _, ok := tok.ID("nothing"); ok {
		t.Error("an id for a text that is no token")
	}
	for id, want := range map[int32]bool{300: true, 301: false, 259: false, -1: false, 5000: false} {
		if got := tok.Special(id); got != want {
			t.Errorf("special %d: got %v, want %v", id, got, want)
		}
	}
	if got, want := tok.Added(), []string{"<|end|>", "<|end", "</t>", "é"}; !slices.Equal(got, want) {
		t.Errorf("added: got %q, want %q", got, want)
	}
	if got, want := tok.Decode([]int32{-5, 300, 290, 99999, 259}), "<|end|>hello"; got != want {
		t.Errorf("decode with unknown ids: got %q, want %q", got, want)
	}
}

func TestLoadRefuses(t *testing.T) {
	set := func(key string, v any) func(file) { return func(f file) { f[key] = v } }
	model := func(key string, v any) func(file) { return func(f file) { f.model()[key] = v } }
	merges := func(m ...any) func(file) { return model("merges", m) }
	vocab := func(key string, v any) func(file) { return func(f file) { f.vocab()[key] = v } }
	for _, c := range []struct {
		name   string
		change func(file)
		want   string
	}{
		{"model type", model("type", "Unigram"), `model type "Unigram"`},
		{"dropout", model("dropout", 0.1), "dropout"},
		{"byte fallback", model("byte_fallback", true), "byte_fallback"},
		{"prefix", model("continuing_subword_prefix", "##"), "prefix"},
		{"no vocab", func(f file) { delete(f.model(), "vocab") }, "vocab or merges missing"},
		{"normalizer", set("normalizer", map[string]any{"type": "NFKC"}), `normalizer "NFKC"`},
		{"decoder", set("decoder", map[string]any{"type": "WordPiece"}), "decoder"},
		{"pre-tokenizer", set("pre_tokenizer", map[string]any{"type": "Whitespace"}), "pre_tokenizer"},
		{"expression", func(f file) {
			f.pre(0)["pattern"] = map[string]any{"Regex": `\w+`}
		}, `unknown expression "\\w+"`},
		{"behavior", func(f file) { f.pre(0)["behavior"] = "Removed" }, "Removed"},
		{"prefix space", func(f file) { f.pre(1)["add_prefix_space"] = true }, "add_prefix_space"},
		{"byte missing", func(f file) { delete(f.vocab(), "A") }, "no token for byte 0x41"},
		{"id twice", vocab("new", 256), "id 256 stands twice"},
		{"id too large", vocab("new", 1<<40), "whole number from 0"},
		{"id negative", vocab("new", -1), "whole number from 0"},
		{"id no number", vocab("new", "7"), "whole number from 0"},
		{"id broken", vocab("new", 7.5), "whole number from 0"},
		{"empty token", vocab("", 290), "empty token"},
		{"merge of one", merges("hello"), "merge 0 has 1 parts"},
		{"merge of three", merges("h e l"), "merge 0 has 3 parts"},
		{"merge of a list of one", merges([]any{"h"}), "merge 0 has 1 parts"},
		{"merge of a number", merges(7), "'\"' expected"},
		{"merge of an unknown token", merges("h e", "zz h"), `merge 1: "zz" is not in the vocabulary`},
		{"merge without its result", merges("z z"), `the result "zz" is not in the vocabulary`},
		{"merge that makes a special token", func(f file) {
			f.vocab()["<|end|>"] = 300
			f.vocab()["<|end|"] = 290
			f.model()["merges"] = []any{"<|end| >"}
		}, "not in the vocabulary"},
		{"added id taken", set("added_tokens", []any{added(256, "<x>", true)}), `id 256 is "<x>" here, another`},
		{
			"added id twice", set("added_tokens", []any{added(300, "<x>", true), added(300, "<y>", true)}),
			"id 300 stands",
		},
		{"added twice", set("added_tokens", []any{added(300, "<x>", true), added(301, "<x>", true)}), "stands twice"},
		{"added without content", set("added_tokens", []any{added(300, "", true)}), "no content"},
		{"added id too large", set("added_tokens", []any{added(1<<30, "<x>", true)}), "allowed are 0 to"},
		{"added lstrip", func(f file) { f["added_tokens"].([]any)[0].(map[string]any)["lstrip"] = true }, "lstrip"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := small(t)
			c.change(f)
			refused(t, f.bytes(t), c.want)
		})
	}
	whole := string(small(t).bytes(t))
	for _, c := range []struct{ name, data, want string }{
		{"empty", "", "byte 0: '{' expected, the end found"},
		{"no object", "[]", "'{' expected"},
		{"cut", whole[:len(whole)/2], "byte"},
		{"tail", whole + "x", "something follows"},
		{"key twice", `{"model":{},"model":{}}`, `"model" stands twice`},
		{"deep", `{"a":` + strings.Repeat("[", 1000), "levels"},
		{"no model", `{}`, "decoder"},
		{"not UTF-8", strings.Replace(whole, "hello", "hell\xff", 1), "UTF-8"},
		{"half a pair", strings.Replace(whole, `"hello":`, `"\ud800":`, 1), "surrogate"},
		{"bad escape", strings.Replace(whole, `"hello":`, `"\q":`, 1), "escape"},
		{"token twice", strings.Replace(whole, `"hello":259`, `"hello":259,"hell\u006f":290`, 1), "stands twice"},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, []byte(c.data), c.want) })
	}
}

func refused(t *testing.T, data []byte, want string) {
	t.Helper()
	_, err := Load(data)
	if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "tokenizer.json: ") {
		t.Errorf("got error %v, want tokenizer.json: ... %s", err, want)
	}
}

// TestEscapes loads a file whose strings are written as escapes throughout.
func TestEscapes(t *testing.T) {
	var b strings.Builder
	inside := false
	for _, r := range string(small(t).bytes(t)) {
		if r == '"' {
			inside = !inside
		}
		if inside && r > '~' {
			fmt.Fprintf(&b, `\u%04X`, r)
		} else {
			b.WriteRune(r)
		}
	}
	tok, err := Load([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tok.EncodePlain(nil, " hello"), []int32{' ', 259}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
