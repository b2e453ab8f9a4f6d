package main

import (
	"fmt"
	"path/filepath"

	"sotto/ui"
)

// pictures plays what the README shows and takes pictures of it. It is played only where they are asked for.
func pictures(p *stage) {
	p.apart("pictures")
	p.start()
	for _, q := range []string{
		"What is the capital of France?", "Write a short poem about rain.", "Name three colours.",
	} {
		p.newChat()
		p.ask(q)
		p.answer(2)
		p.settle()
	}
	for taken := false; !taken; {
		p.newChat()
		p.ask("Write a Go function that adds two numbers.")
		p.answer(2)
		p.settle()
		p.ask("Tell me a story about a fox.")
		p.wait("half an answer", patience, func(s ui.Snapshot) bool {
			n := len(s.Chat.Messages)
			return n == 4 && (len(s.Chat.Messages[3].Text) > 280 || s.Chat.Messages[3].Figures != "")
		})
		p.frozen(func() {
			if taken = p.see().Chat.Streaming; taken {
				p.picture("chat", "chat.window")
			}
		})
		if !taken {
			p.answer(4)
			p.keys("shift+alt+BackSpace")
		}
	}
	p.answer(4)
	p.settle()
	p.openQuick()
	p.askQuick("What can you do?", 2)
	p.picture("quick", "quick.window")
	p.keys("Escape")
	p.wait("the quick prompt to go", soon, func(s ui.Snapshot) bool { return !s.Quick.Open })
	p.explain("Paris is the capital of France.")
	p.picture("service", "service.window")
	p.clickFor("service.done", "the panel to go", func(s ui.Snapshot) bool { return !s.Service.Open })
	p.quit()
}

// picture takes a picture of one window.
func (p *stage) picture(name, window string) {
	f, ok := p.see().Parts[window]
	if !ok {
		p.fail("there is no %s to take a picture of", window)
	}
	file := filepath.Join(p.pictures, name+".png")
	_, err := p.x.do("import", "-window", "root", "-crop",
		fmt.Sprintf("%dx%d+%d+%d", f[2], f[3], f[0], f[1]), "+repage",
		"-strip", "+dither", "-colors", "64", "-define", "png:compression-level=9", file)
	p.must(err)
}
