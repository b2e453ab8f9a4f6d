package screen

import (
	"regexp"
	"strings"
)

// mend completes the open end of a text that is still arriving, so that it looks now as it most likely will: a marker
// that has nothing behind it yet is held back, emphasis, code and links that are open are closed, and a line that
// begins like a table is one. It changes nothing before the last paragraph. The text itself is not changed by it.
func mend(s string) string {
	cut := strings.LastIndexByte(s, '\n') + 1
	lines, last := s[:cut], s[cut:]
	if fence := openFence(lines); fence != "" {
		if t := strings.TrimSpace(last); t != "" && strings.HasPrefix(fence, t) {
			return lines // a closing fence, perhaps
		}
		return s
	}
	if m := fenceLine.FindStringSubmatch(last); m != nil && !strings.Contains(m[2], "`") {
		return s
	}
	if bareMarker.MatchString(last) {
		last = ""
	}
	s = lines + last
	from := paragraphStart(s)
	if t, ok := headerRow(s[from:]); ok {
		return s[:from] + t
	}
	return s[:from] + closeInline(s[from:])
}

// bareMarker matches a line that may become a marker of some block and shows nothing yet.
var bareMarker = regexp.MustCompile("^[ \t>]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*" +
	"(?:#{1,6}|[-*+]|[0-9]{1,9}[.)]|`{1,2}|~{1,2}|\\[[ xX]?\\]?|-{2,}|\\*{2,}|_+|\\|?[-:| ]+)?[ \t]*$")

// fenceLine matches the opening of fenced code.
var fenceLine = regexp.MustCompile("^[ \t>]*(?:[-*+]|[0-9]{1,9}[.)])?[ \t]*(`{3,}|~{3,})([^\n]*)$")

// openFence is the fence of code that is open after whole lines, "" if none is.
func openFence(lines string) string {
	fence := ""
	for line := range strings.Lines(lines) {
		if !strings.Contains(line, "```") && !strings.Contains(line, "~~~") {
			continue
		}
		line = strings.TrimSuffix(line, "\n")
		m := fenceLine.FindStringSubmatch(line)
		switch {
		case m == nil:
		case fence == "" && (m[1][0] == '~' || !strings.Contains(m[2], "`")):
			fence = m[1]
		case fence != "" && m[1][0] == fence[0] && len(m[1]) >= len(fence) && strings.TrimSpace(m[2]) == "":
			fence = ""
		}
	}
	return fence
}

// itemLine matches the beginning of a line that starts a paragraph of its own.
var itemLine = regexp.MustCompile(`^[ \t>]*(?:[-*+]|[0-9]{1,9}[.)]|#{1,6})[ \t]`)

// paragraphStart is where the last paragraph of a text begins.
func paragraphStart(s string) int {
	end := len(s)
	for end > 0 {
		begin := strings.LastIndexByte(s[:end-1], '\n') + 1
		line := s[begin:end]
		if strings.TrimSpace(line) == "" {
			return end
		}
		if itemLine.MatchString(line) {
			return begin
		}
		end = begin
	}
	return 0
}

// headerRow completes a paragraph that is the first line of a table, and perhaps a part of the second.
func headerRow(s string) (string, bool) {
	row, rest, _ := strings.Cut(s, "\n")
	if strings.TrimSpace(rest) != "" || !strings.HasPrefix(strings.TrimSpace(row), "|") {
		return "", false
	}
	row = strings.TrimSpace(row)
	if len(row) < 2 {
		return "", false
	}
	if !strings.HasSuffix(row, "|") || strings.HasSuffix(row, `\|`) {
		row = closeInline(row) + " |"
	}
	columns := strings.Count(row, "|") - strings.Count(row, `\|`) - 1
	if columns > maxColumns {
		return "", false
	}
	return row + "\n|" + strings.Repeat("---|", columns) + "\n", true
}

// closeInline closes what is open at the end of a paragraph.
func closeInline(s string) string {
	open := openInline(s)
	if len(open) == 0 {
		return s
	}
	body := strings.TrimRight(s, " \t\n")
	for i := len(open) - 1; i >= 0; i-- {
		mark := open[i]
		if strings.HasSuffix(body, mark) && mark != ")" { // nothing inside yet
			body = strings.TrimRight(strings.TrimSuffix(body, mark), " \t\n")
			continue
		}
		body += mark
	}
	return body
}

// openInline lists the marks that would close what is open, outermost first.
func openInline(s string) []string {
	var open []string
	for i := 0; i < len(s); {
		c := s[i]
		n := 1
		switch c {
		case '\\':
			n = 2
		case '`':
			n = span(s[i:], c)
			end := closingTicks(s[i+n:], n)
			if end < 0 {
				return append(open, s[i:i+n])
			}
			n += end
		case '*', '_', '~':
			n = span(s[i:], c)
			open = delimiter(open, s, i, n)
		case ']':
			if strings.HasPrefix(s[i:], "](") && !strings.ContainsAny(s[i+2:], ") \n") && strings.Contains(s[:i], "[") {
				return append(open, ")")
			}
		}
		i += n
	}
	return open
}

// delimiter takes a run of n emphasis marks at s[i:] into account.
func delimiter(open []string, s string, i, n int) []string {
	mark := s[i : i+n]
	before, after := byte(' '), byte(' ')
	if i > 0 {
		before = s[i-1]
	}
	if i+n < len(s) {
		after = s[i+n]
	}
	if k := len(open); k > 0 && open[k-1] == mark && !blank(before) {
		return open[:k-1]
	}
	switch {
	case n > 3, mark[0] == '~' && n != 2, blank(after) && i+n < len(s):
		return open
	case mark[0] == '_' && !blank(before) && !punctuation(before):
		return open
	}
	return append(open, mark)
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// span counts how often c stands at the beginning of s.
func span(s string, c byte) int {
	n := 0
	for n < len(s) && s[n] == c {
		n++
	}
	return n
}

// closingTicks is the offset behind a run of exactly n backticks, -1 if there is none.
func closingTicks(s string, n int) int {
	for i := 0; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		k := span(s[i:], '`')
		i += k
		if k == n {
			return i
		}
	}
	return -1
}
