//go:build darwin || gnustep

package ui

import (
	"github.com/progrium/darwinkit/macos/appkit"

	"sotto/app/screen"
	"sotto/ui/kit"
)

// askFolder opens the system's panel for the choice of a model's folder. Everything else goes on being drawn while it
// is open.
func askFolder(send func(screen.Msg)) {
	kit.Later(func() {
		p := appkit.OpenPanel_OpenPanel()
		p.SetTitle("Choose Folder")
		p.SetMessage("The folder of a model: config.json, a tokenizer and weights as mlx writes them.")
		p.SetPrompt("Choose")
		p.SetCanChooseDirectories(true)
		p.SetCanChooseFiles(false)
		p.SetAllowsMultipleSelection(false)
		path := ""
		if p.RunModal() == appkit.ModalResponseOK {
			path = p.URL().Path()
		}
		send(screen.FolderChosen{Path: path})
	})
}
