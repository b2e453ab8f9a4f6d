//go:build darwin || gnustep

package ui

import (
	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/macos/foundation"

	"sotto/app/screen"
	"sotto/ui/kit"
)

// settings is the window of the settings. It exists while it is open.
type settings struct {
	scope   *kit.Scope
	window  appkit.Window
	view    screen.SettingsView
	showing bool // controls are being set from a view

	labels  [settingsRows]appkit.TextField
	model   appkit.PopUpButton
	models  []screen.ModelChoice
	fields  map[screen.Field]*settingsField
	api     appkit.Button
	apiText appkit.TextField
}

// chooseFolder is the last item of the list of models.
const chooseFolder = "Choose Folder…"

// settingsField is a text field of the settings with the line that says what is wrong with it.
type settingsField struct {
	input *composer
	fault appkit.TextField
}

func newSettings(l *kit.Ledger, send func(screen.Msg)) *settings {
	s := kit.NewScope(l)
	w := &settings{scope: s, fields: map[screen.Field]*settingsField{}}
	w.window = kit.Hold(s, appkit.NewWindowWithContentRectStyleMaskBackingDefer(
		kit.Frame{X: 240, Y: 200, W: settingsWidth, H: settingsHeight}.Rect(),
		appkit.WindowStyleMaskTitled|appkit.WindowStyleMaskClosable, appkit.BackingStoreBuffered, false))
	w.window.SetReleasedWhenClosed(false)
	s.OnClose(func() { w.window.Close() })
	w.window.SetTitle("Settings")
	content := w.window.ContentView()
	for i, title := range settingsLabels {
		w.labels[i] = s.NewLabel(body)
		w.labels[i].SetStringValue(title)
		w.labels[i].SetAlignment(appkit.TextAlignmentRight)
		content.AddSubview(w.labels[i])
	}
	w.model = kit.Hold(s, appkit.NewPopUpButtonWithFramePullsDown(foundation.Rect{}, false))
	s.Action(w.model, func() {
		i := w.model.IndexOfSelectedItem()
		switch {
		case w.showing || i < 0:
		case i < len(w.models):
			send(screen.SetModel{Name: w.models[i].Name})
		default: // the last item
			w.show(w.view)
			send(screen.ChooseFolder{})
		}
	})
	content.AddSubview(w.model)
	for _, f := range settingsFields {
		field := w.newField(f, send)
		w.fields[f] = field
		for _, v := range []appkit.IView{field.input.scroll, field.fault} {
			content.AddSubview(v)
		}
	}
	w.api = kit.Hold(s, appkit.NewButtonWithFrame(foundation.Rect{}))
	w.api.SetButtonType(appkit.ButtonTypeSwitch)
	w.api.SetTitle("Serve other programs on this machine")
	s.Action(w.api, func() { send(screen.SetAPI{On: w.api.State() == appkit.ControlStateValueOn}) })
	w.apiText = s.NewLabel(quiet)
	content.AddSubview(w.api)
	content.AddSubview(w.apiText)
	d := &appkit.WindowDelegate{}
	d.SetWindowShouldClose(func(appkit.Window) bool {
		send(screen.SettingsClosed{})
		return false
	})
	d.SetWindowDidResignKey(func(foundation.Notification) { send(screen.FieldDone{Field: screen.FieldPort}) })
	s.WindowDelegate(w.window, d)
	w.layout()
	w.window.Center()
	return w
}

func (w *settings) newField(f screen.Field, send func(screen.Msg)) *settingsField {
	field := &settingsField{fault: w.scope.NewLabel(kit.Face{Size: smallSize, Ink: kit.InkError})}
	field.input = newComposer(w.scope, fieldInset, composerEvents{
		changed: func(text string) { send(screen.SetField{Field: f, Text: text}) },
		send: func(string) {
			send(screen.FieldDone{Field: f})
			w.window.SelectNextKeyView(nil)
		},
		escape: func() { send(screen.SettingsClosed{}) },
		done:   func() { send(screen.FieldDone{Field: f}) },
	})
	if f != screen.FieldSystem {
		field.input.single = true
		field.input.scroll.SetHasVerticalScroller(false)
	}
	return field
}

// show draws a view.
func (w *settings) show(v screen.SettingsView) {
	w.view = v
	w.showing = true
	defer func() { w.showing = false }()
	if !equalChoices(w.models, v.Models) {
		w.models = v.Models
		w.model.RemoveAllItems()
		for _, m := range v.Models {
			w.model.AddItemWithTitle(kit.Clean(m.Title))
		}
		w.model.AddItemWithTitle(chooseFolder)
	}
	for i, m := range v.Models {
		if m.Name == v.Model && w.model.IndexOfSelectedItem() != i {
			w.model.SelectItemAtIndex(i)
		}
	}
	for f, view := range map[screen.Field]screen.FieldView{
		screen.FieldSystem: v.System, screen.FieldTemperature: v.Temperature,
		screen.FieldMaxTokens: v.MaxTokens, screen.FieldPort: v.Port,
	} {
		w.fields[f].input.show(view.Text, view.Rev, view.Placeholder)
		kit.SetText(w.fields[f].fault, view.Error)
	}
	state := appkit.ControlStateValueOff
	if v.APIOn {
		state = appkit.ControlStateValueOn
	}
	w.api.SetState(state)
	kit.SetText(w.apiText, v.APIText)
}

func (w *settings) layout() {
	f := layoutSettings(settingsWidth, settingsHeight)
	for i, l := range w.labels {
		kit.Place(l, f.labels[i])
	}
	kit.Place(w.model, f.model)
	for field, v := range w.fields {
		at := f.fields[field]
		kit.PlaceText(v.input.scroll, v.input.text, at.input)
		kit.Place(v.fault, at.fault)
	}
	kit.Place(w.api, f.api)
	kit.Place(w.apiText, f.apiText)
}

func (w *settings) raise() {
	w.window.MakeKeyAndOrderFront(nil)
	appkit.Application_SharedApplication().ActivateIgnoringOtherApps(true)
}

func (w *settings) close() {
	w.scope.Close()
}
