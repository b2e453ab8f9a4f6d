package ui

import (
	"slices"

	"sotto/app/screen"
	"sotto/ui/kit"
)

// Sizes of the settings window in points.
const settingsWidth, settingsHeight = 660, 356

// Rows of the settings window from above.
const (
	rowModel = iota
	rowSystem
	rowTemperature
	rowMaxTokens
	rowAPI
	rowPort
	settingsRows
)

var (
	settingsLabels = [settingsRows]string{
		"Model:", "System prompt:", "Temperature:", "Longest answer:", "API:", "Port:",
	}
	settingsFields = []screen.Field{
		screen.FieldSystem, screen.FieldTemperature, screen.FieldMaxTokens, screen.FieldPort,
	}
)

// fieldFrames are the places of a text field and the line beside or under it.
type fieldFrames struct{ input, fault kit.Frame }

// settingsFrames are the places of the settings window's parts.
type settingsFrames struct {
	labels       [settingsRows]kit.Frame
	model        kit.Frame
	fields       map[screen.Field]fieldFrames
	api, apiText kit.Frame
}

func layoutSettings(w, h float64) settingsFrames {
	f := settingsFrames{fields: map[screen.Field]fieldFrames{}}
	rest := kit.Frame{W: w, H: h}.Inset(2*pad, 2*pad)
	row := func(i int, height float64) kit.Frame {
		var r, label kit.Frame
		r, rest = rest.Top(height)
		_, rest = rest.Top(pad)
		label, r = r.Left(120)
		label, _ = label.Top(buttonHeight)
		f.labels[i] = label.Middle(lineHeight)
		_, r = r.Left(pad)
		return r
	}
	f.model, _ = row(rowModel, buttonHeight).Left(260)
	system := row(rowSystem, 76)
	f.fields[screen.FieldSystem] = fieldFrames{input: system}
	number := func(i int, field screen.Field) {
		r := row(i, buttonHeight)
		input, side := r.Left(150)
		_, side = side.Left(pad)
		f.fields[field] = fieldFrames{input, side.Middle(lineHeight)}
	}
	number(rowTemperature, screen.FieldTemperature)
	number(rowMaxTokens, screen.FieldMaxTokens)
	api := row(rowAPI, buttonHeight+lineHeight)
	f.api, api = api.Top(buttonHeight)
	f.apiText = api
	number(rowPort, screen.FieldPort)
	return f
}

func equalChoices(a, b []screen.ModelChoice) bool { return slices.Equal(a, b) }
