package kit

import "testing"

func TestClean(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "abc 日本 \u2028", "abc 日本 \u2028"},
		{"nul", "a\x00b", "ab"},
		{"broken", "a\xffb", "a\uFFFDb"},
		{"surrogate", "\xed\xa0\x80", "\uFFFD"},
	} {
		if got := Clean(tt.in); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
