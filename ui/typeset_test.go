package ui

import (
	"slices"
	"strings"
	"testing"

	"sotto/app/screen"
	"sotto/ui/kit"
)

func text(s string) []screen.Run { return []screen.Run{{Text: s}} }

func say(id screen.NodeID, side screen.Side, words ...string) screen.MessageView {
	m := screen.MessageView{ID: id, Side: side}
	for _, w := range words {
		m.Blocks = append(m.Blocks, screen.Block{Kind: screen.Paragraph, Runs: text(w)})
	}
	return m
}

func TestStreamingSetsOneBlockAgain(t *testing.T) {
	before := []screen.MessageView{say(1, screen.ByUser, "hello"), say(2, screen.ByModel, "one", "tw")}
	after := []screen.MessageView{before[0], say(2, screen.ByModel, "one", "two")}
	after[1].Blocks[1].Rev = 1
	old, now := pieces(before), pieces(after)
	c := compare(old, now)
	if c.oldTo-c.from != 1 || c.newTo-c.from != 1 || now[c.from].index != 1 || now[c.from].part != partBlock {
		t.Errorf("got %+v of %+v, want the last block alone", c, now)
	}
}

func TestCompare(t *testing.T) {
	p := func(ns ...int) (out []piece) {
		for _, n := range ns {
			out = append(out, piece{index: n})
		}
		return out
	}
	for _, tt := range []struct {
		name     string
		old, now []piece
		want     change
	}{
		{"same", p(1, 2), p(1, 2), change{2, 2, 2}},
		{"first", nil, p(1, 2), change{0, 0, 2}},
		{"appended", p(1), p(1, 2), change{1, 1, 2}},
		{"gone", p(1, 2, 3), p(1, 3), change{1, 2, 1}},
		{"replaced", p(1, 2, 3), p(1, 9, 3), change{1, 2, 2}},
		{"repeated", p(1, 1), p(1, 1, 1), change{2, 2, 3}},
		{"all", p(1, 2), p(3), change{0, 2, 1}},
	} {
		if got := compare(tt.old, tt.now); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestEveryPieceEndsItsLine holds what replacing one piece by another relies on: a piece is whole paragraphs.
func TestEveryPieceEndsItsLine(t *testing.T) {
	blocks := []screen.Block{
		{Kind: screen.Heading, Level: 1, Runs: text("h")},
		{Kind: screen.Heading, Level: 9, Runs: text("h")},
		{Kind: screen.Paragraph, Runs: text("a\nb")},
		{Kind: screen.Paragraph},
		{Kind: screen.Paragraph, List: 2, Marker: "•", Runs: text("x")},
		{Kind: screen.Code, Text: "a\nb", Lang: "go"},
		{Kind: screen.Code},
		{Kind: screen.Rule},
		{Kind: screen.Table},
		{Kind: screen.Table, Rows: [][]screen.Cell{{{Runs: text("a")}, {Runs: text("b")}}, {{Runs: text("c")}}}},
	}
	messages := []screen.MessageView{{
		ID: 4, Side: screen.ByModel, Blocks: blocks, Waiting: "Waiting", Note: "Stopped", Figures: "1 s",
		Version: 2, Versions: 3, CanCopy: true, CanRegenerate: true, CanEdit: true,
		Error:    screen.ErrorView{Text: "broken", Retry: true},
		Thinking: screen.ThinkingView{Shown: true, Title: "Thought", Open: true, Blocks: blocks},
	}}
	for _, p := range pieces(messages) {
		paras := compose(messages, p)
		if len(paras) == 0 && p.part != partBlock && p.part != partThinking {
			t.Errorf("%+v: nothing", p)
		}
		for _, para := range paras {
			var line strings.Builder
			for _, s := range para.Spans {
				line.WriteString(s.Text)
			}
			if got := line.String(); !strings.HasSuffix(got, "\n") || strings.Count(got, "\n") != 1 {
				t.Errorf("%+v: paragraph %q, want one line feed, at the end", p, got)
			}
		}
	}
}

// TestTryAgainIsALine holds that the words of the link stay together, however wide the window is.
func TestTryAgainIsALine(t *testing.T) {
	m := []screen.MessageView{{ID: 4, Side: screen.ByModel, Error: screen.ErrorView{Text: "broken", Retry: true}}}
	var lines []string
	for _, p := range pieces(m) {
		for _, para := range compose(m, p) {
			line := ""
			for _, s := range para.Spans {
				line += s.Text
			}
			lines = append(lines, line)
		}
	}
	if want := []string{"Sotto\n", "broken\n", "Try Again\n"}; !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
	}
}

func TestThinkingFolds(t *testing.T) {
	shut := []screen.MessageView{say(2, screen.ByModel, "because")}
	shut[0].Thinking = screen.ThinkingView{Shown: true, Title: "Thought for 2 s"}
	open := []screen.MessageView{shut[0]}
	open[0].Thinking.Open = true
	open[0].Thinking.Blocks = []screen.Block{{Kind: screen.Paragraph, Runs: text("let me see")}}
	old, now := pieces(shut), pieces(open)
	c := compare(old, now)
	if c.oldTo-c.from != 1 || c.newTo-c.from != 2 || now[c.from+1].part != partThinking {
		t.Errorf("got %+v of %+v, want the title again and what was thought under it", c, now)
	}
	for _, tt := range []struct {
		messages []screen.MessageView
		p        piece
		want     string
	}{{shut, old[c.from], "▸ Thought for 2 s"}, {open, now[c.from], "▾ Thought for 2 s"}} {
		span := compose(tt.messages, tt.p)[0].Spans[0]
		if span.Text != tt.want || clicked(span.Link) != screen.Msg(screen.ToggleThinking{Node: 2}) {
			t.Errorf("title %q with link %q, want %q", span.Text, span.Link, tt.want)
		}
	}
	thought := compose(open, now[c.from+1])[0]
	if thought.Indent == 0 || thought.Spans[0].Face.Ink != kit.InkSecondary {
		t.Errorf("thinking looks like the answer: %+v", thought)
	}
}

func TestTextCannotSpeakForTheWindow(t *testing.T) {
	b := screen.Block{Kind: screen.Paragraph, Runs: []screen.Run{{Text: "x", Style: screen.Link, Target: "retry:1"}}}
	got := clicked(block(b, nil)[0].Spans[0].Link)
	if want := (screen.ClickLink{URL: "retry:1"}); got != screen.Msg(want) {
		t.Errorf("got %#v, want %#v", got, want)
	}
}

func TestStyles(t *testing.T) {
	all := screen.Bold | screen.Italic | screen.Mono | screen.Strike
	face := runs([]screen.Run{{Text: "x", Style: all}}, body)[0].Face
	want := kit.Face{Size: bodySize - 1, Bold: true, Italic: true, Mono: true, Strike: true, Filled: true}
	if face != want {
		t.Errorf("got %+v, want %+v", face, want)
	}
}

func TestListRows(t *testing.T) {
	v := screen.SidebarView{Selected: 7, Days: []screen.DayView{
		{Title: "Today", Rows: []screen.ChatRow{{ID: 9, Title: "a"}, {ID: 7, Title: "b", Busy: true}}},
		{Title: "Monday", Rows: []screen.ChatRow{{ID: 1, Title: "c"}}},
	}}
	rows, selected := listRows(v)
	if len(rows) != 5 || selected != 2 || !rows[0].heading || !rows[3].heading || rows[2].id != 7 {
		t.Errorf("got %+v, selected %d", rows, selected)
	}
	v.Selected = 0
	if _, selected := listRows(v); selected != -1 {
		t.Errorf("new conversation: row %d selected, want none", selected)
	}
}
