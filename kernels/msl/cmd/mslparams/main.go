// Command mslparams writes kernels/params.h from the Go types of package kernels. It is to be run from the root of the
// tree after a parameter struct has changed; a file that is current is left alone.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"sotto/kernels/msl/params"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "mslparams:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	text, err := params.Header()
	if err != nil {
		return err
	}
	path := filepath.Join(root, "kernels", "params.h")
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return nil
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
