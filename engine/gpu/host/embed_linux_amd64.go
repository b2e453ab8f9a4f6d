package host

import "embed"

// fastDir holds the library that "make kernels" builds, or only a placeholder.
//
//go:embed all:lib/fast
var fastDir embed.FS

const fastPath = "lib/fast/sotto.so"
