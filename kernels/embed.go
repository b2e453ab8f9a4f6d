package kernels

import (
	"embed"
	"io/fs"
)

//go:embed *.metal common/*.h params.h
var sources embed.FS

//go:embed *.metal common/*.h params.h msl/rt/*.cpp msl/rt/*.h msl/shim/*.h
var tree embed.FS

// Tree is all that a library for this machine's processor is built from, by the names in this folder: [Sources], and
// what the build adds.
func Tree() fs.FS { return tree }

// Sources are the Metal sources by their names in this folder, for drivers that compile them at run time.
func Sources() fs.FS { return sources }
