package screen

import (
	"fmt"
	"slices"
)

// status is the status item.
type status struct {
	open bool // its menu
	menu []MenuItem
	rev  int
}

// ofStatus takes the messages of the status item.
func (u *step) ofStatus(m Msg) bool {
	switch m := m.(type) {
	case MenuOpened:
		u.status.open = true
	case MenuClosed:
		u.status.open = false
	case MenuChosen:
		u.choose(m.ID)
	case StopAll:
		u.stopAll()
	case Quit:
		u.askQuit()
	default:
		return false
	}
	return true
}

func (u *step) choose(id MenuID) {
	switch id {
	case MenuOpen:
		u.openWindow()
	case MenuQuick:
		u.openQuick()
	case MenuStop:
		u.stopAll()
	case MenuAPI:
		u.ofSettings(SetAPI{On: !u.settings.API})
	case MenuSettings:
		u.openSettings()
	case MenuQuit:
		u.askQuit()
	default:
	}
}

// updateMenu makes the menu anew, unless it is open.
func (u *step) updateMenu() {
	if menu := u.menu(); !u.status.open && !slices.Equal(menu, u.status.menu) {
		u.status.menu = menu
		u.status.rev++
	}
}

// ours says whether a door is one of the front ends.
func ours(name string) bool {
	return name == inWindow.name() || name == inQuick.name() || name == inService.name()
}

// running is the answer that the engine works on: the oldest that it was asked for.
func (s *State) running() *job {
	for _, j := range s.jobs {
		if j.sent {
			return j
		}
	}
	return nil
}

func (s *State) menu() []MenuItem {
	api := MenuItem{ID: MenuAPI, Title: "API: off", Enabled: true, Checked: s.settings.API}
	switch {
	case s.settings.API && s.settings.apiErr != "":
		api.Title = "API: " + s.settings.apiErr
	case s.settings.API && s.settings.address != "":
		api.Title = "API: http://" + s.settings.address
	case s.settings.API:
		api.Title = "API: starting"
	}
	return []MenuItem{
		{ID: MenuText, Title: s.summary()},
		{ID: MenuSeparator},
		{ID: MenuOpen, Title: "Open Sotto", Enabled: true},
		{ID: MenuQuick, Title: "Quick Prompt…", Enabled: true},
		{ID: MenuStop, Title: "Stop", Enabled: len(s.jobs) > 0},
		{ID: MenuSeparator},
		api,
		{ID: MenuSettings, Title: "Settings…", Enabled: true},
		{ID: MenuSeparator},
		{ID: MenuQuit, Title: "Quit Sotto", Enabled: true},
	}
}

// summary says in a line what goes on. It has no figures that change all the time: the menu would change with them.
func (s *State) summary() string {
	switch j := s.running(); {
	case s.serving != "" && !ours(s.serving):
		return s.modelName() + " answers through the API"
	case j != nil:
		return fmt.Sprintf("%s answers in %s", s.modelName(), j.door.name())
	}
	switch s.model.state {
	case ModelIsLoading:
		return s.loading()
	case ModelIsReady:
		return s.modelName() + " is ready"
	case ModelHasFailed:
		return s.model.err
	default:
		return "Starting"
	}
}

func (s *State) modelName() string {
	if s.model.name == "" {
		return "the model"
	}
	return s.model.name
}

func (s *State) showStatus() StatusView {
	v := StatusView{Menu: s.status.menu, MenuRev: s.status.rev, Tooltip: "Sotto: " + s.summary()}
	j := s.running()
	switch {
	case s.model.state == ModelIsLoading:
		v.Icon = IconLoading
		if s.model.percent > 0 {
			v.Title = fmt.Sprintf("%d %%", s.model.percent)
		}
	case j != nil || s.serving != "" && !ours(s.serving):
		v.Icon = IconGenerating
		if j != nil && j.rate.shown > 0 {
			v.Title = rateText(j.rate.shown)
		}
	case s.model.state == ModelHasFailed || s.saveErr != "":
		v.Icon = IconError
	}
	if s.saveErr != "" {
		v.Tooltip = "Sotto: " + s.saveErr
	}
	return v
}
