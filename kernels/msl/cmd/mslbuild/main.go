// Command mslbuild builds the Metal kernels for machines that are no Macs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"sotto/kernels/msl"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("mslbuild", flag.ContinueOnError)
	set.Usage = func() {
		fmt.Fprintln(set.Output(), "usage: mslbuild host-exact|host-fast|strict|ptx|all [flags]")
		set.PrintDefaults()
	}
	root := set.String("root", ".", "root of the source tree")
	only := set.String("only", "", "build this source alone, to build/kernels/SOURCE-exact.so or -sotto.so")
	out := set.String("out", "", "write the library here")
	keep := set.Bool("k", false, "build libraries without the sources that do not compile")
	ptxas := set.String("ptxas", "", "with ptx: assemble with this program and print what each kernel uses")
	jobs := set.Int("j", 2, "compilations at a time")
	if len(args) == 0 {
		set.Usage()
		return fmt.Errorf("mslbuild: nothing to do")
	}
	what := args[0]
	if err := set.Parse(args[1:]); err != nil {
		return err
	}
	tool, err := msl.FindToolchain(ctx)
	if err != nil {
		return err
	}
	return msl.Build(ctx, tool, msl.Request{What: what, Root: *root, Only: *only, Out: *out, Jobs: *jobs, KeepGoing: *keep, PTXAS: *ptxas, Report: os.Stdout,
		Log: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }})
}
