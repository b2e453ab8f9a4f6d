package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"sotto/app"
	"sotto/app/models"
)

func newModels(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "models",
		Short: "List the models that can be opened by name, and packed weights",
		Long: "Lists the models that can be opened by name, and the folders of models whose weights are packed in\n" +
			"the cache. Packed weights can be deleted at any time: the next start packs them again.",
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return listModels(t.out) },
	}
	c.AddCommand(newClean(t))
	return c
}

// listModels prints what can be opened, and what the cache has.
func listModels(out io.Writer) error {
	list, err := models.Builtin()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
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
	fmt.Fprintln(out, "\nAny folder with an mlx 4-bit checkpoint of these families opens too: --model DIR")
	return listPacks(out)
}

// listPacks prints the folders whose weights are packed, if there are any.
func listPacks(out io.Writer) error {
	packs, err := app.UserFolders().Packs()
	if err != nil {
		return err
	}
	gone, shown := int64(0), 0
	for _, p := range packs {
		if builtin(p) {
			continue
		}
		if shown++; shown == 1 {
			fmt.Fprintln(out, "\nPacked weights of folders:")
		}
		fmt.Fprintf(out, "%10s  %s\n", bytes(p.Size), where(p))
		if p.Gone {
			gone += p.Size
		}
	}
	if gone > 0 {
		fmt.Fprintf(out, "'sotto models clean' deletes those of folders that are gone and frees %s.\n", bytes(gone))
	}
	return nil
}

func builtin(p app.Pack) bool {
	m, err := models.Resolve(p.Source)
	return err == nil && m.Builtin
}

// where says what packed weights belong to.
func where(p app.Pack) string {
	switch {
	case p.Gone:
		return p.Source + " (this folder is gone)"
	case p.Source == "":
		return p.Dir + " (of an unknown folder)"
	}
	return p.Source
}

func newClean(t terminal) *cobra.Command {
	all := false
	c := &cobra.Command{
		Use:   "clean",
		Short: "Delete packed weights of folders that are gone",
		Long: "Deletes the packed weights of models whose folder does not exist any more. Models themselves are\n" +
			"never deleted, and a Sotto that uses packed weights at the moment is not disturbed. The folder of a\n" +
			"model on a disk that is not connected counts as gone: its weights are packed again when it is opened\n" +
			"again.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return clean(c.Context(), t, all) },
	}
	c.Flags().BoolVar(&all, "all", false, "delete all packed weights: each is packed again when it is opened again")
	return c
}

// clean deletes what it can and returns the errors of the rest.
func clean(ctx context.Context, t terminal, all bool) error {
	dirs := app.UserFolders()
	packs, err := dirs.Packs()
	if err != nil {
		return err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	deleted := 0
	for _, p := range packs {
		if !all && !p.Gone {
			continue
		}
		if one := dirs.RemovePack(ctx, p); one != nil {
			err = errors.Join(err, one)
			continue
		}
		deleted++
		fmt.Fprintf(t.out, "deleted %s: weights of %s\n", bytes(p.Size), where(p))
	}
	if deleted == 0 && err == nil {
		fmt.Fprintln(t.out, "There is nothing to delete.")
	}
	return err
}
