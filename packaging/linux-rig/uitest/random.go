package main

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"sotto/ui"
)

func uitoa(n uint64) string { return strconv.FormatUint(n, 10) }

// underStress starts the program with the garbage collector always at work.
func (p *stage) underStress() {
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
			p.ended(time.Second)
			quits++
			p.start()
		default:
		}
	}
	p.settle()
	p.shot("17-random")
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
		return []string{"mousemove", strconv.Itoa(r.IntN(screenWidth)), strconv.Itoa(r.IntN(screenHeight)), "click", "1"}
	case k < 55:
		return []string{"click", strconv.Itoa(4 + r.IntN(2))}
	case k < 60:
		return []string{"mousemove", strconv.Itoa(r.IntN(screenWidth)), strconv.Itoa(r.IntN(screenHeight)), "mousedown", "1",
			"mousemove", strconv.Itoa(r.IntN(screenWidth)), strconv.Itoa(r.IntN(screenHeight)), "mouseup", "1"}
	case k < 80:
		return []string{"type", "--delay", "2", string(rune('a' + r.IntN(26)))}
	default:
		keys := strings.Fields("Return Return Escape Tab BackSpace Up Down Left Right Home End shift+Return alt+n alt+j alt+w " +
			"alt+comma alt+period alt+bracketleft alt+bracketright alt+a alt+c alt+v alt+x alt+z alt+r alt+BackSpace")
		return []string{"key", keys[r.IntN(len(keys))], "sleep", "0.01"}
	}
}

// windows opens and closes windows and looks whether anything of them stays.
func windows(p *stage) {
	p.underStress()
	p.keys("alt+n")
	open := func(key string, is func(ui.Snapshot) bool, closing string) {
		p.keys(key)
		p.wait("a window", 10*time.Second, is)
		p.keys(closing)
		p.wait("no window", 10*time.Second, func(s ui.Snapshot) bool { return !is(s) })
	}
	quick := func(s ui.Snapshot) bool { return s.Quick.Open }
	settings := func(s ui.Snapshot) bool { return s.Settings }
	open("alt+j", quick, "Escape")
	open("alt+comma", settings, "alt+w")
	before := p.lent()
	for i := range p.windows {
		if i%2 == 0 {
			open("alt+j", quick, "Escape")
		} else {
			open("alt+comma", settings, "alt+w")
		}
	}
	after := p.lent()
	p.notes = append(p.notes, "lent "+strconv.Itoa(before)+" before, "+strconv.Itoa(after)+" after")
	if after > before {
		p.fail("%d Go objects are lent to Objective-C after %d windows, %d before", after, p.windows, before)
	}
	p.shot("18-windows")
	p.quit()
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
