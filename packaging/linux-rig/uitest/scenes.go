package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
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
	{"quick", quickPrompt},
	{"status-menu", statusMenu},
	{"service", serviceCall},
	{"service-review", serviceReview},
	{"quit-while-generating", quitWhileGenerating},
	{"random", random},
	{"windows", windows},
}

// Questions that keep the built-in model talking for a while.
const (
	question = "Tell me about the sea."
	longTask = "Write a very long story about a lighthouse, as long as you can."
)

const patience = 90 * time.Second

func answered(t ui.TalkSnapshot, messages int) bool {
	n := len(t.Messages)
	return n == messages && !t.Streaming && !t.Messages[n-1].User && t.Messages[n-1].Figures != ""
}

func speaking(t ui.TalkSnapshot) bool {
	n := len(t.Messages)
	return n > 0 && t.Streaming && !t.Messages[n-1].User && len(t.Messages[n-1].Text) > 20
}

// ask writes into the composer and sends.
func (p *stage) ask(text string) {
	p.click("chat.composer")
	p.write(text)
	p.keys("Return")
}

func stream(p *stage) {
	p.start()
	p.shot("01-empty")
	p.click("chat.composer")
	p.write("First line")
	p.keys("shift+Return")
	p.write("and " + question)
	p.wait("two lines in the composer", 5*time.Second, func(s ui.Snapshot) bool {
		return s.Chat.Composer == "First line\nand "+question && len(s.Chat.Messages) == 0
	})
	p.shot("02-composer")
	p.keys("Return")
	p.wait("an answer that streams", patience, func(s ui.Snapshot) bool { return speaking(s.Chat.TalkSnapshot) })
	p.shot("03-streaming")
	p.wait("figures under the answer", patience, func(s ui.Snapshot) bool { return answered(s.Chat.TalkSnapshot, 2) })
	p.settle()
	p.shot("04-answer")
	p.quit()
}

func (p *stage) quit() {
	p.keys("alt+q")
	p.ended(15 * time.Second)
}

// during asks for something long and does something while it is answered. The built-in model is quick: where it was
// quicker, everything is tried again. happened tells whether it was in time.
func (p *stage) during(act func(ui.Snapshot), happened func() bool) {
	for range 12 {
		p.keys("alt+n")
		p.ask(longTask)
		act(p.wait("an answer that streams", patience, func(s ui.Snapshot) bool { return speaking(s.Chat.TalkSnapshot) }))
		if happened() {
			return
		}
	}
	p.fail("the answer was always finished before anything could be done")
}

func stop(p *stage) {
	p.start()
	p.during(func(ui.Snapshot) { p.xdo("key", "Escape") }, func() bool {
		s := p.wait("the end of the answer", patience, func(s ui.Snapshot) bool {
			return !s.Chat.Streaming && len(s.Chat.Messages) == 2 && s.Chat.Messages[1].Note+s.Chat.Messages[1].Figures != ""
		})
		return strings.Contains(s.Chat.Messages[1].Note, "Stopped")
	})
	p.settle()
	p.shot("05-stopped")
	p.quit()
}

func switchChats(p *stage) {
	p.start()
	p.keys("alt+n")
	p.ask("A third conversation")
	p.wait("an answer", patience, func(s ui.Snapshot) bool { return answered(s.Chat.TalkSnapshot, 2) && len(s.Chat.Chats) == 3 })
	third := p.see().Chat.Messages
	p.keys("alt+bracketright")
	other := p.wait("another conversation", 5*time.Second, func(s ui.Snapshot) bool {
		return len(s.Chat.Messages) == 2 && s.Chat.Messages[0].Text != third[0].Text
	})
	p.settle()
	p.shot("06-switched")
	for part := range other.Parts {
		if strings.HasPrefix(part, "chat.row.") && part != "chat.row."+uitoa(other.Chat.Selected) {
			p.click(part)
			p.wait("the conversation that was clicked", 5*time.Second, func(s ui.Snapshot) bool {
				return "chat.row."+uitoa(s.Chat.Selected) == part && len(s.Chat.Messages) == 2
			})
		}
	}
	p.quit()
}

func restart(p *stage) {
	p.start()
	before := p.see()
	titles := slices.Clone(before.Chat.Chats)
	if len(titles) != 3 {
		p.fail("%d conversations after a new start, want 3", len(titles))
	}
	var talks []string
	collect := func() (all []string) {
		for part := range p.see().Parts {
			if strings.HasPrefix(part, "chat.row.") {
				p.click(part)
				s := p.wait("the conversation that was clicked", 5*time.Second, func(s ui.Snapshot) bool {
					return "chat.row."+uitoa(s.Chat.Selected) == part && len(s.Chat.Messages) >= 2
				})
				all = append(all, s.Chat.Messages[0].Text+s.Chat.Messages[1].Text)
			}
		}
		slices.Sort(all)
		return all
	}
	talks = collect()
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

func quickPrompt(p *stage) {
	p.start()
	p.keys("alt+j")
	p.wait("the quick prompt", 5*time.Second, func(s ui.Snapshot) bool { return s.Quick.Open })
	p.settle()
	p.shot("08-quick-empty")
	p.write("What is a lighthouse?")
	p.keys("Return")
	p.wait("an answer", patience, func(s ui.Snapshot) bool { return len(s.Quick.Messages) == 2 && !s.Quick.Streaming })
	p.write("And who lives there?")
	p.keys("Return")
	p.wait("a second answer", patience, func(s ui.Snapshot) bool { return len(s.Quick.Messages) == 4 && !s.Quick.Streaming })
	p.settle()
	p.shot("09-quick-follow-up")
	p.keys("alt+Return")
	p.wait("the conversation in the window", 5*time.Second, func(s ui.Snapshot) bool {
		return !s.Quick.Open && len(s.Chat.Messages) == 4
	})
	p.settle()
	p.shot("10-quick-in-window")
	p.quit()
}

func statusMenu(p *stage) {
	p.start()
	var menu []string
	var box [4]int
	p.during(func(ui.Snapshot) {
		x, y := p.place("status")
		p.clickAt(x, y)
		p.settle()
		menu, box = p.see().Status.Menu, p.menuBox()
		p.shot("11-status-menu")
	}, func() bool {
		if strings.Contains(menu[0], "answers in") {
			return true
		}
		p.keys("Escape")
		p.clickAt(screenWidth/2, screenHeight-20) // closes the menu
		return false
	})
	item := slices.IndexFunc(menu, func(t string) bool { return strings.HasPrefix(t, "Quick Prompt") })
	if item < 0 {
		p.fail("no Quick Prompt in the menu %q", menu)
	}
	p.clickAt(box[0]+box[2]/2, box[1]+menuOffset(menu, item, box[3]))
	p.wait("the quick prompt", 5*time.Second, func(s ui.Snapshot) bool { return s.Quick.Open })
	p.settle()
	p.shot("12-status-chosen")
	p.keys("Escape")
	p.wait("the quick prompt to go", 5*time.Second, func(s ui.Snapshot) bool { return !s.Quick.Open })
	p.quit()
}

// menuOffset is where the middle of an item lies below the upper edge of a menu of a height.
func menuOffset(menu []string, item, height int) int {
	const separator = 11 // the rig's theme draws them so high
	lines := 0
	for _, t := range menu {
		if t == "" {
			lines++
		}
	}
	each := float64(height-lines*separator) / float64(len(menu)-lines)
	at := 0.0
	for _, t := range menu[:item] {
		if t == "" {
			at += separator
		} else {
			at += each
		}
	}
	return int(at + each/2)
}

// call runs a service through the system from another program and returns what that prints.
func (p *stage) call(service, text string) chan string {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	c := exec.CommandContext(ctx, filepath.Join(p.rig, "run.sh"), p.home, p.caller, service, text)
	c.Env = append(os.Environ(), "DISPLAY="+p.x.name)
	out := make(chan string, 1)
	go func() {
		defer cancel()
		b, err := c.Output()
		if err != nil {
			out <- "caller: " + err.Error()
			return
		}
		out <- strings.TrimSpace(string(b))
	}()
	return out
}

func (p *stage) result(c chan string) string {
	select {
	case s := <-c:
		return s
	case <-time.After(2 * patience):
		p.fail("the calling program got no answer")
		return ""
	}
}

func serviceCall(p *stage) {
	p.start()
	out := p.call("Explain with Sotto", "A selected sentence about tides.")
	if got := p.result(out); got != "A selected sentence about tides." {
		p.fail("the calling program got %q, want its own text back at once", got)
	}
	p.wait("an explanation", patience, func(s ui.Snapshot) bool {
		return s.Service.Open && !s.Service.Streaming && s.Service.Messages[0].Text != ""
	})
	p.settle()
	p.shot("13-service-explain")
	p.click("service.done")
	p.wait("the panel to go", 5*time.Second, func(s ui.Snapshot) bool { return !s.Service.Open })
	p.quit()
}

func serviceReview(p *stage) {
	p.start()
	out := p.call("Proofread with Sotto", "Teh tide are hihg.")
	p.wait("a proposal", patience, func(s ui.Snapshot) bool {
		return s.Service.Open && !s.Service.Streaming && s.Service.Messages[0].Text != ""
	})
	p.settle()
	p.shot("14-service-proofread")
	want := strings.TrimSpace(p.see().Service.Messages[0].Text)
	p.click("service.replace")
	if got := p.result(out); got == "" || !sameWords(got, want) {
		p.fail("the calling program got %q, want %q", got, want)
	}
	p.wait("the panel to go", 5*time.Second, func(s ui.Snapshot) bool { return !s.Service.Open })
	out = p.call("Summarise with Sotto", "Another text.")
	p.wait("a summary", patience, func(s ui.Snapshot) bool { return s.Service.Open && !s.Service.Streaming })
	p.click("service.done")
	if got := p.result(out); got != "Another text." {
		p.fail("the calling program got %q after Done, want its own text", got)
	}
	p.quit()
}

// sameWords compares what was shown, whose marks are gone, with what was given back.
func sameWords(a, b string) bool {
	words := func(s string) string {
		return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return !isWord(r) }), " ")
	}
	return words(a) == words(b)
}

func isWord(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r > 127
}

func quitWhileGenerating(p *stage) {
	p.start()
	var begun string
	p.during(func(s ui.Snapshot) {
		begun = s.Chat.Messages[1].Text[:10]
		p.shot("15-quitting")
	}, func() bool {
		p.xdo("key", "alt+q")
		p.ended(15 * time.Second)
		p.start()
		s := p.see()
		if n := len(s.Chat.Messages); n != 2 {
			p.fail("%d messages after quitting in the middle, want 2", n)
		}
		if m := s.Chat.Messages[1]; !strings.HasPrefix(m.Text, begun) {
			p.fail("the answer that was cut off came back as %+v, it began %q", m, begun)
		}
		return s.Chat.Messages[1].Note != ""
	})
	p.shot("16-after-quitting")
	p.quit()
}
