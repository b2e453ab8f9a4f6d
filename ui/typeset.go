package ui

import (
	"strings"
	"unicode/utf8"

	"sotto/app/screen"
	"sotto/ui/kit"
)

// part says which part of a message a piece is.
type part uint8

const (
	partHead part = iota + 1
	partThinkingTitle
	partThinking
	partBlock
	partWaiting
	partError
	partFoot
)

// piece names a stretch of the transcript. Pieces that are equal look the same, so what was laid out for one stays.
type piece struct {
	node  screen.NodeID
	part  part
	index int // of the block
	rev   int // of the block
	look  string
}

// pieces lists what a transcript consists of, in order.
func pieces(messages []screen.MessageView) []piece {
	var out []piece
	for i := range messages {
		m := &messages[i]
		add := func(p part, index, rev int, look string) {
			out = append(out, piece{m.ID, p, index, rev, look})
		}
		add(partHead, i, 0, headLook(m))
		if m.Thinking.Shown {
			add(partThinkingTitle, 0, 0, m.Thinking.Title+openLook(m.Thinking.Open))
			for j, b := range m.Thinking.Blocks {
				add(partThinking, j, b.Rev, "")
			}
		}
		for j, b := range m.Blocks {
			add(partBlock, j, b.Rev, "")
		}
		if m.Waiting != "" {
			add(partWaiting, 0, 0, m.Waiting)
		}
		if m.Error.Text != "" {
			add(partError, 0, 0, m.Error.Text+openLook(m.Error.Retry))
		}
		if look := footLook(m); look != "" {
			add(partFoot, 0, 0, look)
		}
	}
	return out
}

func openLook(open bool) string {
	if open {
		return "\x01"
	}
	return ""
}

func headLook(m *screen.MessageView) string {
	if m.Side == screen.ByUser {
		return "u"
	}
	return "m"
}

// change says which pieces differ: old[from:oldTo] gives way to new[from:newTo].
type change struct{ from, oldTo, newTo int }

// compare finds the shortest run of pieces that has to be laid out again.
func compare(old, now []piece) change {
	c := change{0, len(old), len(now)}
	for c.from < c.oldTo && c.from < c.newTo && old[c.from] == now[c.from] {
		c.from++
	}
	for c.oldTo > c.from && c.newTo > c.from && old[c.oldTo-1] == now[c.newTo-1] {
		c.oldTo--
		c.newTo--
	}
	return c
}

// Sizes of text in points.
const (
	bodySize  = 13.5
	smallSize = 11.5
	codeSize  = 12
)

var (
	body      = kit.Face{Size: bodySize}
	quiet     = kit.Face{Size: smallSize, Ink: kit.InkSecondary}
	quietBold = kit.Face{Size: smallSize, Ink: kit.InkSecondary, Bold: true}
)

// compose lays one piece out. messages is what the piece was listed from.
func compose(messages []screen.MessageView, p piece) []kit.Para {
	for i := range messages {
		if m := &messages[i]; m.ID == p.node {
			return composePart(m, p)
		}
	}
	return nil
}

func composePart(m *screen.MessageView, p piece) []kit.Para {
	switch p.part {
	case partHead:
		return head(m, p.index == 0)
	case partThinkingTitle:
		return thinkingTitle(m)
	case partThinking:
		return indent(paint(block(m.Thinking.Blocks[p.index], nil), kit.InkSecondary), 14)
	case partBlock:
		return block(m.Blocks[p.index], copyLink(m.ID, p.index))
	case partWaiting:
		return []kit.Para{{Spans: []kit.Span{{Text: m.Waiting + "\n", Face: quiet}}, After: 4}}
	case partError:
		return failure(m)
	case partFoot:
		return foot(m)
	}
	return nil
}

func head(m *screen.MessageView, first bool) []kit.Para {
	name, face := "Sotto", kit.Face{Size: bodySize, Bold: true}
	if m.Side == screen.ByUser {
		name, face.Ink = "You", kit.InkAccent
	}
	before := 18.0
	if first {
		before = 2
	}
	return []kit.Para{{Spans: []kit.Span{{Text: name + "\n", Face: face}}, Before: before, After: 3}}
}

func thinkingTitle(m *screen.MessageView) []kit.Para {
	sign := "▸ "
	if m.Thinking.Open {
		sign = "▾ "
	}
	s := kit.Span{Text: sign + m.Thinking.Title, Face: quietBold, Link: thinkLink(m.ID), Quiet: true}
	return []kit.Para{{Spans: []kit.Span{s, {Text: "\n", Face: quiet}}, After: 6}}
}

func failure(m *screen.MessageView) []kit.Para {
	face := kit.Face{Size: bodySize, Ink: kit.InkError}
	out := []kit.Para{{Spans: []kit.Span{{Text: m.Error.Text, Face: face}, {Text: "\n", Face: body}}, After: 4}}
	if m.Error.Retry { // in a line of its own: two words are not broken apart there
		try := kit.Span{Text: "Try Again", Face: body, Link: retryLink(m.ID)}
		out = append(out, kit.Para{Spans: []kit.Span{try, {Text: "\n", Face: body}}, After: 4})
	}
	return out
}

// footSpans are the line under a message: figures, versions and what can be done with it.
func footSpans(m *screen.MessageView) []kit.Span {
	var s []kit.Span
	add := func(text, link string) {
		if len(s) > 0 {
			s = append(s, kit.Span{Text: "    ", Face: quiet})
		}
		s = append(s, kit.Span{Text: text, Face: quiet, Link: link, Quiet: true})
	}
	if m.Note != "" {
		add(m.Note, "")
	}
	if m.Figures != "" {
		add(m.Figures, "")
	}
	if m.Versions > 1 {
		add("‹", versionLink(m.ID, -1))
		s = append(s, kit.Span{Text: " " + itoa(m.Version) + "/" + itoa(m.Versions) + " ", Face: quiet})
		s = append(s, kit.Span{Text: "›", Face: quiet, Link: versionLink(m.ID, 1), Quiet: true})
	}
	action := func(text, link string) {
		add(text, link)
		s[len(s)-1].Face.Ink = kit.InkAccent
	}
	if m.CanCopy {
		action("Copy", copyMessageLink(m.ID))
	}
	if m.CanEdit {
		action("Edit", editLink(m.ID))
	}
	if m.CanRegenerate {
		action("Regenerate", regenerateLink(m.ID))
	}
	return s
}

func footLook(m *screen.MessageView) string {
	var b strings.Builder
	for _, s := range footSpans(m) {
		b.WriteString(s.Text)
		b.WriteString(s.Link)
	}
	return b.String()
}

func foot(m *screen.MessageView) []kit.Para {
	return []kit.Para{{
		Spans: append(footSpans(m), kit.Span{Text: "\n", Face: quiet}), Before: 3, After: 2,
	}}
}

// paint gives text the colour of a role where it has none of its own.
func paint(paras []kit.Para, ink kit.Ink) []kit.Para {
	for i := range paras {
		for j := range paras[i].Spans {
			if f := &paras[i].Spans[j].Face; f.Ink == kit.InkText {
				f.Ink = ink
			}
		}
	}
	return paras
}

func indent(paras []kit.Para, by float64) []kit.Para {
	for i := range paras {
		paras[i].First += by
		paras[i].Indent += by
		for j := range paras[i].Tabs {
			paras[i].Tabs[j] += by
		}
	}
	return paras
}

// Steps to the right, in points.
const (
	listStep  = 24
	quoteStep = 16
	cellPad   = 18
	codeInset = 10 // of code from its edges
)

// block lays one block of Markdown out. codeLink, if any, is offered above code.
func block(b screen.Block, codeLink *kit.Span) []kit.Para {
	left := float64(b.Quote*quoteStep + b.List*listStep)
	var out []kit.Para
	switch b.Kind {
	case screen.Heading:
		sizes := [...]float64{20, 17, 15, 14, bodySize, bodySize}
		face := kit.Face{Size: sizes[min(max(b.Level, 1), len(sizes))-1], Bold: true}
		out = []kit.Para{{Spans: endLine(runs(b.Runs, face), face), Before: 8, After: 5}}
	case screen.Code:
		out = code(b, codeLink)
	case screen.Table:
		out = table(b.Rows)
	case screen.Rule:
		out = []kit.Para{{
			Spans: []kit.Span{{Text: strings.Repeat("─", 24) + "\n", Face: quiet}}, Before: 4, After: 8,
		}}
	case screen.Paragraph:
		out = paragraph(b)
	}
	out = indent(out, left)
	if b.Quote > 0 {
		out = paint(out, kit.InkSecondary)
	}
	return out
}

func paragraph(b screen.Block) []kit.Para {
	p := kit.Para{Spans: endLine(runs(b.Runs, body), body), After: 7}
	if b.List > 0 {
		p.After = 4
	}
	if b.Marker != "" {
		p.First = -listStep
		p.Tabs = []float64{0, listStep / 2, listStep} // more than the first are for markers that are too wide
		marker := b.Marker
		if len(marker) < 3 || !strings.HasSuffix(marker, ".") {
			marker = " " + marker
		}
		p.Spans = append([]kit.Span{{Text: marker + "\t", Face: body}}, p.Spans...)
	}
	return []kit.Para{p}
}

func code(b screen.Block, link *kit.Span) []kit.Para {
	face := kit.Face{Size: codeSize, Mono: true, Filled: true}
	var out []kit.Para
	if link != nil {
		title := []kit.Span{{Text: b.Lang, Face: quiet}}
		if b.Lang != "" {
			title = append(title, kit.Span{Text: "    ", Face: quiet})
		}
		out = append(out, kit.Para{Spans: append(title, *link, kit.Span{Text: "\n", Face: quiet}), Before: 4, After: 2})
	}
	lines := strings.Split(b.Text, "\n")
	for i, l := range lines {
		p := kit.Para{
			Spans: []kit.Span{{Text: l + "\n", Face: face}},
			First: codeInset, Indent: codeInset, Tail: codeInset, Tabs: codeTabs(),
		}
		if i == len(lines)-1 {
			p.After = 8
		}
		out = append(out, p)
	}
	return out
}

// codeTabs are tab stops after every four characters.
func codeTabs() []float64 {
	const advance = 0.6 * codeSize // of a character
	var tabs []float64
	for i := range 16 {
		tabs = append(tabs, codeInset+float64(4*(i+1))*advance)
	}
	return tabs
}

// table sets the cells of a table at tab stops that fit the widest cell of a column.
func table(rows [][]screen.Cell) []kit.Para {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], cellLen(c))
		}
	}
	var tabs []float64
	at := 0.0
	for _, w := range widths {
		at += float64(min(w, 40))*bodySize*0.58 + cellPad
		tabs = append(tabs, at)
	}
	var out []kit.Para
	for i, row := range rows {
		face := body
		face.Bold = i == 0
		p := kit.Para{Tabs: append([]float64(nil), tabs...), After: 3}
		for j, c := range row {
			if j > 0 {
				p.Spans = append(p.Spans, kit.Span{Text: "\t", Face: face})
			}
			p.Spans = append(p.Spans, runs(c.Runs, face)...)
		}
		p.Spans = endLine(p.Spans, face)
		if i == len(rows)-1 {
			p.After = 8
		}
		out = append(out, p)
	}
	return out
}

func cellLen(c screen.Cell) int {
	n := 0
	for _, r := range c.Runs {
		n += utf8.RuneCountInString(r.Text)
	}
	return n
}

func runs(in []screen.Run, face kit.Face) []kit.Span {
	out := make([]kit.Span, 0, len(in)+1)
	for _, r := range in {
		f := face
		f.Bold = f.Bold || r.Style&screen.Bold != 0
		f.Italic = r.Style&screen.Italic != 0
		f.Strike = r.Style&screen.Strike != 0
		if r.Style&screen.Mono != 0 {
			f.Mono, f.Filled, f.Size = true, true, f.Size-1
		}
		s := kit.Span{Text: strings.ReplaceAll(r.Text, "\n", kit.LineBreak), Face: f}
		if r.Style&screen.Link != 0 {
			s.Link = outsideLink(r.Target)
		}
		out = append(out, s)
	}
	return out
}

func endLine(s []kit.Span, face kit.Face) []kit.Span {
	return append(s, kit.Span{Text: "\n", Face: face})
}
