package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sotto/ui"
)

func quickPrompt(p *stage) {
	p.start()
	p.openQuick()
	p.shot("11-quick-empty")
	p.askQuick("What is a lighthouse?", 2)
	p.askQuick("And who lives there?", 4)
	p.settle()
	p.shot("12-quick-follow-up")
	p.keys("alt+Return")
	p.wait("the conversation in the window", soon, func(s ui.Snapshot) bool {
		return !s.Quick.Open && len(s.Chat.Messages) == 4
	})
	p.settle()
	p.shot("13-quick-in-window")
	p.openQuick() // another conversation, whose messages have the same numbers
	if n := len(p.see().Quick.Messages); n != 0 {
		p.fail("%d messages in a quick prompt whose conversation went into the window", n)
	}
	p.askQuick("Name a fruit.", 2)
	p.settle()
	p.shot("14-quick-anew")
	p.keys("Escape")
	p.wait("the quick prompt to go", soon, func(s ui.Snapshot) bool { return !s.Quick.Open })
	p.quickMovesOn()
	p.quit()
}

// quickMovesOn moves the quick prompt into the window in the middle of an answer: the status item follows.
func (p *stage) quickMovesOn() {
	for range 12 {
		p.openQuick()
		p.write(longTask)
		p.keys("Return")
		p.wait("an answer that streams", patience, func(s ui.Snapshot) bool { return speaking(s.Quick) })
		p.frozen(func() { p.xdo("key", "alt+Return") })
		s := p.wait("the conversation in the window", soon, func(s ui.Snapshot) bool {
			n := len(s.Chat.Messages)
			return !s.Quick.Open && n >= 2 && s.Chat.Messages[n-2].Text == longTask+"\n"
		})
		if s.Chat.Streaming {
			if !strings.HasSuffix(s.Status.Menu[0], "answers in the window") {
				p.fail("the status item says %q", s.Status.Menu[0])
			}
			p.settle()
			return
		}
		p.settle()
	}
	p.fail("the answer was always finished before anything could be done")
}

func (p *stage) openQuick() {
	p.keys("alt+j")
	p.wait("the quick prompt", soon, func(s ui.Snapshot) bool { return s.Quick.Open && s.Keyboard == "quick.field" })
	p.settle()
}

// askQuick asks in the quick prompt and waits for the answer, which is message number messages.
func (p *stage) askQuick(text string, messages int) {
	p.write(text)
	p.keys("Return")
	p.wait("an answer to "+text, patience, func(s ui.Snapshot) bool {
		return answered(s.Quick, messages) && s.Quick.Messages[messages-2].Text == text+"\n"
	})
	p.settle()
}

// statusMenu opens the status item's menu while an answer is given, and chooses from it.
func statusMenu(p *stage) {
	p.start()
	x, y := p.place("status")
	var menu []string
	press := []string{"mousemove", strconv.Itoa(x), strconv.Itoa(y), "mousedown", "1", "sleep", "0.1", "mouseup", "1"}
	p.during(func(ui.Snapshot) { p.xdo(press...) }, func() bool {
		s := p.wait("the menu", soon, func(s ui.Snapshot) bool { return s.Status.Open })
		time.Sleep(50 * time.Millisecond) // the menu is drawn; in vain if that was too early or too late
		p.frozen(func() {
			s = p.see()
			p.shot("15-status-menu")
		})
		p.settle()
		if s.Chat.Streaming && s.Status.Title != "" && strings.Contains(s.Status.Menu[0], "answers in") {
			menu = s.Status.Menu
			return true
		}
		p.keys("Escape")
		p.clickAt(screenWidth/2, screenHeight-20) // closes the menu
		p.wait("the menu to go", soon, func(s ui.Snapshot) bool { return !s.Status.Open })
		return false
	})
	item := slices.IndexFunc(menu, func(t string) bool { return strings.HasPrefix(t, "Quick Prompt") })
	if item < 0 {
		p.fail("no Quick Prompt in the menu %q", menu)
	}
	p.chooseItem(menu, item, p.menuBox())
	p.wait("the quick prompt", soon, func(s ui.Snapshot) bool { return s.Quick.Open })
	p.settle()
	p.shot("16-status-chosen")
	p.keys("Escape")
	p.wait("the quick prompt to go", soon, func(s ui.Snapshot) bool { return !s.Quick.Open })
	p.quit()
}

// call runs a service through the system from another program and returns what that prints.
func (p *stage) call(service, text string) chan string {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	c := exec.CommandContext(ctx, filepath.Join(p.rig, "run.sh"), p.home, p.caller, service, text)
	c.Env = append(os.Environ(), "DISPLAY="+p.x.name, "HOME="+p.user)
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

// explain has text explained and waits for the explanation. The program that calls does not wait for it.
func (p *stage) explain(text string) {
	if got := p.result(p.call("Explain with Sotto", text)); got != text {
		p.fail("the calling program got %q, want its own text back at once", got)
	}
	p.served("an explanation")
}

// served waits for what a service has to say.
func (p *stage) served(what string) string {
	s := p.wait(what, patience, func(s ui.Snapshot) bool {
		return s.Service.Open && !s.Service.Streaming && s.Service.Messages[0].Text != "" &&
			s.Parts["service.done"][2] > 0
	})
	p.settle()
	return s.Service.Messages[0].Text
}

func serviceCall(p *stage) {
	p.start()
	p.explain("A selected sentence about tides.")
	p.shot("17-service-explain")
	p.clickFor("service.done", "the panel to go", func(s ui.Snapshot) bool { return !s.Service.Open })
	p.quit()
}

func serviceReview(p *stage) {
	p.start()
	out := p.call("Proofread with Sotto", "Teh tide are hihg.") //nolint:misspell // that is the point
	want := p.served("a proposal")
	p.shot("18-service-proofread")
	p.clickFor("service.replace", "the panel to go", func(s ui.Snapshot) bool { return !s.Service.Open })
	if got := p.result(out); got == "" || !sameWords(got, want) {
		p.fail("the calling program got %q, want %q", got, want)
	}
	out = p.call("Summarise with Sotto", "Another text.")
	p.served("a summary")
	p.clickFor("service.done", "the panel to go", func(s ui.Snapshot) bool { return !s.Service.Open })
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

// quitWhileGenerating ends the program in the middle of an answer and looks for the answer's beginning afterwards.
func quitWhileGenerating(p *stage) {
	p.start()
	var begun string
	p.during(func(s ui.Snapshot) {
		begun = s.Chat.Messages[1].Text[:10]
		p.shot("22-quitting")
		p.xdo("key", "alt+q")
	}, func() bool {
		p.ended()
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
	p.shot("22-quit")
	p.quit()
}
