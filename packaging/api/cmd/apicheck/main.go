// Command apicheck type-checks the code for macOS and holds what it names of Objective-C against the API facts.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"sotto/packaging/api"
	"sotto/packaging/api/check"
	"sotto/packaging/mac/bundle"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	n, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "apicheck:", err)
		os.Exit(2)
	}
	if n > 0 {
		os.Exit(1)
	}
}

// run prints what is found and returns how much that is.
func run(ctx context.Context) (int, error) {
	modfile := flag.String("modfile", "", "go.mod to use instead")
	info := flag.String("info", "", "`Info.plist` whose services must be answered")
	flag.Parse()
	facts, err := api.Load()
	if err != nil {
		return 0, err
	}
	rules := check.Rules{Facts: facts}
	if rules.Extra, rules.Since, err = api.Reviewed(); err != nil {
		return 0, err
	}
	if *info != "" {
		b, err := os.ReadFile(*info)
		if err != nil {
			return 0, err
		}
		i, err := bundle.ReadInfo(b)
		if err != nil {
			return 0, err
		}
		for _, s := range i.Services {
			rules.Services = append(rules.Services, s.Message)
		}
	}
	s := check.Source{Dir: ".", Patterns: flag.Args()}
	if *modfile != "" {
		s.Flags = []string{"-modfile=" + *modfile}
	}
	r, err := check.Run(ctx, s, rules)
	if err != nil {
		return 0, err
	}
	for _, f := range r.Findings {
		fmt.Println(strings.TrimPrefix(f.String(), wd()))
	}
	fmt.Printf("%d packages, %d messages, %d methods of delegates: %d findings\n",
		r.Packages, r.Messages, r.Delegates, len(r.Findings))
	return len(r.Findings), nil
}

// wd returns the present folder with a slash.
func wd() string {
	d, err := os.Getwd()
	if err != nil {
		return ""
	}
	return d + "/"
}
