package ui

import (
	"encoding/json"
	"io"
	"strings"

	"sotto/app/screen"
)

// Snapshot says what is on the screen, for programs that drive the windows in a test. It is written as one line of JSON
// after each drawing that changed it.
type Snapshot struct {
	Chat     ChatSnapshot
	Quick    TalkSnapshot
	Service  TalkSnapshot
	Settings SettingsSnapshot
	Status   StatusSnapshot
	// Parts are the places of what can be clicked: x, y, width and height in points from the screen's upper left
	// corner.
	Parts map[string][4]int
	Lent  int // Go objects that Objective-C holds
	// Keyboard names what gets the keys: a window, or a text field as in Parts; "" while that is another program.
	Keyboard string
}

// ChatSnapshot is the chat window.
type ChatSnapshot struct {
	TalkSnapshot
	Selected uint64
	Chats    []string // titles
	Composer string
	Notice   string
	Model    string
}

// TalkSnapshot is a window with messages.
type TalkSnapshot struct {
	Open      bool
	Streaming bool
	Messages  []MessageSnapshot
}

// MessageSnapshot is one message.
type MessageSnapshot struct {
	User                                 bool
	Text, Thinking, Figures, Note, Error string
	Thoughts                             string // what is open of the thinking
}

// SettingsSnapshot is the settings window.
type SettingsSnapshot struct {
	Open   bool
	Model  string   // path or name of the chosen one
	Models []string // titles
	Errors []string // of the fields
	API    string
	Port   string
}

// StatusSnapshot is the status item.
type StatusSnapshot struct {
	Icon  int
	Title string
	Menu  []string
	Open  bool // the menu is
}

// snapshot takes from a view what a test needs.
func snapshot(v *screen.View) Snapshot {
	s := Snapshot{
		Chat: ChatSnapshot{
			TalkSnapshot: TalkSnapshot{v.Chat.Open, v.Chat.CanStop, messageSnapshots(v.Chat.Transcript.Messages)},
			Selected:     uint64(v.Chat.Sidebar.Selected), Composer: v.Chat.Composer.Text,
			Notice: v.Chat.Notice, Model: v.Chat.Model.Text,
		},
		Quick: TalkSnapshot{v.Quick.Open, v.Quick.Streaming, messageSnapshots(v.Quick.Messages)},
		Settings: SettingsSnapshot{
			Open: v.Settings.Open, Model: v.Settings.Model, API: v.Settings.APIText, Port: v.Settings.Port.Text,
		},
		Status: StatusSnapshot{Icon: int(v.Status.Icon), Title: v.Status.Title},
	}
	for _, m := range v.Settings.Models {
		s.Settings.Models = append(s.Settings.Models, m.Title)
	}
	for _, f := range []screen.FieldView{
		v.Settings.System, v.Settings.Temperature, v.Settings.MaxTokens, v.Settings.Port,
	} {
		if f.Error != "" {
			s.Settings.Errors = append(s.Settings.Errors, f.Error)
		}
	}
	if v.Service.Open {
		s.Service = TalkSnapshot{true, v.Service.Streaming, messageSnapshots([]screen.MessageView{v.Service.Answer})}
	}
	for _, d := range v.Chat.Sidebar.Days {
		for _, r := range d.Rows {
			s.Chat.Chats = append(s.Chat.Chats, r.Title)
		}
	}
	for _, i := range v.Status.Menu {
		s.Status.Menu = append(s.Status.Menu, i.Title)
	}
	return s
}

func messageSnapshots(in []screen.MessageView) []MessageSnapshot {
	out := make([]MessageSnapshot, 0, len(in))
	for _, m := range in {
		out = append(out, MessageSnapshot{
			User: m.Side == screen.ByUser, Text: plain(m.Blocks), Thinking: m.Thinking.Title, Figures: m.Figures,
			Thoughts: plain(m.Thinking.Blocks),
			Note:     m.Note + m.Waiting, Error: m.Error.Text,
		})
	}
	return out
}

// plain is the text of blocks, one line each.
func plain(blocks []screen.Block) string {
	var b strings.Builder
	for _, block := range blocks {
		for _, r := range block.Runs {
			b.WriteString(r.Text)
		}
		b.WriteString(block.Text)
		b.WriteString("\n")
	}
	return b.String()
}

// tracer writes snapshots.
type tracer struct {
	to   io.Writer
	last string
}

// write tells a snapshot where it differs from the one before. A trace that cannot be written ends.
func (t *tracer) write(s Snapshot) {
	line, err := json.Marshal(s)
	if err != nil || string(line) == t.last {
		return
	}
	t.last = string(line)
	if _, err := t.to.Write(append(line, '\n')); err != nil {
		t.to = nil
	}
}
