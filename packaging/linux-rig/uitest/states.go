package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sotto/ui"
)

// iconError is what the status item shows when something is wrong.
const iconError = 3

// settings changes what can be changed, and serves other programs for a moment.
func settings(p *stage) {
	p.start()
	p.keys("alt+comma")
	p.wait("the settings", soon, func(s ui.Snapshot) bool { return s.Settings.Open })
	p.settle()
	p.shot("19-settings")
	fill := func(field, text string) {
		p.click("settings." + field)
		p.keys("alt+a")
		p.write(text)
	}
	fill("temperature", "much")
	p.wait("what is wrong with it", soon, func(s ui.Snapshot) bool { return len(s.Settings.Errors) == 1 })
	fill("port", strconv.Itoa(p.freePort()))
	p.keys("shift+Return") // breaks no line, and the keyboard goes to the next field
	p.click("settings.api")
	s := p.wait("the API", soon, func(s ui.Snapshot) bool { return strings.Contains(s.Settings.API, "http://") })
	p.settle()
	p.shot("19-settings-filled")
	p.models(s.Settings.API[strings.Index(s.Settings.API, "http://"):])
	first := s.Settings.API
	port := strconv.Itoa(p.freePort())
	fill("port", port)
	time.Sleep(2 * time.Second)
	if s := p.see(); s.Settings.API != first || s.Settings.Port != port {
		p.fail("the API is at %q while port %q is typed, want it still at %q", s.Settings.API, s.Settings.Port, first)
	}
	p.click("settings.temperature")
	p.wait("the API at another port", soon, func(s ui.Snapshot) bool {
		return strings.HasSuffix(s.Settings.API, ":"+port)
	})
	p.click("settings.api")
	p.wait("the end of the API", soon, func(s ui.Snapshot) bool { return !strings.Contains(s.Settings.API, "http://") })
	fill("temperature", "0,5")
	p.wait("no error", soon, func(s ui.Snapshot) bool { return len(s.Settings.Errors) == 0 })
	p.keys("alt+w")
	p.wait("the settings to go", soon, func(s ui.Snapshot) bool { return !s.Settings.Open })
	p.quit()
}

func (p *stage) freePort() int {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed at once
	p.must(err)
	defer func() { p.must(l.Close()) }()
	return l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // of a tcp listener
}

// models asks the API at an address for its models.
func (p *stage) models(address string) {
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSpace(address)+"/v1/models", nil)
	p.must(err)
	answer, err := http.DefaultClient.Do(r)
	p.must(err)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		p.fail("%s: %s", r.URL, answer.Status)
	}
}

// apart plays on with a home folder of its own.
func (p *stage) apart(name string) {
	p.home = filepath.Join(p.home, name)
	p.must(os.MkdirAll(p.home, 0o700))
}

// noModel lets the model fail, for its folder for packed weights is a file, and then lets it succeed.
func noModel(p *stage) {
	p.apart("no-model")
	cache := filepath.Join(p.home, ".cache")
	p.must(os.WriteFile(cache, nil, 0o600))
	p.start()
	p.wait("that the model failed, in the window and the status item", patience, func(s ui.Snapshot) bool {
		return s.Status.Icon == iconError && s.Parts["chat.notice"][2] > 0
	})
	p.settle()
	p.shot("20-no-model")
	p.ask(question)
	p.wait("the error at the message", soon, func(s ui.Snapshot) bool {
		return len(s.Chat.Messages) == 2 && s.Chat.Messages[1].Error != ""
	})
	p.settle()
	p.shot("20-no-model-asked")
	p.must(os.Remove(cache))
	p.clickFor("chat.notice", "the model on its way", func(s ui.Snapshot) bool {
		return s.Parts["chat.notice"] == [4]int{}
	})
	p.wait("the model", patience, func(s ui.Snapshot) bool {
		return s.Status.Icon == 0 && s.Parts["chat.notice"] == [4]int{}
	})
	p.settle()
	p.clickFor("chat.link.retry:2", "another answer", func(s ui.Snapshot) bool {
		return s.Chat.Messages[1].Error == ""
	})
	p.answer(2)
	p.settle()
	p.shot("20-model-again")
	p.quit()
}

// damagedStore starts with a store that is none.
func damagedStore(p *stage) {
	p.apart("damaged-store")
	data := filepath.Join(p.home, ".local", "share", "sotto")
	p.must(os.MkdirAll(data, 0o700))
	p.must(os.WriteFile(filepath.Join(data, "sotto.db"), []byte(strings.Repeat("no store ", 4000)), 0o600))
	p.start()
	p.wait("what is wrong", soon, func(s ui.Snapshot) bool { return s.Chat.Notice != "" })
	p.settle()
	p.shot("21-damaged-store")
	p.ask(question) // an answer does not need the store
	p.answer(2)
	p.settle()
	p.shot("21-damaged-store-answered")
	p.keys("alt+q")
	p.wait("that not everything could be saved", soon, func(s ui.Snapshot) bool {
		return strings.Contains(s.Chat.Notice, "Quit again")
	})
	p.settle()
	p.shot("21-damaged-store-quit")
	p.quit()
}
