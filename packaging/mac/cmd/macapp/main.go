// Command macapp does what building Sotto.app takes beside the Go compiler: it writes the stubs to link with on another
// system than macOS, wraps the binary as an application bundle, signs it and checks the result, and draws the icon.
package main

import (
	"fmt"
	"os"

	"sotto/packaging/api"
	"sotto/packaging/mac/bundle"
	"sotto/packaging/mac/icon"
	"sotto/packaging/mac/sdk"
	"sotto/packaging/mac/sign"
)

const usage = `usage: macapp WHAT ARGUMENT...

  sdk OUT DARWINKIT GOROOT     write headers and stubs of libraries into the folder OUT
  bundle APP BINARY INFO       make the bundle APP of a binary and Info.plist, without a signature
  sign APP                     give the bundle an ad-hoc signature (on a Mac use codesign)
  check APP                    check a bundle that was linked with our stubs and signed by macapp
  check-native APP             check a bundle that was made by a Mac's own tools
  icon PNG                     draw the icon as a picture`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "macapp:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	what, args := args[:min(1, len(args))], args[min(1, len(args)):]
	switch {
	case len(what) == 0:
	case what[0] == "sdk" && len(args) == 3:
		facts, err := api.Load()
		if err != nil {
			return err
		}
		return sdk.Write(args[0], sdk.Sources{Facts: facts, Darwinkit: args[1], GoRoot: args[2]})
	case what[0] == "bundle" && len(args) == 3:
		return bundle.Write(args[0], args[1], args[2])
	case what[0] == "sign" && len(args) == 1:
		info, err := bundle.InfoOf(args[0])
		if err != nil {
			return err
		}
		return sign.Bundle(args[0], info.Executable, info.Identifier)
	case (what[0] == "check" || what[0] == "check-native") && len(args) == 1:
		facts, err := api.Load()
		if err != nil {
			return err
		}
		return bundle.Check(args[0], facts, what[0] == "check")
	case what[0] == "icon" && len(args) == 1:
		b, err := icon.PNG(icon.Draw(512))
		if err != nil {
			return err
		}
		return os.WriteFile(args[0], b, 0o644)
	}
	return fmt.Errorf("%s", usage)
}
