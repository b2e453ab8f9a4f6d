// Command uitest drives Sotto's windows over GNUstep as a user would: it starts a virtual screen, types and clicks with
// xdotool, reads from the program's trace what is on the screen, and takes pictures. A line of JSON for every scene
// goes to standard output; the exit status is 0 if all of them held. Nothing is written outside of the folders it is
// given.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Result is what a scene came to.
type Result struct {
	Scene   string   `json:"scene"`
	OK      bool     `json:"ok"`
	Error   string   `json:"error,omitempty"`
	Seconds float64  `json:"seconds"`
	Shots   []string `json:"shots,omitempty"`
	Notes   []string `json:"notes,omitempty"`

	broke bool // the program wrote what it must not, or ended when it should not
}

func main() {
	var o options
	flag.StringVar(&o.app, "app", "build/linux-rig/Sotto.app/Sotto", "program to drive")
	flag.StringVar(&o.caller, "caller", "build/linux-rig/caller", "program that calls services")
	flag.StringVar(&o.rig, "rig", "packaging/linux-rig", "folder of the rig's scripts")
	flag.StringVar(&o.shots, "shots", "build/shots", "folder for pictures")
	flag.StringVar(&o.home, "home", "build/linux-rig/home-test", "home folder of the programs; made anew")
	flag.StringVar(&o.allow, "allow", "packaging/linux-rig/missing.txt", "methods that GNUstep may lack")
	flag.StringVar(&o.pictures, "pictures", "", "take the README's pictures, into this folder, and nothing else")
	only := flag.String("run", "", "only the scenes whose names match")
	flag.IntVar(&o.events, "events", 300, "random events")
	flag.IntVar(&o.windows, "windows", 24, "windows to open and close")
	flag.Uint64Var(&o.seed, "seed", 1, "of the random events")
	flag.Parse()
	if err := run(o, *only); err != nil {
		fmt.Fprintln(os.Stderr, "uitest:", err)
		os.Exit(1)
	}
}

// options say what to drive and where to write.
type options struct {
	app, caller, rig, shots, home, allow string
	user                                 string // home of who runs the test, by $HOME: it stays empty
	pictures                             string // folder for pictures of the README, "" for none
	events, windows                      int
	seed                                 uint64
}

func run(o options, only string) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	played := scenes
	if o.pictures != "" {
		played = []scene{{"pictures", pictures}}
	}
	if err := o.makeFolders(); err != nil {
		return err
	}
	x, err := startScreen(filepath.Dir(o.home))
	if err != nil {
		return err
	}
	defer x.close()
	failed := 0
	out := json.NewEncoder(os.Stdout)
	missing := map[string]bool{}
	before := traces()
	for _, s := range played {
		if !pattern.MatchString(s.name) {
			continue
		}
		r := play(o, x, s, missing)
		if !r.OK && !r.broke {
			// The screen, xdotool and GNUstep's windows are several programs, which now and then miss each other. What
			// Sotto does wrong it does again, and what breaks is never forgiven.
			first := r
			r = play(o, x, s, missing)
			r.Notes = append(r.Notes, "played twice; the first time: "+first.Error)
		}
		if !r.OK {
			failed++
		}
		if err := out.Encode(r); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	if err := checkMissing(o.allow, missing); err != nil {
		return err
	}
	if err := checkTraces(before, o); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d scenes failed", failed)
	}
	return nil
}

// makeFolders makes paths absolute and the folders that are written to, home anew.
func (o *options) makeFolders() error {
	var err error
	for _, p := range []*string{&o.app, &o.caller, &o.rig, &o.shots, &o.home, &o.allow, &o.pictures} {
		if *p == "" {
			continue
		}
		if *p, err = filepath.Abs(*p); err != nil {
			return fmt.Errorf("folder: %w", err)
		}
	}
	o.user = o.home + "-user"
	for _, d := range []string{o.home, o.user} {
		if err := os.RemoveAll(d); err != nil {
			return fmt.Errorf("home: %w", err)
		}
	}
	for _, d := range []string{o.home, o.user, o.shots, cmp.Or(o.pictures, o.shots)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return fmt.Errorf("folder: %w", err)
		}
	}
	return nil
}

// play runs one scene in the common home.
func play(o options, x *display, s scene, missing map[string]bool) Result {
	start := time.Now()
	p := &stage{options: o, x: x, missing: missing, slow: tokenTime}
	if o.pictures != "" {
		p.slow = 0 // they show the speed
	}
	err := p.attempt(s.play)
	broke := p.faultText() != "" || p.gone()
	if err != nil {
		p.shot(s.name + "-failed")
		p.dump()
	}
	if endErr := p.end(); err == nil {
		err = endErr
	}
	r := Result{
		Scene: s.name, OK: err == nil, Seconds: time.Since(start).Round(100 * time.Millisecond).Seconds(),
		Shots: p.shots, Notes: p.notes,
	}
	if err != nil {
		r.Error = err.Error()
		r.broke = broke
	}
	return r
}

// checkMissing compares the methods that were called and that GNUstep lacks with the reviewed list.
func checkMissing(list string, missing map[string]bool) error {
	f, err := os.Open(list)
	if err != nil {
		return fmt.Errorf("list of missing methods: %w", err)
	}
	defer f.Close()
	allowed := map[string]bool{}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		line, _, _ := strings.Cut(sc.Text(), "#")
		if line = strings.TrimSpace(line); line != "" {
			allowed[line] = true
		}
	}
	var unknown []string
	for m := range missing {
		if !allowed[m] {
			unknown = append(unknown, m)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return fmt.Errorf("GNUstep lacks methods that are not in %s:\n  %s", list, strings.Join(unknown, "\n  "))
	}
	return nil
}
