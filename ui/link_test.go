package ui

import (
	"testing"

	"sotto/app/screen"
)

func TestClicked(t *testing.T) {
	for _, tt := range []struct {
		link string
		want screen.Msg
	}{
		{outsideLink("https://example.org/a:b"), screen.ClickLink{URL: "https://example.org/a:b"}},
		{outsideLink("regenerate:1"), screen.ClickLink{URL: "regenerate:1"}},
		{thinkLink(3), screen.ToggleThinking{Node: 3}},
		{retryLink(3), screen.Retry{Node: 3}},
		{copyMessageLink(3), screen.CopyMessage{Node: 3}},
		{editLink(3), screen.EditMessage{Node: 3}},
		{regenerateLink(3), screen.Regenerate{Node: 3}},
		{versionLink(3, -1), screen.StepVersion{Node: 3, By: -1}},
		{copyLink(3, 7).Link, screen.CopyBlock{Node: 3, Block: 7}},
		{"", nil},
		{"think", nil},
		{"think:x", nil},
		{"version:1", nil},
		{"copy:1:2:3", nil},
		{"delete:1", nil},
	} {
		if got := clicked(tt.link); got != tt.want {
			t.Errorf("%q: got %#v, want %#v", tt.link, got, tt.want)
		}
	}
}

func TestAgain(t *testing.T) {
	for _, tt := range []struct {
		name string
		last screen.MessageView
		want screen.Msg
	}{
		{"whole", screen.MessageView{ID: 2, CanRegenerate: true}, screen.Regenerate{Node: 2}},
		{"failed", screen.MessageView{ID: 2, Error: screen.ErrorView{Text: "x", Retry: true}}, screen.Retry{Node: 2}},
		{"under way", screen.MessageView{ID: 2, Streaming: true}, nil},
	} {
		if got := again([]screen.MessageView{{ID: 1}, tt.last}); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
	if got := again(nil); got != nil {
		t.Errorf("no messages: got %v", got)
	}
}
