//go:build (darwin && cgo) || gnustep

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"sotto/app"
	"sotto/ui"
)

// AppKit belongs to the process's first thread, on which Go runs init functions and, if they ask for it, main.
func init() { runtime.LockOSThread() }

// addWindow adds the command that opens the window, and makes it what sotto does without a command where programs are
// opened by a click.
func addWindow(root *cobra.Command, t terminal) {
	var s showing
	c := &cobra.Command{
		Use:   "app",
		Short: "Open the window",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("model") {
				if err := checkModel(s.model); err != nil {
					return err
				}
			}
			return openWindow(c.Context(), t, s)
		},
	}
	driverFlag(c.Flags(), &s.driver)
	c.Flags().StringVarP(&s.model, "model", "m", "",
		"built-in model, or folder of a checkpoint, for this run (default: the one chosen in Settings)")
	c.Flags().BoolVar(&s.trace, "trace", false, "tell on standard output what the windows show, for tests")
	c.Flags().DurationVar(&s.slow, "slow", 0, "least time between two tokens, for tests")
	for _, f := range []string{"trace", "slow"} {
		if err := c.Flags().MarkHidden(f); err != nil {
			panic(err) // the flags are defined above
		}
	}
	root.AddCommand(c)
	if runtime.GOOS == "darwin" {
		root.RunE = func(c *cobra.Command, _ []string) error { return openWindow(c.Context(), t, s) }
	}
}

// showing is how the windows are shown.
type showing struct {
	model  string // "": that of the settings
	driver string
	trace  bool
	slow   time.Duration
}

// openWindow runs the app with its windows. It leaves the process where all went well.
func openWindow(ctx context.Context, t terminal, s showing) error {
	if err := checkDriver(s.driver); err != nil {
		return err
	}
	o := app.LaunchOptions{Build: version(), Open: app.Options{Model: s.model, Driver: s.driver}, Slow: s.slow}
	r, err := app.Launch(o) //nolint:contextcheck // it is ended by Run's context
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	ctx, stop := interruptible(ctx)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal does not wait for a disk that fails
	go func() { ended <- r.Run(ctx) }()
	var to io.Writer
	if s.trace {
		to = t.out
	}
	ui.Run(r, ui.Options{Trace: to, Ended: func() {
		if err := <-ended; err != nil {
			fmt.Fprintf(t.err, "sotto: %v\n", err)
			os.Exit(exitFailure)
		}
	}})
	return <-ended
}
