package screen

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"sotto/engine"
)

// titleLength is how long the first words of a conversation get, in characters.
const titleLength = 48

// firstWords makes a title of a message: the first words of its first line that has any, without marks of Markdown.
func firstWords(s string) string {
	for line := range strings.Lines(s) {
		words := strings.Fields(strings.TrimLeft(strings.TrimSpace(line), "#>*-`+=~ \t"))
		if len(words) == 0 {
			continue
		}
		title := words[0]
		for _, w := range words[1:] {
			if utf8.RuneCountInString(title)+1+utf8.RuneCountInString(w) > titleLength {
				return title + "…"
			}
			title += " " + w
		}
		return shorten(title, titleLength)
	}
	return shorten(strings.Join(strings.Fields(s), " "), titleLength)
}

// shorten cuts a text to n characters.
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimRightFunc(string([]rune(s)[:n-1]), unicode.IsSpace) + "…"
}

// sentence begins a text with a capital.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// thousands prints a number with separators.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func count(n int, what string) string { return thousands(n) + " " + plural(n, what, what+"s") }

// explain says what an error means where it is shown.
func explain(err error, d door) string {
	var window *engine.WindowError
	if !errors.As(err, &window) {
		return sentence(err.Error())
	}
	if d == inService {
		return fmt.Sprintf(
			"The selected text is too long: with its instructions it has %s, and the window holds %s.",
			count(window.Prompt, "token"), thousands(window.Window))
	}
	return fmt.Sprintf("This conversation is too long: it has %s, and the window holds %s, "+
		"the answer included. Shorten the message or begin a new chat.", count(window.Prompt, "token"),
		thousands(window.Window))
}

// rateText prints tokens a second.
func rateText(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.1f tok/s", v)
	}
	return thousands(int(math.Round(v))) + " tok/s"
}

// figuresText is the line under an answer.
func figuresText(model string, f Figures) string {
	if f == (Figures{}) {
		return ""
	}
	parts := []string{}
	if model != "" {
		parts = append(parts, model)
	}
	if f.FirstToken > 0 {
		parts = append(parts, "first token "+durationText(f.FirstToken))
	}
	read := "read " + count(f.Prompt-f.Cached, "token")
	if f.Prompt > f.Cached && f.Prefill > 0 {
		read += " at " + rateText(float64(f.Prompt-f.Cached)/f.Prefill.Seconds())
	}
	if f.Cached > 0 {
		read += ", " + thousands(f.Cached) + " kept"
	}
	wrote := "wrote " + count(f.Completion, "token")
	if f.Completion > 1 && f.Decode > 0 {
		wrote += " at " + rateText(float64(f.Completion-1)/f.Decode.Seconds())
	}
	return strings.Join(append(parts, read, wrote), " · ")
}

func durationText(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// thoughtText is the title of folded thinking.
func thoughtText(d time.Duration, done bool) string {
	what := "Thinking"
	if done {
		what = "Thought"
	}
	switch {
	case d >= time.Minute:
		return fmt.Sprintf("%s for %d min %d s", what, int(d.Minutes()), int(d.Seconds())%60)
	case d >= time.Second:
		return fmt.Sprintf("%s for %d s", what, int(d.Seconds()))
	}
	return what
}
