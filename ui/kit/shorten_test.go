package kit

import (
	"testing"
	"unicode/utf8"
)

func TestShorten(t *testing.T) {
	measure := func(s string) float64 { return 10 * float64(utf8.RuneCountInString(s)) }
	for _, tt := range []struct {
		name, in string
		width    float64
		want     string
	}{
		{"fits", "abc", 30, "abc"},
		{"too long", "abcdef", 40, "abc…"},
		{"not of one byte", "äöüß日本", 40, "äöü…"},
		{"no room at all", "abc", 5, "…"},
		{"empty", "", 0, ""},
	} {
		if got := Shorten(tt.in, tt.width, measure); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
