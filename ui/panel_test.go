package ui

import (
	"testing"

	"sotto/app/screen"
)

func TestPanelClick(t *testing.T) {
	messages := []screen.MessageView{{ID: 1}, {ID: 2, Blocks: []screen.Block{{}, {Kind: screen.Code, Text: "a := 1"}}}}
	for _, tt := range []struct {
		name string
		in   screen.Msg
		send screen.Msg
		text string
	}{
		{"retry", screen.Retry{Node: 2}, screen.QuickRetry{}, ""},
		{"copy", screen.CopyMessage{Node: 2}, screen.QuickCopy{}, ""},
		{"thinking", screen.ToggleThinking{Node: 2}, screen.QuickToggleThinking{Node: 2}, ""},
		{"link", screen.ClickLink{URL: "https://a.example"}, screen.ClickLink{URL: "https://a.example"}, ""},
		{"code", screen.CopyBlock{Node: 2, Block: 1}, nil, "a := 1"},
		{"code that is not there", screen.CopyBlock{Node: 2, Block: 2}, nil, ""},
		{"a message of the window", screen.Regenerate{Node: 2}, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			send, text := panelClick(tt.in, messages, quickDoor)
			if send != tt.send || text != tt.text {
				t.Errorf("got %v and %q, want %v and %q", send, text, tt.send, tt.text)
			}
		})
	}
}

func TestPanelMessagesCopyTheLastAnswer(t *testing.T) {
	in := []screen.MessageView{
		{ID: 1, Side: screen.ByUser, CanCopy: true},
		{ID: 2, Side: screen.ByModel, CanCopy: true},
		{ID: 3, Side: screen.ByUser, CanCopy: true},
		{ID: 4, Side: screen.ByModel, CanCopy: true},
	}
	for i, m := range panelMessages(in) {
		if want := i == 3; m.CanCopy != want {
			t.Errorf("message %d: can be copied: %v, want %v", m.ID, m.CanCopy, want)
		}
	}
	if !in[0].CanCopy {
		t.Error("the view was changed")
	}
}
