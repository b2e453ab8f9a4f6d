//go:build !((darwin && cgo) || gnustep)

package main

import "github.com/spf13/cobra"

// addWindow adds nothing: this build has no windows.
func addWindow(*cobra.Command, terminal) {}
