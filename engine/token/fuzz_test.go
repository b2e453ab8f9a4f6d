package token

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzLoad(f *testing.F) {
	whole := small(f).bytes(f)
	f.Add(whole)
	f.Add(whole[:len(whole)/3])
	f.Add([]byte(`{"model":{"type":"BPE","vocab":{"a":0},"merges":[["a","a"]]},"added_tokens":[]}`))
	f.Add([]byte(`{"added_tokens":[{"id":4194303,"content":"x"}],"decoder":{"type":"ByteLevel"}}`))
	f.Add([]byte("{\"a\":\"\\ud83d\\ude00\\u00e9\",\"b\":[{},[1,-2.5e3,null]]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tok, err := Load(data)
		if err != nil {
			if tok != nil {
				t.Error("a tokenizer beside an error")
			}
			return
		}
		s := "Hello <|end|> wörld 12\n"
		ids := tok.EncodePlain(nil, s)
		for _, id := range ids {
			if id < 0 || int(id) >= tok.Vocab() {
				t.Fatalf("id %d of %d", id, tok.Vocab())
			}
		}
		if got := tok.Decode(ids); got != s {
			t.Errorf("got %q, want %q", got, s)
		}
	})
}

func FuzzEncodeDecode(f *testing.F) {
	for _, s := range []string{
		"", " Hi", "e\u0301 \u00e9", "\n  \r\n\t x",
		"don't WE'LL 'ſ", "<|im_start|>user\n<|im_end|>", "a\ufffdb",
		"\xf0\x9f\x98", "한글 각", "123 ½ ٣", "\u1dfa\u0316\u0345a\u0334", "ǅʰAbC",
	} {
		f.Add(s, uint8(0), uint8(3))
	}
	tiny := load(f, tinyPath)
	tekken := loadSmall(f, func(f file) {
		f.pre(0)["pattern"] = map[string]any{"Regex": tekkenExpression}
		f["normalizer"] = nil
	})
	f.Fuzz(func(t *testing.T, s string, from, size uint8) {
		valid := string(appendValid(nil, s))
		if utf8.ValidString(s) && s != valid {
			t.Fatalf("valid text changed: %q to %q", s, valid)
		}
		for _, tok := range []*Tokenizer{tiny, tekken} {
			want := valid
			if tok.norm != nil {
				want = tok.norm.apply(valid)
				if again := tok.norm.apply(want); again != want {
					t.Fatalf("NFC twice: %q, then %q", want, again)
				}
			}
			ids := tok.EncodePlain(nil, s)
			if got := tok.Decode(ids); got != want {
				t.Errorf("plain: got %q, want %q", got, want)
			}
			if k := slices.IndexFunc(ids, tok.Special); k >= 0 {
				t.Errorf("typed text gave the special token %d", ids[k])
			}
			a := min(int(from), len(s))
			text := Text{s, [][2]int{{a, min(a+int(size), len(s))}}}
			for _, ids := range [][]int32{ids, tok.EncodeTrusted(nil, s), tok.Encode(nil, text)} {
				if got, want := stream(tok, ids, true), tok.Decode(ids); got != want {
					t.Errorf("streamed: got %q, want %q", got, want)
				}
				if got := stream(tok, ids, false); !utf8.ValidString(got) {
					t.Errorf("streamed without special tokens: %q", got)
				}
			}
			whole := Text{s, [][2]int{{0, len(s)}}}
			if got := tok.Encode(nil, whole); !slices.Equal(got, ids) {
				t.Errorf("guarded throughout: got %v, want %v", got, ids)
			}
			if i := strings.Index(s, "<|"); i < 0 && tok == tiny {
				if got := tok.EncodeTrusted(nil, s); !slices.Equal(got, ids) {
					t.Errorf("without control tokens: got %v, want %v", got, ids)
				}
			}
		}
	})
}

// FuzzStream decodes arbitrary bytes in arbitrary order, one by one and at once.
func FuzzStream(f *testing.F) {
	f.Add([]byte("a\xf0\x9f\x98\x80\xc4\x8f\xed\xa0\x80\xe0\x80\xff"))
	tok := loadSmall(f, nil)
	f.Fuzz(func(t *testing.T, raw []byte) {
		ids := bytesOf(string(raw))
		got, want := stream(tok, ids, true), tok.Decode(ids)
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		runs := strings.ToValidUTF8(string(raw), "\ufffd")
		if utf8.RuneCountInString(runs) > utf8.RuneCountInString(want) {
			t.Errorf("%q: fewer characters than runs of bad bytes", want)
		}
	})
}
