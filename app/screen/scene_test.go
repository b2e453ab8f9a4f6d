package screen

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sotto/engine"
)

// noon is when the scenes begin: Thursday, 12 March 2026.
var noon = time.Date(2026, 3, 12, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return noon.Add(d) }

// Events of the engine for job j, ms milliseconds after noon.
func read(j JobID, ms, n, total int) Msg {
	return Answered{j, after(time.Duration(ms) * time.Millisecond), engine.Event{
		Kind: engine.Reading, Read: n,
		Total: total,
	}}
}

func tok(j JobID, ms int, text string) Msg {
	return Answered{j, after(time.Duration(ms) * time.Millisecond), engine.Event{Kind: engine.Text, Text: text}}
}

func think(j JobID, ms int, text string) Msg {
	return Answered{j, after(time.Duration(ms) * time.Millisecond), engine.Event{Kind: engine.Text, Thinking: text}}
}

func end(j JobID, ms int, reason, thinking, text string) Msg {
	r := engine.Result{Reason: reason, Text: text, Thinking: thinking, IDs: []int32{7, 8}}
	r.Message = engine.Message{Role: engine.Assistant, Content: text, Reasoning: thinking, IDs: r.IDs, Raw: text}
	r.Figures.Prompt, r.Figures.Cached, r.Figures.Completion = 1200, 200, 41
	r.Figures.FirstToken, r.Figures.Prefill, r.Figures.Decode = 250*time.Millisecond, 200*time.Millisecond, time.Second
	return Answered{j, after(time.Duration(ms) * time.Millisecond), engine.Event{Kind: engine.Finished, Result: r}}
}

func failed(j JobID, ms int, err error) Msg {
	return AnswerFailed{j, after(time.Duration(ms) * time.Millisecond), err}
}

var ready = ModelReady{1, ModelInfo{
	Name: "qwen-tiny", Note: "a tiny model", Tiny: true,
	Info: engine.Info{Window: 2048},
}}

// begun is a program that has started with an empty store.
func begun() []Msg {
	return []Msg{Tick{noon}, Loaded{Models: []ModelChoice{{"qwen-tiny", "Tiny"}, {"big", "Big"}}}, ready}
}

// stored is a program that has started with some conversations.
func stored() []Msg {
	used := func(hours int) time.Time { return noon.Add(-time.Duration(hours) * time.Hour) }
	return []Msg{Tick{noon}, Loaded{
		Conversations: []Conversation{
			{ID: 1, First: "Oldest", Used: time.Date(2024, 12, 31, 8, 0, 0, 0, time.UTC)},
			{ID: 2, First: "Last month", Used: used(24 * 30)},
			{ID: 3, First: "Monday", Used: used(72)},
			{ID: 4, First: "Yesterday", Title: "Renamed", Used: used(13), Leaf: 2, Draft: "half a"},
			{ID: 5, First: "This morning", Used: used(2)},
		},
		Desk: Desk{Selected: 4, Draft: "new draft"}, LastID: 7,
	}, ready}
}

func pair(id ConversationID) Msg {
	return ConversationLoaded{Conversation: Conversation{ID: id, Nodes: []Node{
		{ID: 1, Role: RoleUser, Content: "Hi"},
		{
			ID: 2, Parent: 1, Role: RoleAssistant, Content: "Hello **you**", IDs: []int32{5}, Raw: "Hello **you**",
			Reason: Partial,
		},
	}}}
}

// scene is a list of messages; the golden file shows what comes of each.
type scene struct {
	name  string
	doors string
	start func() []Msg // not shown
	msgs  []Msg
}

// play runs a scene and prints it. A view is printed where it has changed.
func (sc scene) play() string {
	s := New()
	for _, m := range sc.start() {
		s, _ = Update(s, m)
	}
	var w strings.Builder
	last := map[string]string{}
	show := func() {
		v := Show(s)
		for _, door := range strings.Fields(sc.doors) {
			if text := printView(v, door); text != last[door] {
				w.WriteString(difference(last[door], text))
				last[door] = text
			}
		}
	}
	show()
	for _, m := range sc.msgs {
		line := strings.ReplaceAll(strings.TrimPrefix(fmt.Sprintf("%T%+v", m, m), "screen."), "\n", "⏎")
		line = strings.Replace(line, " Rev:0}", "}", 1)
		switch m := m.(type) {
		case Answered:
			line = fmt.Sprintf("Answered %d at %s: %+q%+q %d/%d %s", m.Job, m.At.Format("05.000"), m.Event.Thinking,
				m.Event.Text,
				m.Event.Read, m.Event.Total, m.Event.Result.Reason)
		case Loaded:
			line = fmt.Sprintf("Loaded %d conversations, models %v, damaged %d, error %v", len(m.Conversations),
				m.Models, m.Damaged, m.Err)
		case ConversationLoaded:
			line = fmt.Sprintf("ConversationLoaded %d with %d, damaged %d", m.Conversation.ID,
				len(m.Conversation.Nodes), m.Damaged)
		case ModelReady:
			line = "ModelReady " + m.Model.Name
		}
		fmt.Fprintf(&w, "> %s\n", shorten(line, 300))
		var effects []Effect
		s, effects = Update(s, m)
		for _, e := range effects {
			fmt.Fprintf(&w, "  = %s\n", shorten(printEffect(e), 600))
		}
		show()
	}
	return w.String()
}

func TestScenes(t *testing.T) {
	for _, list := range [][]scene{
		chatScenes(), answerScenes(), listScenes(), quickScenes(), statusScenes(), serviceScenes(),
		settingsScenes(), quitScenes(),
	} {
		for _, sc := range list {
			t.Run(sc.name, func(t *testing.T) {
				golden(t, filepath.Join("scenes", strings.ReplaceAll(sc.name, " ", "-")+".txt"), sc.play())
			})
		}
	}
}

var errEngine = errors.New("kernel gemv: device lost")

func chatScenes() []scene {
	return []scene{
		{"start", "chat status", func() []Msg { return nil }, []Msg{
			Tick{noon},
			Send{Text: "too early"},
			Loaded{Models: []ModelChoice{{"qwen-tiny", "Tiny"}}},
			ModelLoading{Load: 1, Name: "qwen-tiny", Stage: "compiling", Done: 3, Total: 12},
			ModelLoading{Load: 1, Name: "qwen-tiny", Stage: "packing", Done: 42, Total: 100},
			ModelLoading{Load: 1, Name: "qwen-tiny", Stage: "verifying", Done: 0, Total: 100},
			ModelLoading{Load: 0, Name: "other", Stage: "packing", Done: 1, Total: 2},
			ready,
		}},
		{"a short window", "chat", func() []Msg { return begun()[:2] }, []Msg{
			ModelReady{Load: 1, Model: ModelInfo{Name: "large", Info: engine.Info{Window: 65536, WholeWindow: 262144}}},
		}},
		{"send and stream", "chat", begun, []Msg{
			ComposerChanged{Text: "Hello"},
			ComposerChanged{Text: "Hello there"},
			Send{Text: " Hello there \n"},
			read(1, 100, 10, 20),
			tok(1, 200, "# Hi\n"), tok(1, 300, "\nsome **bo"), tok(1, 400, "ld** text"),
			Send{Text: "not now"},
			tok(1, 1500, "\n"), end(1, 1600, engine.ReasonStop, "", "# Hi\n\nsome **bold** text\n"),
			CopyMessage{2},
			Send{Text: "And?"},
			end(2, 2000, engine.ReasonLength, "", "So"), tok(1, 2100, "late"),
		}},
		{"thinking", "chat", begun, []Msg{
			Send{Text: "Why?"},
			think(1, 1000, "Let me "), think(1, 2500, "see."),
			ToggleThinking{2},
			Tick{after(3 * time.Second)},
			tok(1, 5200, "Because."),
			ToggleThinking{2},
			end(1, 5300, engine.ReasonStop, "Let me see.", "Because."),
			Send{Text: "Really?"},
			think(2, 6000, "Hm"), end(2, 80000, engine.ReasonCancelled, "Hm", ""),
		}},
		{"stop", "chat", begun, []Msg{
			Send{Text: "Tell me"},
			Stop{},
			Stop{},
			tok(1, 100, "Once"), end(1, 200, engine.ReasonCancelled, "", "Once"),
			Stop{},
		}},
		{"errors", "chat", begun, []Msg{
			Send{Text: "Hi"},
			failed(1, 100, fmt.Errorf("qwen-tiny: %w", &engine.WindowError{Prompt: 5012, Window: 2048})),
			Retry{2},
			tok(2, 200, "Part"), failed(2, 300, errEngine),
			Retry{2},
			end(3, 400, engine.ReasonStop, "", "Whole"),
			Retry{1},
		}},
		{"asked before the model is ready", "chat", func() []Msg { return begun()[:2] }, []Msg{
			Send{Text: "Hi"},
			ModelLoading{Load: 1, Name: "qwen-tiny", Done: 1, Total: 4},
			ready,
			end(1, 100, engine.ReasonStop, "", "Hello"),
		}},
		{"stopped before the model is ready", "chat", func() []Msg { return begun()[:2] }, []Msg{
			Send{Text: "Hi"},
			Stop{},
			ready,
		}},
		{"no model", "chat status", func() []Msg { return begun()[:2] }, []Msg{
			Send{Text: "Hi"},
			ModelFailed{1, "qwen-tiny", errors.New("no driver for darwin/arm64")},
			RetryModel{},
			ModelFailed{2, "qwen-tiny", errors.New("again")},
			Retry{2},
			ModelReady{3, ModelInfo{Name: "qwen-tiny"}},
			end(2, 100, engine.ReasonStop, "", "Hello"),
		}},
		{"draft of each conversation", "chat", stored, []Msg{
			pair(4),
			ComposerChanged{Text: "half a thought"},
			Tick{after(500 * time.Millisecond)},
			Tick{after(time.Second)},
			NewChat{},
			ComposerChanged{Text: "newer draft"},
			SelectChat{4},
			SelectChat{99},
			NewChat{},
			Send{Text: "Now said"},
		}},
		{"typed before the window followed", "chat quick", stored, []Msg{
			pair(4),
			ComposerChanged{"a draft", 1},
			NewChat{},
			ComposerChanged{"a draft, still in the field", 1},
			Send{"a draft, still in the field", 1},
			ComposerChanged{"new", 2},
			Send{"new", 2},
			ComposerChanged{"new and more", 2},
			ComposerChanged{"more", 3},
			QuickAsk{"Q"},
			QuickChanged{"Q and more", 1},
		}},
		{"code and links", "chat", begun, []Msg{
			Send{Text: "Code"},
			tok(1, 100, "x\n```go\na\nb\n```\ny"),
			CopyBlock{2, 1},
			CopyBlock{2, 0},
			CopyBlock{2, 9},
			CopyBlock{7, 0},
			end(1, 200, engine.ReasonStop, "", "x\n```go\na\nb\n```\ny"),
			CopyBlock{2, 1},
			ClickLink{"https://example.com"},
			ClickLink{"mailto:a@b.c"},
			ClickLink{"file:///etc/passwd"},
			ClickLink{":"},
		}},
	}
}

func answerScenes() []scene {
	first := func() []Msg {
		return append(begun(), Send{Text: "One"}, end(1, 100, engine.ReasonStop, "", "First answer"))
	}
	return []scene{
		{"regenerate", "chat", first, []Msg{
			Regenerate{2},
			Regenerate{2},
			end(2, 200, engine.ReasonStop, "", "Second answer"),
			StepVersion{3, -1},
			StepVersion{2, -1},
			Send{Text: "More"},
			end(3, 300, engine.ReasonStop, "", "More of the first"),
			StepVersion{2, 1},
			StepVersion{3, -1},
		}},
		{"edit and resend", "chat", first, []Msg{
			ComposerChanged{Text: "my draft"},
			EditMessage{1},
			ComposerChanged{Text: "One!"},
			Tick{after(5 * time.Second)},
			CancelEdit{},
			EditMessage{2},
			EditMessage{1},
			Send{Text: "One, please"},
			end(2, 6000, engine.ReasonStop, "", "Another"),
			StepVersion{3, -1},
		}},
		{"interrupted and damaged", "chat", stored, []Msg{
			pair(4),
			Send{Text: "Go on"},
			SelectChat{5},
			ConversationFailed{5, errors.New("it is damaged")},
			Send{Text: "x"},
			SelectChat{3},
			ConversationLoaded{Conversation: Conversation{ID: 3, Nodes: []Node{{
				ID: 3, Role: RoleUser,
				Content: "left",
			}}}, Damaged: 2},
			DismissNotice{},
		}},
		{"after a failed answer", "chat", begun, []Msg{
			Send{Text: "One"}, failed(1, 100, errEngine), Send{Text: "Two"}, end(2, 200, engine.ReasonStop, "", "Both"),
		}},
		{"system prompt and sampling", "chat", begun, []Msg{
			SetField{FieldSystem, " Be brief. "},
			SetField{FieldTemperature, "0,7"},
			SetField{FieldMaxTokens, "100"},
			Send{Text: "Hi"},
		}},
		{"two conversations at once", "chat", begun, []Msg{
			Send{Text: "First"},
			NewChat{},
			Send{Text: "Second"},
			tok(1, 100, "one"), tok(2, 200, "two"),
			SelectChat{1},
			end(1, 300, engine.ReasonStop, "", "one"), end(2, 400, engine.ReasonStop, "", "two"),
		}},
	}
}

func listScenes() []scene {
	return []scene{
		{"days", "chat", stored, []Msg{
			Tick{noon.Add(12 * time.Hour)},
			StepChat{1},
			StepChat{1},
			StepChat{-1},
			StepChat{-1},
			StepChat{-1},
			NewChat{},
			StepChat{-1},
			StepChat{1},
		}},
		{"delete and undo", "chat", stored, []Msg{
			DeleteChat{4},
			UndoDelete{},
			UndoDelete{},
			DeleteChat{5},
			DeleteChat{4},
			Tick{after(29 * time.Second)},
			Tick{after(30 * time.Second)},
			UndoDelete{},
			DeleteChat{3},
			DismissUndo{},
			DeleteChat{99},
			DeleteChat{1},
			DeleteChat{2},
		}},
		{"delete while it answers", "chat", begun, []Msg{
			Send{Text: "Hi"}, tok(1, 100, "He"), DeleteChat{1}, tok(1, 200, "llo"), UndoDelete{},
		}},
		{"rename", "chat", stored, []Msg{
			RenameChat{5, "  A   new\nname "},
			RenameChat{5, ""},
			RenameChat{5, strings.Repeat("long ", 40)},
			RenameChat{99, "x"},
		}},
		{"store fails", "chat status", begun, []Msg{
			SaveFailed{errors.New("no space left on device")},
			Send{Text: "Hi"},
			DismissNotice{},
			SaveFailed{errors.New("the disk is gone")},
			SaveRecovered{},
			ConversationFailed{
				1,
				errEngine,
			},
		}},
		{"changed before the store was read", "chat", func() []Msg { return nil }, []Msg{
			Tick{noon},
			ComposerChanged{Text: "draft"},
			SetField{FieldSystem, "too early"},
			SetAPI{On: true},
			Tick{after(time.Second)},
			WindowClosed{},
			Quit{},
		}},
		{"typed before the store was read", "chat", func() []Msg { return nil }, []Msg{
			Tick{noon},
			ComposerChanged{Text: "draft"},
			Tick{after(time.Second)},
			Loaded{Desk: Desk{Draft: "older"}},
			Tick{after(2 * time.Second)},
		}},
		{"store cannot be read", "chat", func() []Msg { return nil }, []Msg{
			Tick{noon},
			Loaded{Err: errors.New("it was written by a newer Sotto"), Unread: Unread{true, true, true}},
			SetField{FieldSystem, "not kept"},
			Tick{after(time.Second)},
			ComposerChanged{Text: "draft"},
			WindowClosed{},
			Send{Text: "Hi"},
		}},
		{"settings cannot be read", "chat", func() []Msg { return nil }, []Msg{
			Tick{noon},
			Loaded{Err: errors.New("it is damaged: settings")},
			ComposerChanged{Text: "draft"},
			WindowClosed{},
			SetField{FieldSystem, "kept"},
			Tick{after(time.Second)},
		}},
		{"settings cannot be read now", "chat", func() []Msg { return nil }, []Msg{
			Tick{noon},
			Loaded{Err: errors.New("another program holds it"), Unread: Unread{Settings: true}},
			ComposerChanged{Text: "draft"},
			WindowClosed{},
			SetField{FieldSystem, "not kept"},
			Tick{after(time.Second)},
			SetModel{"/models/large"},
			ModelReady{2, ModelInfo{Name: "/models/large"}},
		}},
		{"the trash cannot be emptied", "chat", func() []Msg { return nil }, []Msg{
			Tick{noon},
			Loaded{Undeleted: errors.New("the disk is full")},
			DismissNotice{},
		}},
		{"damaged conversations", "chat", func() []Msg { return nil }, []Msg{
			Tick{noon},
			Loaded{Damaged: 1},
			Loaded{Damaged: 2},
		}},
		{"window", "chat", begun, []Msg{WindowClosed{}, OpenWindow{}}},
	}
}
