// Command mslbuild builds the Metal kernels for machines that are no Macs, checks them, and writes the header of their
// parameter structs. It exits with 1 when a source is refused, with the place in the .metal file, and with 2 when it is
// called wrongly.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"sotto/kernels/msl"
	"sotto/kernels/msl/params"
)

const usage = `usage: mslbuild WHAT [flags], from the root of the source tree

  host-exact  build/kernels/exact.so: 32 lanes a simdgroup, with checks
  host-fast   engine/gpu/host/lib/fast/sotto.so: one lane a simdgroup, vector code
  strict      check address spaces and the subset of MSL; no output
  ptx         build/kernels/*.ptx for NVIDIA GPUs
  all         the four above
  params      kernels/params.h from the Go types of package kernels

`

var errUsage = errors.New("usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("mslbuild", flag.ContinueOnError)
	set.Usage = func() {
		fmt.Fprint(set.Output(), usage)
		set.PrintDefaults()
	}
	r := msl.Request{
		Log:    func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
		Report: os.Stdout,
	}
	set.StringVar(&r.Root, "root", ".", "root of the source tree")
	set.StringVar(&r.Only, "only", "", "this `source` alone; of gemv.metal comes build/kernels/gemv-exact.so")
	set.StringVar(&r.Out, "out", "", "write the library to this `file`")
	set.BoolVar(&r.KeepGoing, "k", false, "build libraries without the sources that are refused")
	set.StringVar(&r.PTXAS, "ptxas", "", "with ptx: assemble with this `program` and print what each kernel uses")
	set.IntVar(&r.Jobs, "j", 2, "compilations at a time")
	check := set.Bool("check", false, "with params: write nothing, fail if the header is not current")
	if len(args) == 0 {
		set.Usage()
		return errUsage
	}
	r.What = args[0]
	if err := set.Parse(args[1:]); err != nil || set.NArg() > 0 || !msl.Builds(r.What) && r.What != "params" {
		set.Usage()
		return errUsage
	}
	if r.What == "params" {
		return header(r.Root, *check)
	}
	if err := header(r.Root, true); err != nil { // the stamp would not tell
		return err
	}
	tool, err := msl.FindToolchain(ctx)
	if err != nil {
		return err
	}
	if r.Stamp, err = params.Stamp(os.DirFS(filepath.Join(r.Root, "kernels"))); err != nil {
		return err
	}
	return msl.Build(ctx, tool, r)
}

// header writes kernels/params.h unless it is current; with check it only tells.
func header(root string, check bool) error {
	text, err := params.Header()
	if err != nil {
		return err
	}
	path := filepath.Join(root, "kernels", "params.h")
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return nil
	}
	if check {
		return fmt.Errorf("%s is not current: make generate", path)
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
