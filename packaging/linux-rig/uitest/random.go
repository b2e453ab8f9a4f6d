package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"sotto/ui"
)

func uitoa(n uint64) string { return strconv.FormatUint(n, 10) }

// underStress starts the program with the garbage collector always at work.
func (p *stage) underStress() {
	p.stressed = true
	p.environment = []string{"GOGC=1", "GODEBUG=clobberfree=1,invalidptr=1"}
	p.start()
}

// batch is how many random events go in one call of xdotool.
const batch = 20

// random types, clicks and scrolls without sense. The program may end when it was asked to; it must not crash.
func random(p *stage) {
	r := rand.New(rand.NewPCG(p.seed, 2))
	p.underStress()
	quits := 0
	for done := 0; done < p.events; done += batch {
		var events []string
		for range batch {
			events = append(events, p.event(r)...)
		}
		p.xdo(events...)
		select {
		case <-p.exited:
			p.ended()
			quits++
			p.start()
		default:
		}
	}
	p.settle()
	p.shot("23-random")
	p.notes = append(p.notes, strconv.Itoa(p.events)+" events, "+strconv.Itoa(quits)+" of them ended the program")
	p.alive()
	p.xdo("key", "Escape", "sleep", "0.3", "key", "Escape", "sleep", "0.3")
}

// alive waits until the program has worked off what it was given and answers a key.
func (p *stage) alive() {
	p.mu.Lock()
	told := p.told
	p.mu.Unlock()
	for range 60 {
		p.xdo("key", "Escape", "sleep", "0.2", "key", "alt+j", "sleep", "0.3")
		p.mu.Lock()
		now := p.told
		p.mu.Unlock()
		if now > told {
			return
		}
	}
	p.fail("the program does not answer any more")
}

// event returns one random event as arguments of xdotool.
func (p *stage) event(r *rand.Rand) []string {
	parts := p.see().Parts
	names := make([]string, 0, len(parts))
	for n := range parts {
		names = append(names, n)
	}
	slices.Sort(names)
	switch k := r.IntN(100); {
	case k < 35 && len(names) > 0:
		f := parts[names[r.IntN(len(names))]]
		x, y := f[0]+r.IntN(max(f[2], 1)), f[1]+r.IntN(max(f[3], 1))
		return []string{"mousemove", strconv.Itoa(x), strconv.Itoa(y), "click", "1", "sleep", "0.02"}
	case k < 45:
		return []string{
			"mousemove", strconv.Itoa(r.IntN(screenWidth)), strconv.Itoa(r.IntN(screenHeight)), "click", "1",
		}
	case k < 55:
		return []string{"click", strconv.Itoa(4 + r.IntN(2))}
	case k < 60:
		return []string{
			"mousemove", strconv.Itoa(r.IntN(screenWidth)), strconv.Itoa(r.IntN(screenHeight)), "mousedown", "1",
			"mousemove", strconv.Itoa(r.IntN(screenWidth)), strconv.Itoa(r.IntN(screenHeight)), "mouseup", "1",
		}
	case k < 80:
		return []string{"key", string(rune('a' + r.IntN(26)))}
	default:
		keys := strings.Fields("Return Return Escape Tab BackSpace Up Down Left Right Home End shift+Return " +
			"alt+n alt+j alt+w alt+comma alt+period alt+bracketleft alt+bracketright alt+a alt+c alt+v alt+x alt+z " +
			"alt+r shift+alt+BackSpace")
		return []string{"key", keys[r.IntN(len(keys))], "sleep", "0.01"}
	}
}

// windows opens and closes windows and looks whether anything of them stays.
func windows(p *stage) {
	p.underStress()
	kinds := []func(){
		func() { p.openAndClose("alt+j", func(s ui.Snapshot) bool { return s.Quick.Open }, "Escape") },
		func() { p.openAndClose("alt+comma", func(s ui.Snapshot) bool { return s.Settings.Open }, "alt+w") },
		func() { p.closeAndOpen() },
		func() {
			p.explain("Text.")
			p.clickFor("service.done", "the panel to go", func(s ui.Snapshot) bool { return !s.Service.Open })
		},
	}
	for _, k := range kinds {
		k()
	}
	before := p.lent()
	for i := range p.windows {
		kinds[i%len(kinds)]()
	}
	after := p.lent()
	for range 60 {
		if after <= before {
			break
		}
		after = p.lent()
	}
	p.notes = append(p.notes, fmt.Sprintf("%d windows, %d Go objects lent before, %d after", p.windows, before, after))
	if after > before {
		p.fail("%d Go objects are lent to Objective-C after %d windows, %d before", after, p.windows, before)
	}
	p.shot("24-windows")
	p.quit()
}

func (p *stage) openAndClose(opening string, is func(ui.Snapshot) bool, closing string) {
	p.keys(opening)
	p.wait("a window", soon, is)
	p.settle()
	p.keys(closing)
	p.wait("no window", soon, func(s ui.Snapshot) bool { return !is(s) })
	p.settle()
}

// closeAndOpen closes the chat window and brings it back by the status item.
func (p *stage) closeAndOpen() {
	p.keys("alt+w")
	p.wait("no chat window", soon, func(s ui.Snapshot) bool { return !s.Chat.Open })
	p.settle()
	p.choose("Open Sotto")
	p.wait("the chat window", soon, func(s ui.Snapshot) bool { return s.Chat.Open })
	p.settle()
}

// lent returns how many Go objects Objective-C holds once the collector has found what is gone.
func (p *stage) lent() int {
	least := p.see().Lent
	for range 10 { // each change makes garbage and so a collection
		p.write("x")
		p.keys("BackSpace")
		least = min(least, p.see().Lent)
	}
	return least
}
