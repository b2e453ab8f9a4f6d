// Command fullsize proves Sotto at the size of published models without their weights. It writes checkpoints that have
// the tensors of a published one, name by name, shape by shape, with weights drawn from a seed; and it opens such a
// folder as Sotto does, answers, and tells what that took and whether answers are the same however they are reached.
//
// The words of such a model mean nothing. Sizes, times and the equality of answers do.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const usage = `usage: fullsize write [flags] DIR    write a checkpoint into the new folder DIR
       fullsize check [flags] DIR    open it, answer, and tell as JSON what that took`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fullsize:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("%s", usage)
	}
	f := flag.NewFlagSet(args[0], flag.ExitOnError)
	switch args[0] {
	case "write":
		return runWrite(ctx, f, args[1:])
	case "check":
		return runCheck(ctx, f, args[1:])
	}
	return fmt.Errorf("%s", usage)
}

func runWrite(ctx context.Context, f *flag.FlagSet, args []string) error {
	config := f.String("config", "", "config.json of the model")
	tensors := f.String("tensors", "", "gzipped list of its tensors: a name, a dtype and a shape a line")
	seed := f.Uint64("seed", 1, "of the weights")
	shard := f.Int64("shard", shardBytes, "bytes of a weight file")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return fmt.Errorf("%s", usage)
	}
	c, err := readCheckpoint(*config, *tensors)
	if err != nil {
		return err
	}
	c.seed, c.shard = *seed, *shard
	return c.write(ctx, f.Arg(0), func(done, total int64) {
		fmt.Fprintf(os.Stderr, "writing: %d %% of %.1f GB\n", 100*done/total, float64(total)/1e9)
	})
}

func runCheck(ctx context.Context, f *flag.FlagSet, args []string) error {
	c := check{out: json.NewEncoder(os.Stdout)}
	f.IntVar(&c.tokens, "tokens", 8, "tokens of an answer")
	f.IntVar(&c.long, "long", 4000, "tokens of the prompt that is broken off")
	f.StringVar(&c.chunks, "chunks", "1,7", "chunks of a prompt to compare with the device's own")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return fmt.Errorf("%s", usage)
	}
	c.dir = f.Arg(0)
	return c.run(ctx)
}
