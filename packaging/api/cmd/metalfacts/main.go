// Command metalfacts writes the facts of the simulated Metal runtime anew, after a change of facts.json.gz or
// since.txt.
//
//	metalfacts engine/gpu/metal/sim/facts.json
package main

import (
	"fmt"
	"os"

	"sotto/packaging/api"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "metalfacts:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("got %d arguments, want the file to write", len(args))
	}
	b, err := api.Metal()
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], b, 0o644)
}
