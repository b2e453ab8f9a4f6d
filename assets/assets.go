// Package assets embeds what every copy of Sotto carries: the built-in models. They were trained from nothing by
// the scripts under training; LICENSES.md names the source and licence of every file.
package assets

import (
	"embed"
	"io/fs"
)

//go:embed models
var models embed.FS

// Model returns the folder of a built-in model: config.json, weights and tokenizer.
func Model(name string) (fs.FS, error) {
	sub, err := fs.Sub(models, "models/"+name)
	if err != nil {
		return nil, err
	}
	if _, err := fs.Stat(sub, "config.json"); err != nil {
		return nil, err
	}
	return sub, nil
}
