package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"sotto/app/models"
)

func newModels(t terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "models",
		Short: "List the models that can be opened by name",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			list, err := models.Builtin()
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tFAMILY\tSIZE\tNOTE")
			for _, m := range list {
				size, err := m.Size()
				if err != nil {
					return err
				}
				name := m.Name
				if name == models.Default {
					name += " (default)"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", name, m.Family, bytes(size), m.Note)
			}
			if err := w.Flush(); err != nil {
				return err
			}
			fmt.Fprintln(t.out, "\nAny folder with an mlx 4-bit checkpoint of these families opens too: --model DIR")
			return nil
		},
	}
}
