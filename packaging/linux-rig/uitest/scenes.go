package main

import (
	"slices"
	"strings"
	"time"

	"sotto/ui"
)

// scene is something that a user does. Scenes share a home folder and are played in order.
type scene struct {
	name string
	play func(*stage)
}

// scenes is what must hold.
var scenes = []scene{
	{"stream", stream},
	{"stop", stop},
	{"switch", switchChats},
	{"restart", restart},
	{"versions", versions},
	{"delete", deleteAndUndo},
	{"keys", shortcuts},
	{"quick", quickPrompt},
	{"status-menu", statusMenu},
	{"service", serviceCall},
	{"service-review", serviceReview},
	{"settings", settings},
	{"markdown", markdown},
	{"model-folder", modelFolder},
	{"model-flag", modelFlag},
	{"no-model", noModel},
	{"damaged-store", damagedStore},
	{"quit-while-generating", quitWhileGenerating},
	{"random", random},
	{"windows", windows},
}

// tokenTime is the least time between two tokens: an answer can be met under way, however quick the machine is.
const tokenTime = 5 * time.Millisecond

// Questions. The long task keeps the built-in model talking for more than a second.
const (
	question = "Tell me about the sea."
	longTask = "Write a very long story about a lighthouse, as long as you can."
)

// How long to wait: for an answer of the model, and for the windows. Machines that do other things are slow.
const (
	patience = 5 * time.Minute
	soon     = time.Minute
)

func answered(t ui.TalkSnapshot, messages int) bool {
	n := len(t.Messages)
	return n == messages && !t.Streaming && !t.Messages[n-1].User && t.Messages[n-1].Figures != ""
}

func speaking(t ui.TalkSnapshot) bool {
	n := len(t.Messages)
	return n > 0 && t.Streaming && !t.Messages[n-1].User && len(t.Messages[n-1].Text) > 20
}

// compose writes into the empty composer.
func (p *stage) compose(text string) {
	p.focusComposer()
	p.write(text)
	p.wait("the text in the composer", soon, func(s ui.Snapshot) bool { return s.Chat.Composer == text })
}

func (p *stage) focusComposer() {
	p.click("chat.composer")
	p.wait("the keyboard for the composer", soon, func(s ui.Snapshot) bool { return s.Keyboard == "chat.composer" })
}

// ask writes into the composer and sends.
func (p *stage) ask(text string) {
	p.compose(text)
	p.keys("Return")
}

// newChat begins a conversation.
func (p *stage) newChat() {
	p.keys("alt+n")
	p.wait("a new conversation", soon, func(s ui.Snapshot) bool {
		return s.Chat.Selected == 0 && len(s.Chat.Messages) == 0
	})
	p.settle()
}

// answer waits until the conversation in the window has so many messages and the last one is an answer.
func (p *stage) answer(messages int) ui.Snapshot {
	return p.wait("an answer", patience, func(s ui.Snapshot) bool { return answered(s.Chat.TalkSnapshot, messages) })
}

func (p *stage) quit() {
	p.keys("alt+q")
	p.ended()
}

// during asks for something long, stops the program while the answer streams and does something then: it is what the
// program sees next. Where the answer was quicker all the same, everything is tried again.
func (p *stage) during(act func(ui.Snapshot), happened func() bool) {
	for range 12 {
		p.newChat()
		p.ask(longTask)
		p.wait("an answer that streams", patience, func(s ui.Snapshot) bool { return speaking(s.Chat.TalkSnapshot) })
		p.frozen(func() { act(p.see()) })
		if happened() {
			return
		}
	}
	p.fail("the answer was always finished before anything could be done")
}

func stream(p *stage) {
	p.start()
	p.shot("01-empty")
	p.focusComposer()
	p.write("First line")
	p.keys("shift+Return")
	p.write("and " + question)
	p.wait("two lines in the composer", soon, func(s ui.Snapshot) bool {
		return s.Chat.Composer == "First line\nand "+question && len(s.Chat.Messages) == 0
	})
	p.settle()
	p.shot("02-composer")
	p.keys("Return")
	p.answer(2)
	p.during(func(s ui.Snapshot) { p.shot("03-streaming") }, func() bool { return true })
	p.answer(2)
	p.settle()
	p.shot("04-answer")
	p.quit()
}

func stop(p *stage) {
	p.start()
	p.during(func(ui.Snapshot) { p.xdo("key", "Escape") }, func() bool {
		s := p.wait("the end of the answer", patience, func(s ui.Snapshot) bool {
			return !s.Chat.Streaming && len(s.Chat.Messages) == 2 &&
				s.Chat.Messages[1].Note+s.Chat.Messages[1].Figures != ""
		})
		return strings.Contains(s.Chat.Messages[1].Note, "Stopped")
	})
	p.settle()
	p.shot("05-stopped")
	p.quit()
}

func switchChats(p *stage) {
	p.start()
	before := len(p.see().Chat.Chats)
	p.newChat()
	p.ask("Another conversation")
	p.answer(2)
	p.wait("it in the list", soon, func(s ui.Snapshot) bool {
		return len(s.Chat.Chats) == before+1 && s.Chat.Selected != 0
	})
	asked := p.see().Chat.Messages[0].Text
	p.keys("alt+bracketright")
	other := p.wait("another conversation", soon, func(s ui.Snapshot) bool {
		return len(s.Chat.Messages) == 2 && s.Chat.Messages[0].Text != asked
	})
	p.settle()
	p.shot("06-switched")
	for part := range other.Parts {
		if strings.HasPrefix(part, "chat.row.") {
			p.selectRow(part)
		}
	}
	p.quit()
}

// selectRow clicks a conversation in the list and returns what it says.
func (p *stage) selectRow(part string) string {
	s := p.clickFor(part, "the conversation that was clicked", func(s ui.Snapshot) bool {
		return "chat.row."+uitoa(s.Chat.Selected) == part && len(s.Chat.Messages) >= 2
	})
	return s.Chat.Messages[0].Text + s.Chat.Messages[1].Text
}

func restart(p *stage) {
	p.start()
	titles := slices.Clone(p.see().Chat.Chats)
	if len(titles) < 2 {
		p.fail("%d conversations after a new start, want more", len(titles))
	}
	collect := func() (all []string) {
		for part := range p.see().Parts {
			if strings.HasPrefix(part, "chat.row.") {
				all = append(all, p.selectRow(part))
			}
		}
		slices.Sort(all)
		return all
	}
	talks := collect()
	p.quit()
	p.start()
	if got := p.see().Chat.Chats; !slices.Equal(got, titles) {
		p.fail("conversations %q after a new start, want %q", got, titles)
	}
	if got := collect(); !slices.Equal(got, talks) {
		p.fail("messages after a new start differ: %q, want %q", got, talks)
	}
	p.settle()
	p.shot("07-restarted")
	p.quit()
}

// versions answers a message again, edits one, and goes back to the first versions.
func versions(p *stage) {
	p.start()
	p.newChat()
	p.ask("Name a colour.")
	p.answer(2)
	p.settle()
	first := p.see().Chat.Messages[1].Text
	p.clickFor("chat.link.regenerate:2", "another answer", func(s ui.Snapshot) bool {
		return s.Chat.Streaming || len(s.Chat.Messages) == 2 && s.Chat.Messages[1].Text != first
	})
	p.wait("a second version", patience, func(s ui.Snapshot) bool {
		return answered(s.Chat.TalkSnapshot, 2) && s.Parts["chat.link.version:3:-1"][2] > 0
	})
	p.settle()
	p.clickFor("chat.link.version:3:-1", "the first version", func(s ui.Snapshot) bool {
		return s.Chat.Messages[1].Text == first
	})
	p.settle()
	p.clickFor("chat.link.edit:1", "the message in the composer", func(s ui.Snapshot) bool {
		return s.Chat.Composer == "Name a colour."
	})
	p.settle()
	p.shot("08-editing")
	p.keys("alt+a")
	p.write("Name a city.")
	p.wait("the new version in the composer", soon, func(s ui.Snapshot) bool {
		return s.Chat.Composer == "Name a city."
	})
	p.keys("Return")
	p.wait("an answer to the new version", patience, func(s ui.Snapshot) bool {
		return answered(s.Chat.TalkSnapshot, 2) && s.Chat.Messages[0].Text == "Name a city.\n"
	})
	p.settle()
	p.shot("09-versions")
	p.quit()
}

// deleteAndUndo deletes a conversation and brings it back.
func deleteAndUndo(p *stage) {
	p.start()
	titles := slices.Clone(p.see().Chat.Chats)
	p.compose("a line") // is deleted without Shift, and no conversation
	p.keys("alt+BackSpace", "alt+a", "BackSpace")
	p.wait("an empty composer", soon, func(s ui.Snapshot) bool { return s.Chat.Composer == "" })
	if n := len(p.see().Chat.Chats); n != len(titles) {
		p.fail("%d conversations after deleting a line, want %d", n, len(titles))
	}
	p.keys("shift+alt+BackSpace")
	p.wait("a shorter list", soon, func(s ui.Snapshot) bool {
		return len(s.Chat.Chats) == len(titles)-1 && s.Parts["chat.undo"][2] > 0
	})
	p.settle()
	p.shot("10-deleted")
	p.clickFor("chat.undo", "the conversation again", func(s ui.Snapshot) bool {
		return slices.Equal(s.Chat.Chats, titles)
	})
	p.quit()
}

// shortcuts presses the keys of the menus that no other scene presses.
func shortcuts(p *stage) {
	p.start()
	p.newChat()
	composer := func(what, text string) {
		p.wait(what, soon, func(s ui.Snapshot) bool { return s.Chat.Composer == text })
	}
	p.compose("cut and pasted")
	p.keys("alt+a", "alt+x")
	composer("an empty composer", "")
	p.keys("alt+v", "alt+v")
	composer("the text twice", "cut and pastedcut and pasted")
	p.keys("alt+a", "alt+c", "Right", "alt+v", "alt+a", "alt+x")
	composer("an empty composer", "")
	p.ask("A question")
	first := p.answer(2).Chat.Messages[1]
	p.keys("alt+r")
	p.wait("another version", patience, func(s ui.Snapshot) bool {
		return answered(s.Chat.TalkSnapshot, 2) && s.Chat.Messages[1].Figures != first.Figures
	})
	at := p.see().Chat.Selected
	p.keys("alt+bracketright")
	p.wait("the next conversation", soon, func(s ui.Snapshot) bool { return s.Chat.Selected != at })
	p.keys("alt+bracketleft")
	p.wait("the first conversation", soon, func(s ui.Snapshot) bool { return s.Chat.Selected == at })
	p.during(func(ui.Snapshot) { p.xdo("key", "alt+period") }, func() bool {
		s := p.wait("the end of the answer", patience, func(s ui.Snapshot) bool { return !s.Chat.Streaming })
		return s.Chat.Messages[1].Note != ""
	})
	p.closeAndOpen()
	p.quit()
}
