package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"sotto/app"
)

// errUnhealthy ends a diagnosis that found something: what it is has been printed.
var errUnhealthy = errors.New("something is wrong with the engine on this machine")

func newDoctor(t terminal) *cobra.Command {
	asJSON, driver := false, ""
	threads := 0
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check that the engine works on this machine",
		Long: "Tells what machine and device the engine runs on, compares every kernel with recorded results, and\n" +
			"compares an answer of each built-in model with what mlx-lm has it answer. Nothing about your\n" +
			"conversations is read or shown: the report can be sent to others.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := errors.Join(checkDriver(driver), checkThreads(threads)); err != nil {
				return err
			}
			ctx, stop := interruptible(c.Context())
			defer stop()
			bar := newProgress(t.err)
			o := app.Options{Driver: driver, Threads: threads}
			d, err := app.Diagnose(ctx, o, version(), func(done, total int) {
				bar.line("checking kernels: %d of %d", done, total)
			})
			bar.clear()
			write := printDiagnosis
			if asJSON {
				write = printDiagnosisJSON
			}
			switch writeErr := write(t.out, d); {
			case err != nil: // interrupted: what was found out until then has been told
				return err
			case writeErr != nil:
				return writeErr
			case !d.Healthy:
				return errUnhealthy
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	driverFlag(c.Flags(), &driver)
	c.Flags().IntVar(&threads, "threads", 0, "threads of the host driver (default: all cores)")
	return c
}

func printDiagnosisJSON(out io.Writer, d *app.Diagnosis) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(d)
}

// printDiagnosis writes a diagnosis for people.
func printDiagnosis(out io.Writer, d *app.Diagnosis) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%s\t"+format+"\n", append([]any{name}, args...)...)
	}
	s := d.System
	row("Sotto", "%s", d.Version)
	row("System", "%s, %s/%s", s.Version, s.OS, s.Arch)
	row("Processor", "%s, %d threads, %s of memory", s.Processor, s.Threads, bytes(s.MemoryBytes))
	if v := d.Device; v != nil {
		row("Device", "%s (driver %s)", v.Name, v.Driver)
		row("Tier", "%s: %s", v.Tier, v.TierReason)
		row("Limits", "%s of memory, %d simdgroups of %d lanes, chunks of %d rows to begin with", bytes(v.MemoryLimit),
			v.MaxSimdgroups, v.Lanes, v.Chunk)
	}
	for _, l := range d.Loading {
		row("Time", "%s took %.2f s", l.Stage, l.Seconds)
	}
	if k := d.Kernels; k != nil {
		row("Kernels", "%d checks in %.1f s: %d equal in every bit, %d close (worst %.2g), %d failed", k.Checks,
			k.Seconds, k.Equal, k.Close, k.Worst, len(k.Failures))
		for _, f := range k.Failures {
			row("  failed", "%s: %s", strings.Join(f.Kernels, ", "), f.Error)
		}
	}
	for _, a := range d.Answers {
		how := "equal to the reference's"
		if !a.Equal {
			how = "NOT equal to the reference's"
		}
		row("Answer", "%s: %s, %d tokens at %.0f tok/s, the first after %.0f ms", a.Model, how, a.Tokens,
			a.TokensPerSecond, a.FirstTokenMS)
		row("", "%q", a.Text)
	}
	for _, e := range d.Errors {
		row("Error", "%s", e)
	}
	if d.Healthy {
		row("Result", "healthy")
	}
	return w.Flush()
}
