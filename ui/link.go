package ui

import (
	"strconv"
	"strings"

	"sotto/app/screen"
	"sotto/ui/kit"
)

// What a click in a transcript says is written in the link that is clicked: a verb and numbers. Links of the text
// itself carry the verb "open", so that text can never speak in the window's voice.
const (
	verbOpen       = "open"
	verbThink      = "think"
	verbRetry      = "retry"
	verbCopy       = "copy"
	verbCopyBlock  = "copyblock"
	verbEdit       = "edit"
	verbRegenerate = "regenerate"
	verbVersion    = "version"
)

func itoa(n int) string { return strconv.Itoa(n) }

func link(verb string, numbers ...int) string {
	for _, n := range numbers {
		verb += ":" + itoa(n)
	}
	return verb
}

func outsideLink(target string) string           { return verbOpen + ":" + target }
func thinkLink(n screen.NodeID) string           { return link(verbThink, int(n)) }
func retryLink(n screen.NodeID) string           { return link(verbRetry, int(n)) }
func copyMessageLink(n screen.NodeID) string     { return link(verbCopy, int(n)) }
func editLink(n screen.NodeID) string            { return link(verbEdit, int(n)) }
func regenerateLink(n screen.NodeID) string      { return link(verbRegenerate, int(n)) }
func versionLink(n screen.NodeID, by int) string { return link(verbVersion, int(n), by) }

// again answers the last message again, if that can be done.
func again(messages []screen.MessageView) screen.Msg {
	if len(messages) == 0 {
		return nil
	}
	switch last := messages[len(messages)-1]; {
	case last.CanRegenerate:
		return screen.Regenerate{Node: last.ID}
	case last.Error.Retry:
		return screen.Retry{Node: last.ID}
	}
	return nil
}

func copyLink(n screen.NodeID, block int) *kit.Span {
	face := quiet
	face.Ink = kit.InkAccent
	return &kit.Span{Text: "Copy", Face: face, Link: link(verbCopyBlock, int(n), block), Quiet: true}
}

// clicked reads what a link says. It returns nil for what is no link of ours.
func clicked(link string) screen.Msg {
	verb, rest, _ := strings.Cut(link, ":")
	if verb == verbOpen {
		return screen.ClickLink{URL: rest}
	}
	var numbers []int
	for s := range strings.SplitSeq(rest, ":") {
		n, err := strconv.Atoi(s)
		if err != nil {
			return nil
		}
		numbers = append(numbers, n)
	}
	node := screen.NodeID(numbers[0])
	switch {
	case len(numbers) == 1:
		switch verb {
		case verbThink:
			return screen.ToggleThinking{Node: node}
		case verbRetry:
			return screen.Retry{Node: node}
		case verbCopy:
			return screen.CopyMessage{Node: node}
		case verbEdit:
			return screen.EditMessage{Node: node}
		case verbRegenerate:
			return screen.Regenerate{Node: node}
		}
	case len(numbers) == 2 && verb == verbVersion:
		return screen.StepVersion{Node: node, By: numbers[1]}
	case len(numbers) == 2 && verb == verbCopyBlock:
		return screen.CopyBlock{Node: node, Block: numbers[1]}
	}
	return nil
}
