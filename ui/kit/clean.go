package kit

import "strings"

// Clean makes text that an NSString can hold: NUL would end it early, what is not UTF-8 would make none.
func Clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}
