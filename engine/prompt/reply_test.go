package prompt

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

type replyCase struct {
	name              string
	inside            bool
	stops             []string
	pieces            []string
	thinking, content string
	stop              string
}

var replyCases = []replyCase{
	{"plain", false, nil, []string{"Hel", "lo\n"}, "", "Hello\n", ""},
	{"thinking in the prompt", true, nil, []string{"pl", "an\n", "</think>", "\n\nDone."}, "plan", "Done.", ""},
	{"thinking in the reply", false, nil, []string{" \n<th", "ink>\nplan\n</think>\n\nDone.\n"}, "plan", "Done.\n", ""},
	{"a tag over deltas", true, nil, []string{"a <", "/think>{", `"x":1}`}, "a ", `{"x":1}`, ""},
	{"no tag after all", true, nil, []string{"a <", "/thin", " b</think>c"}, "a </thin b", "c", ""},
	{"a tag in content", false, nil, []string{"use <think> and </think>."}, "", "use <think> and </think>.", ""},
	{"nearly thinking", false, nil, []string{"<th", "e end"}, "", "<the end", ""},
	{"empty thinking", true, nil, []string{"\n", "\n</think>", "\n", "\n", "x"}, "", "x", ""},
	{"newlines inside", true, nil, []string{"\na\n", "\n\nb\n", "\n</think>"}, "a\n\n\nb", "", ""},
	{"cut inside thinking", true, nil, []string{"a\n", "b</thi"}, "a\nb</thi", "", ""},
	{"only white space", false, nil, []string{" ", "\n"}, "", " \n", ""},
	{
		"stop over deltas", false,
		[]string{"beta gamma"},
		[]string{"alpha be", "ta", " gam", "ma delta"},
		"", "alpha ",
		"beta gamma",
	},
	{"stop held back", false, []string{"\nUser:"}, []string{"Hi", "\nUser", ":", " more"}, "", "Hi", "\nUser:"},
	{"stop refuted", false, []string{"\nUser:"}, []string{"Hi", "\nUser", " is"}, "", "Hi\nUser is", ""},
	{"stop at the end", false, []string{"\nUser:"}, []string{"Hi", "\nUser"}, "", "Hi\nUser", ""},
	{"stops count in content only", true, []string{"x"}, []string{"axb</think>", "cxd"}, "axb", "c", "x"},
	{"a stop in the tag", true, []string{"think"}, []string{"a</thi", "nk>b"}, "a", "b", ""},
	{"the first whole stop", false, []string{"bcde", "cd"}, []string{"abcde"}, "", "ab", "cd"},
	{"the longer of two", false, []string{"cd", "bcd"}, []string{"abcde"}, "", "a", "bcd"},
	{"overlapping beginnings", false, []string{"aab"}, []string{"a", "a", "a", "b", "c"}, "", "a", "aab"},
	{"empty stop", false, []string{""}, []string{"ab"}, "", "ab", ""},
}

func parse(inside bool, stops, pieces []string) (thinking, content, stop string) {
	r := NewReply(inside, stops)
	var events []Event
	for _, p := range pieces {
		events = append(events, r.Push(p)...)
	}
	events = append(events, r.Flush()...)
	for _, e := range events {
		if e.Kind == Thinking {
			thinking += e.Text
		} else {
			content += e.Text
		}
	}
	stop, _ = r.Stopped()
	return thinking, content, stop
}

func TestReply(t *testing.T) {
	for _, c := range replyCases {
		t.Run(c.name, func(t *testing.T) {
			whole := strings.Join(c.pieces, "")
			for _, pieces := range [][]string{c.pieces, {whole}, strings.Split(whole, "")} {
				thinking, content, stop := parse(c.inside, c.stops, pieces)
				if thinking != c.thinking || content != c.content || stop != c.stop {
					t.Errorf("%q: got %q, %q, stop %q, want %q, %q, stop %q", pieces, thinking, content, stop,
						c.thinking, c.content, c.stop)
				}
			}
		})
	}
}

// TestReplyInAnyPieces cuts every reply at random.
func TestReplyInAnyPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range replyCases {
		for range 50 {
			pieces := cut(strings.Join(c.pieces, ""), rng.Uint64())
			thinking, content, stop := parse(c.inside, c.stops, pieces)
			if thinking != c.thinking || content != c.content || stop != c.stop {
				t.Errorf("%s, %q: got %q, %q, stop %q", c.name, pieces, thinking, content, stop)
			}
		}
	}
}

// cut divides s where bits are set.
func cut(s string, bits uint64) []string {
	var out []string
	last := 0
	for i := 1; i < len(s); i++ {
		if bits>>(i%64)&1 == 1 {
			out = append(out, s[last:i])
			last = i
		}
	}
	return append(out, s[last:])
}

// TestReplyStreams requires that text comes out as soon as it is certain.
func TestReplyStreams(t *testing.T) {
	r := NewReply(false, []string{"\nUser:"})
	for _, c := range []struct {
		push string
		want []Event
	}{
		{"Hello", []Event{{Content, "Hello"}}},
		{" there\n", []Event{{Content, " there"}}},
		{"Us", nil},
		{"eful\ufffd", []Event{{Content, "\nUseful\ufffd"}}},
		{"", nil},
		{".", []Event{{Content, "."}}},
	} {
		if got := r.Push(c.push); !slices.Equal(got, c.want) {
			t.Errorf("push %q: got %q, want %q", c.push, got, c.want)
		}
	}
	r = NewReply(true, nil)
	got, want := r.Push("plan</think>Done"), []Event{{Thinking, "plan"}, {Content, "Done"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
