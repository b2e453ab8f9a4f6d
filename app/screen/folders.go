package screen

import (
	"path"
	"slices"
	"strings"
)

// mostFolders is how many folders of models are kept to be chosen again.
const mostFolders = 8

// folders is what is known of the folders of models beside the stored settings.
type folders struct {
	asking bool     // for one, in the system's panel
	gone   []string // not there when they were looked for
}

// isFolder says whether the name of a model is the path of its folder.
func isFolder(name string) bool { return strings.Contains(name, "/") }

// modelTitle is what a model is called where it is shown.
func modelTitle(name string) string {
	if isFolder(name) {
		return path.Base(name)
	}
	return name
}

// ofModels takes the messages about the choice of a model.
func (u *step) ofModels(m Msg) bool {
	switch m := m.(type) {
	case SetModel:
		u.setModel(m.Name)
	case ChooseFolder:
		if !u.settings.folders.asking {
			u.settings.folders.asking = true
			u.ui(AskFolder{})
		}
	case FolderChosen:
		u.settings.folders.asking = false
		if m.Path != "" {
			u.setModel(path.Clean(m.Path))
		}
	case FoldersSeen:
		u.settings.folders.gone = m.Gone
	default:
		return false
	}
	return true
}

// setModel opens another model, in this run and those that follow. One that has failed is tried again.
func (u *step) setModel(name string) {
	if name == u.settings.chosen() && u.model.state != ModelHasFailed {
		return
	}
	u.settings.Model, u.settings.run = name, ""
	u.markSettings()
	u.saveDirty()
	u.loadModel()
}

// keepFolder keeps the folder of the model that has opened as the first of those to choose from. That of one run is not
// kept, nor is one in which there is no model.
func (u *step) keepFolder() {
	s := &u.settings
	s.folders.gone = slices.DeleteFunc(slices.Clone(s.folders.gone), func(f string) bool { return f == s.wanted() })
	if s.run != "" || !isFolder(s.Model) || len(s.Folders) > 0 && s.Folders[0] == s.Model {
		return
	}
	list := append([]string{s.Model}, slices.DeleteFunc(slices.Clone(s.Folders), func(f string) bool {
		return f == s.Model
	})...)
	s.Folders = list[:min(len(list), mostFolders)]
	u.saveSettings()
}

// wanted is the name of the model to open, "" for the default one.
func (s *settings) wanted() string {
	if s.run != "" {
		return s.run
	}
	return s.Model
}

// chosen is the name of the model to open among the choices.
func (s *settings) chosen() string {
	if name := s.wanted(); name != "" || len(s.models) == 0 {
		return name
	}
	return s.models[0].Name
}

// choices are the models that can be chosen: the built-in ones and folders. No two have the same title.
func (s *settings) choices() []ModelChoice {
	out, list := slices.Clone(s.models), slices.Clone(s.Folders)
	if name := s.wanted(); isFolder(name) && !slices.Contains(list, name) {
		list = append(list, name)
	}
	titles := map[string]int{}
	for _, m := range out {
		titles[m.Title]++
	}
	for _, f := range list {
		titles[modelTitle(f)]++
	}
	for _, f := range list {
		title := modelTitle(f)
		if titles[title] > 1 {
			title += " in " + path.Dir(f)
		}
		if slices.Contains(s.folders.gone, f) {
			title += " (gone)"
		}
		out = append(out, ModelChoice{f, title})
	}
	return out
}
