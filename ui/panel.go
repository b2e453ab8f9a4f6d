package ui

import (
	"slices"

	"sotto/app/screen"
)

// panelDoor is what a panel sends for what can be done with a message.
type panelDoor struct {
	retry, copied screen.Msg
	thinking      func(screen.NodeID) screen.Msg
}

var (
	quickDoor = panelDoor{screen.QuickRetry{}, screen.QuickCopy{}, func(n screen.NodeID) screen.Msg {
		return screen.QuickToggleThinking{Node: n}
	}}
	serviceDoor = panelDoor{screen.ServiceRetry{}, screen.ServiceCopy{}, func(n screen.NodeID) screen.Msg {
		return screen.ServiceToggleThinking{Node: n}
	}}
)

// panelClick is what a click in the transcript of a panel comes to: a message, or text to copy. What a link says names
// messages of the chat window; those of a panel have the same numbers.
func panelClick(m screen.Msg, messages []screen.MessageView, d panelDoor) (send screen.Msg, text string) {
	switch m := m.(type) {
	case screen.Retry:
		return d.retry, ""
	case screen.CopyMessage:
		return d.copied, ""
	case screen.ToggleThinking:
		return d.thinking(m.Node), ""
	case screen.ClickLink:
		return m, ""
	case screen.CopyBlock:
		for _, v := range messages {
			if v.ID == m.Node && m.Block >= 0 && m.Block < len(v.Blocks) {
				return nil, v.Blocks[m.Block].Text
			}
		}
	}
	return nil, ""
}

// panelMessages are the messages as a panel shows them: only the last answer can be copied as a whole.
func panelMessages(in []screen.MessageView) []screen.MessageView {
	out := slices.Clone(in)
	for i := range out {
		out[i].CanCopy = out[i].CanCopy && i == len(out)-1 && out[i].Side == screen.ByModel
	}
	return out
}
