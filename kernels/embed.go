package kernels

import (
	"embed"
	"io/fs"
)

//go:embed *.metal common/*.h params.h
var sources embed.FS

// Sources are the Metal sources by their names in this folder, for drivers that compile them at run time.
func Sources() fs.FS { return sources }
