// Command macapp does what building Sotto.app takes beside the Go compiler: it writes the stubs to link with on another
// system than macOS, wraps the binary as an application bundle, signs it and checks the result, and draws the icon.
package main

import (
	"errors"
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

// steps are what macapp does, with how many arguments each takes.
var steps = map[string]struct {
	arguments int
	run       func(args []string) error
}{
	"sdk":          {3, writeSDK},
	"bundle":       {3, func(a []string) error { return bundle.Write(a[0], a[1], a[2]) }},
	"sign":         {1, func(a []string) error { return signBundle(a[0]) }},
	"check":        {1, func(a []string) error { return check(a[0], true) }},
	"check-native": {1, func(a []string) error { return check(a[0], false) }},
	"icon":         {1, func(a []string) error { return drawIcon(a[0]) }},
}

func run(args []string) error {
	if len(args) > 0 {
		if s, ok := steps[args[0]]; ok && len(args) == 1+s.arguments {
			return s.run(args[1:])
		}
	}
	return errors.New(usage)
}

func writeSDK(args []string) error {
	facts, err := api.Load()
	if err != nil {
		return err
	}
	return sdk.Write(args[0], sdk.Sources{Facts: facts, Darwinkit: args[1], GoRoot: args[2]})
}

func signBundle(app string) error {
	info, err := bundle.InfoOf(app)
	if err != nil {
		return err
	}
	return sign.Bundle(app, info.Executable, info.Identifier)
}

func check(app string, linked bool) error {
	facts, err := api.Load()
	if err != nil {
		return err
	}
	return bundle.Check(app, facts, linked)
}

func drawIcon(name string) error {
	b, err := icon.PNG(icon.Draw(512))
	if err != nil {
		return err
	}
	return os.WriteFile(name, b, 0o644)
}
