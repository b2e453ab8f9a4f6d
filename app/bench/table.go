package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Table writes the report as text.
func (r *Report) Table(out io.Writer) error {
	fmt.Fprintf(out, "%s on %s; median [min, max] of %d rounds, %d tokens decoded each\n\n", r.Model, r.Device,
		r.Rounds, r.Tokens)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head := "PROMPT\tARM\tPREFILL tok/s\tDECODE tok/s\tFIRST TOKEN ms"
	if len(r.Arms) > 1 {
		head += "\tPREFILL ratio\tDECODE ratio"
	}
	fmt.Fprintln(w, head)
	for _, l := range r.Lengths {
		for i, f := range l.Arms {
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s", l.Prompt, f.Arm, f.Prefill.text(0), f.Decode.text(1), f.First.text(1))
			if len(r.Arms) > 1 && i > 0 {
				fmt.Fprintf(w, "\t%s\t%s", f.PrefillRatio.text(2), f.DecodeRatio.text(2))
			}
			fmt.Fprintln(w)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, l := range r.Lengths {
		if l.Rounds < r.Rounds {
			fmt.Fprintf(out, "\nnot finished: %d of %d rounds at %d tokens\n", l.Rounds, r.Rounds, l.Prompt)
		}
	}
	return nil
}

func (s Spread) text(digits int) string {
	return fmt.Sprintf("%.*f [%.*f, %.*f]", digits, s.Median, digits, s.Min, digits, s.Max)
}
