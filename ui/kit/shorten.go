package kit

import "unicode/utf8"

// Shorten cuts text so that with an ellipsis it is at most width points wide, as measure says.
func Shorten(text string, width float64, measure func(string) float64) string {
	if measure(text) <= width {
		return text
	}
	const ellipsis = "…"
	low, high := 0, utf8.RuneCountInString(text) // low runes fit
	runes := []rune(text)
	for low < high {
		middle := (low + high + 1) / 2
		if measure(string(runes[:middle])+ellipsis) <= width {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return string(runes[:low]) + ellipsis
}
