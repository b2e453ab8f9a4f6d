package params

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"

	"sotto/kernels"
)

// Stamp is a hash of everything that a kernel library and the program that calls it must agree about: the sources in
// the kernels' folder, the parameter structs as Go lays them out, and the argument lists of the catalogue. The build
// writes it into the library; a driver compares it with that of [kernels.Tree].
func Stamp(tree fs.FS) (string, error) {
	h := sha256.New()
	for _, pattern := range []string{
		"*.metal", "common/*.h", "params.h", "msl/rt/*.cpp", "msl/rt/*.h", "msl/shim/*.h",
	} {
		files, err := fs.Glob(tree, pattern)
		if err != nil {
			return "", err
		}
		if len(files) == 0 {
			return "", fmt.Errorf("no %s among the kernels' sources", pattern)
		}
		slices.Sort(files)
		for _, name := range files {
			text, err := fs.ReadFile(tree, name)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
		}
	}
	header, err := Header()
	if err != nil {
		return "", err
	}
	fmt.Fprint(h, header)
	for _, k := range kernels.All() {
		fmt.Fprintf(h, "%s %s %T %v\n", k.Name, k.File, k.Params, k.Args)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
