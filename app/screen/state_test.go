package screen

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"sotto/engine"
)

// doorNames are all doors of a view.
const doorNames = "chat quick status service settings"

func printAll(s State) string {
	v := Show(s)
	var w strings.Builder
	for _, door := range strings.Fields(doorNames) {
		w.WriteString(printView(v, door))
	}
	return w.String()
}

// TestStatesDoNotChange plays all scenes at once, in many orders, and holds that no state changes once another one was
// made from it, that nothing panics, and that the same messages give the same state.
func TestStatesDoNotChange(t *testing.T) {
	var all []Msg
	for _, list := range [][]scene{
		chatScenes(), answerScenes(), listScenes(), quickScenes(), statusScenes(), serviceScenes(),
		settingsScenes(),
	} {
		for _, sc := range list {
			all = append(all, sc.msgs...)
		}
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		s, again := New(), New()
		for _, m := range stored() {
			s, _ = Update(s, m)
			again, _ = Update(again, m)
		}
		type memory struct {
			state State
			text  string
		}
		var past []memory
		for i := range 300 {
			m := all[r.IntN(len(all))]
			if i%37 == 0 {
				past = append(past, memory{s, printAll(s)})
			}
			s, _ = Update(s, m)
			again, _ = Update(again, m)
			if Wake(s).IsZero() {
				t.Fatalf("after %T: no time to wake", m)
			}
		}
		if a, b := printAll(s), printAll(again); a != b {
			t.Fatalf("seed %d: the same messages gave\n%s\nand\n%s", seed, a, b)
		}
		for _, p := range past {
			if now := printAll(p.state); now != p.text {
				t.Fatalf("seed %d: an old state changed:\n%s", seed, difference(p.text, now))
			}
		}
	}
}

func TestFirstWords(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"short", "Hello there", "Hello there"},
		{"first line that has words", "\n  \n## A *plan*\nmore", "A *plan*"},
		{
			"cut at a word", "one two three four five six seven eight nine ten eleven",
			"one two three four five six seven eight nine ten…",
		},
		{"one long word", strings.Repeat("x", 60), strings.Repeat("x", 47) + "…"},
		{"only marks", "***", "***"},
		{"characters, not bytes", strings.Repeat("é", 48), strings.Repeat("é", 48)},
		{"white space", "a\t b\u00a0c", "a b c"},
	}
	for _, tt := range cases {
		if got := firstWords(tt.text); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000",
		-100: "-100",
	} {
		if got := thousands(n); got != want {
			t.Errorf("thousands(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestDayTitle(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no zones on this machine")
	}
	now := time.Date(2026, 3, 29, 12, 0, 0, 0, zone) // the night before had 23 hours
	cases := []struct {
		t    time.Time
		want string
	}{
		{time.Date(2026, 3, 30, 1, 0, 0, 0, zone), "Today"}, // a clock that was set back
		{time.Date(2026, 3, 29, 0, 0, 0, 0, zone), "Today"},
		{time.Date(2026, 3, 28, 23, 59, 0, 0, zone), "Yesterday"},
		{time.Date(2026, 3, 28, 0, 0, 0, 0, zone), "Yesterday"},
		{time.Date(2026, 3, 27, 23, 59, 0, 0, zone), "Friday"},
		{time.Date(2026, 3, 23, 0, 0, 0, 0, zone), "Monday"},
		{time.Date(2026, 3, 22, 23, 0, 0, 0, zone), "22 March"},
		{time.Date(2025, 12, 31, 23, 0, 0, 0, zone), "31 December 2025"},
	}
	for _, c := range cases {
		if got := dayTitle(c.t, now); got != c.want {
			t.Errorf("%v: got %q, want %q", c.t, got, c.want)
		}
	}
}

func TestRate(t *testing.T) {
	var r rate
	for i := range 3 {
		if r = r.tick(after(time.Duration(i) * 20 * time.Millisecond)); r.shown != 0 {
			t.Errorf("%d tokens: %g, want nothing yet", i+1, r.shown)
		}
	}
	for i := 3; i < 100; i++ {
		r = r.tick(after(time.Duration(i) * 20 * time.Millisecond))
	}
	if r.shown < 49.99 || r.shown > 50.01 {
		t.Errorf("a token every 20 ms: %g a second", r.shown)
	}
	same := rate{}
	for range 10 {
		same = same.tick(noon)
	}
	if same.shown != 0 {
		t.Errorf("tokens at one time: %g a second", same.shown)
	}
}

func TestWake(t *testing.T) {
	midnight := time.Date(2026, 3, 13, 0, 0, 0, 0, time.UTC)
	cases := []struct {
		name string
		msgs []Msg
		want time.Time
	}{
		{"nothing to do", nil, midnight},
		{"a draft", []Msg{ComposerChanged{Text: "x"}}, after(time.Second)},
		{"a draft of a while ago", []Msg{
			ComposerChanged{Text: "x"},
			Tick{after(600 * time.Millisecond)},
			ComposerChanged{Text: "xy"},
		}, after(time.Second)},
		{"a partial answer", []Msg{Send{Text: "x"}, tok(1, 300, "y")}, after(time.Second)},
		{"an answer that waits", []Msg{Send{Text: "x"}}, midnight},
		{"thinking", []Msg{Send{Text: "x"}, think(1, 1300, "y")}, after(2300 * time.Millisecond)},
		{
			"a deleted conversation",
			[]Msg{Send{Text: "x"}, end(1, 0, engine.ReasonStop, "", "y"), DeleteChat{1}},
			after(undoFor),
		},
		{"quitting with an answer", []Msg{Send{Text: "x"}, Quit{}}, after(quitWait)},
		{"quitting", []Msg{Quit{}}, after(quitAgain)},
		{"quitting for long", []Msg{Quit{}, Tick{after(quitAgain)}}, midnight},
	}
	for _, tt := range cases {
		s := New()
		for _, m := range append(begun(), tt.msgs...) {
			s, _ = Update(s, m)
		}
		if got := Wake(s); !got.Equal(tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestViewsShareFinishedBlocks holds that a block that is finished is the same one in all later views.
func TestViewsShareFinishedBlocks(t *testing.T) {
	s := New()
	for _, m := range append(begun(), Send{Text: "x"}) {
		s, _ = Update(s, m)
	}
	var last []Block
	for i := range 200 {
		s, _ = Update(s, tok(1, i, fmt.Sprintf("word%d *", i)+[]string{" ", "* ", "\n\n", "\n- "}[i%4]))
		blocks := Show(s).Chat.Transcript.Messages[1].Blocks
		for k := range min(len(last), s.jobs[0].body.Finished(), len(blocks)) {
			if k < len(last)-2 && !same(last[k], blocks[k]) {
				t.Fatalf("token %d: block %d of %d changed", i, k, len(last))
			}
		}
		last = blocks
	}
	if len(last) < 50 {
		t.Errorf("%d blocks: too few to tell", len(last))
	}
}

// BenchmarkToken is a token of a long answer in a long list, with its view.
func BenchmarkToken(b *testing.B) {
	s := New()
	loaded := Loaded{}
	for i := range 1000 {
		loaded.Conversations = append(loaded.Conversations, Conversation{
			ID:    ConversationID(i + 1),
			First: "A conversation", Used: noon,
		})
	}
	for _, m := range []Msg{Tick{noon}, loaded, ready, Send{Text: "x"}} {
		s, _ = Update(s, m)
	}
	for i := range 500 {
		s, _ = Update(s, tok(1, i, "Some **bold** words.\n\n"))
	}
	b.ReportAllocs()
	for b.Loop() {
		next, _ := Update(s, tok(1, 501, " word"))
		Show(next)
	}
}
