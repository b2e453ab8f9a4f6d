package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sotto/app/store"
	"sotto/ui"
)

// copyModel makes a folder with a copy of the built-in model, whose template opens a thinking: this copy thinks.
func (p *stage) copyModel(name string) string {
	dir := filepath.Join(p.home, "models", name)
	p.must(os.CopyFS(dir, os.DirFS(filepath.Join("assets", "models", "qwen-tiny"))))
	file := filepath.Join(dir, "tokenizer_config.json")
	b, err := os.ReadFile(file)
	p.must(err)
	const begin = `'<|im_start|>assistant\\n'`
	if strings.Count(string(b), begin) != 1 {
		p.fail("%s has no %s to add to", file, begin)
	}
	p.must(os.WriteFile(file, []byte(strings.Replace(string(b), begin, begin[:len(begin)-1]+`<think>\\n'`, 1)), 0o600))
	return dir
}

// chooseModel chooses an item of the list of models in the settings by the beginning of its title. The open list lies
// over its button with the chosen item upon it.
func (p *stage) chooseModel(title string) {
	s := p.see().Settings
	items := append(slices.Clone(s.Models), "Choose Folder…")
	find := func(title string) int {
		return slices.IndexFunc(items, func(t string) bool { return strings.HasPrefix(t, title) })
	}
	item, now := find(title), find(filepath.Base(s.Model))
	if item < 0 || now < 0 {
		p.fail("no %s or %s in the list %q", title, s.Model, items)
	}
	x, y := p.place("settings.model")
	to := y + (item-now)*p.see().Parts["settings.model"][3]
	p.xdo("mousemove", strconv.Itoa(x), strconv.Itoa(y), "sleep", "0.05", "mousedown", "1", "sleep", "0.3",
		"mousemove", strconv.Itoa(x), strconv.Itoa(to), "sleep", "0.1", "mouseup", "1", "sleep", "0.3")
	p.settle()
}

// chooseFolder asks for the panel and types into it: GNUstep's takes a path to go to, and then a name in it.
func (p *stage) chooseFolder(dir string) {
	p.chooseModel("Choose")
	p.keys("alt+a")
	p.write(filepath.Dir(dir))
	p.settle()
	p.keys("alt+a")
	p.write(filepath.Base(dir))
	p.settle()
}

// panel clicks a button of the panel, so far to the left of its right edge, until the panel is gone: GNUstep's goes
// into a folder before it takes it.
func (p *stage) panel(fromRight int) {
	for range 4 {
		if name, err := p.x.do("xdotool", "getwindowfocus", "getwindowname"); err != nil ||
			strings.TrimSpace(name) != "Choose Folder" {
			return
		}
		out, err := p.x.do("xwininfo", "-name", "Choose Folder")
		p.must(err)
		var n [4]int
		for i, name := range []string{"Absolute upper-left X", "Absolute upper-left Y", "Width", "Height"} {
			_, rest, _ := strings.Cut(out, name+":")
			n[i], err = strconv.Atoi(strings.Fields(rest)[0])
			p.must(err)
		}
		p.clickAt(n[0]+n[2]-fromRight, n[1]+n[3]-26)
		p.settle()
	}
	p.fail("the panel for folders does not go")
}

// Places of the panel's buttons.
const buttonOK, buttonCancel = 46, 126

func (p *stage) openSettings() {
	p.keys("alt+comma")
	p.wait("the settings", soon, func(s ui.Snapshot) bool { return s.Settings.Open })
	p.settle()
}

// opened waits for a model by the name that is shown.
func (p *stage) opened(name string) {
	p.wait("the model "+name, patience, func(s ui.Snapshot) bool {
		return s.Chat.Model == name && s.Status.Icon == 0 && s.Parts["chat.notice"] == [4]int{}
	})
	p.settle()
}

// modelFolder chooses the folder of a model, one that holds none, and one that is gone.
func modelFolder(p *stage) {
	p.apart("model-folder")
	dir := p.copyModel("thinker")
	empty := filepath.Join(p.home, "models", "nothing")
	p.must(os.Mkdir(empty, 0o700))
	p.start()
	p.openSettings()
	p.chooseModel("Choose")
	p.panel(buttonCancel)
	p.wait("the settings as they were", soon, func(s ui.Snapshot) bool {
		return s.Keyboard == "Settings" && s.Settings.Model == "qwen-tiny" && s.Chat.Model == "qwen-tiny"
	})
	p.settle()
	p.chooseFolder(dir)
	p.shot("25-choose-folder")
	p.panel(buttonOK)
	p.opened("thinker")
	p.shot("25-folder-chosen")
	p.keys("alt+w")
	p.wait("the settings to go", soon, func(s ui.Snapshot) bool { return !s.Settings.Open })
	p.thinking()
	p.quit()
	p.start()
	p.opened("thinker")
	p.openSettings()
	p.chooseFolder(empty)
	p.panel(buttonOK)
	p.wait("that there is no model", patience, func(s ui.Snapshot) bool {
		return s.Status.Icon == iconError && strings.Contains(s.Chat.Model, "there is no model in this folder") &&
			s.Parts["chat.notice"][2] > 0
	})
	p.settle()
	p.shot("26-folder-without-model")
	p.click("settings.window")
	p.keys("alt+w")
	p.wait("the settings to go", soon, func(s ui.Snapshot) bool { return !s.Settings.Open })
	p.clickFor("chat.settings", "the settings", func(s ui.Snapshot) bool { return s.Settings.Open })
	p.settle()
	p.chooseModel("qwen-tiny")
	p.opened("qwen-tiny")
	if list := p.see().Settings.Models; slices.Contains(list, "nothing") || !slices.Contains(list, "thinker") {
		p.fail("the list of models is %q", list)
	}
	p.must(os.RemoveAll(dir))
	p.openSettings()
	p.wait("that the folder is gone", soon, func(s ui.Snapshot) bool {
		return slices.Contains(s.Settings.Models, "thinker (gone)")
	})
	p.settle()
	p.chooseModel("thinker")
	p.wait("that the model is gone", patience, func(s ui.Snapshot) bool {
		return s.Status.Icon == iconError && strings.Contains(s.Chat.Model, "the folder is gone")
	})
	p.settle()
	p.shot("26-folder-gone")
	p.chooseModel("qwen-tiny")
	p.opened("qwen-tiny")
	p.chooseModel("Choose")
	p.quit() // with the panel open
}

// thinking asks a model that thinks, and opens and folds what it thought.
func (p *stage) thinking() {
	p.ask(question)
	s := p.answer(2)
	if m := s.Chat.Messages[1]; !strings.HasPrefix(m.Thinking, "Thought") || m.Thoughts != "" {
		p.fail("the answer is %+v, want folded thinking", m)
	}
	p.fold(2, "27-thinking")
}

// fold opens and folds the thinking of a message.
func (p *stage) fold(node uint64, shot string) {
	thoughts := func(s ui.Snapshot) string { return s.Chat.Messages[1].Thoughts }
	link := "chat.link.think:" + uitoa(node)
	p.settle()
	p.shot(shot + "-folded")
	p.clickFor(link, "what was thought", func(s ui.Snapshot) bool { return thoughts(s) != "" })
	p.settle()
	p.shot(shot + "-open")
	p.clickFor(link, "it folded", func(s ui.Snapshot) bool { return thoughts(s) == "" })
	p.settle()
}

// modelFlag names a model on the command line: it counts for that run.
func modelFlag(p *stage) {
	p.apart("model-flag")
	p.arguments = []string{"--model", p.copyModel("flagged")}
	p.start()
	p.opened("flagged")
	p.quit()
	p.arguments = nil
	p.start()
	p.opened("qwen-tiny")
	p.quit()
}

// rich is an answer with what the built-in models seldom or never write.
const rich = "# A heading\n\nSome **bold**, *italic* and `code`, and a [link](https://example.com).\n\n" +
	"```go\nfunc add(a, b int) int {\n\treturn a + b\n}\n```\n\n" +
	"| Name | Age |\n| --- | --- |\n| Anna | 30 |\n| Benjamin | 4 |\n\n" +
	"> A quote that is long enough to show that the second line of it begins where the first one does, and that it " +
	"looks like a quote to the end.\n\n1. First\n2. Second\n   - inner\n\n---\n\nThe end."

// markdown shows a conversation that another run has kept, with thinking.
func markdown(p *stage) {
	p.apart("markdown")
	now := time.Now()
	kept := store.Conversation{ID: 1, First: "Everything", Leaf: 2, Created: now, Used: now, Nodes: []store.Node{
		{ID: 1, Role: "user", Content: "Show me **everything**.", Created: now},
		{
			ID: 2, Parent: 1, Role: "assistant", Content: rich, Reasoning: "They want:\n\n- code\n- a table",
			Thought: 12 * time.Second, Model: "thinker", Created: now,
		},
	}}
	db := store.New(filepath.Join(p.home, ".local", "share", "sotto", "sotto.db"), time.Second)
	p.must(db.SaveConversation(kept))
	p.start()
	p.selectRow("chat.row.1")
	s := p.wait("the answer", soon, func(s ui.Snapshot) bool {
		return strings.Contains(s.Chat.Messages[1].Text, "The end.")
	})
	if m := s.Chat.Messages[1]; m.Thinking != "Thought for 12 s" || strings.Contains(m.Text, "**") {
		p.fail("the answer is %+v", m)
	}
	p.fold(2, "28-markdown")
	p.clickFor("chat.link.copyblock:2:2", "nothing else", func(ui.Snapshot) bool { return true })
	p.click("chat.composer")
	p.keys("alt+v")
	p.wait("the code in the composer", soon, func(s ui.Snapshot) bool {
		return s.Chat.Composer == "func add(a, b int) int {\n\treturn a + b\n}"
	})
	p.quit()
}
