package ui

import "sotto/app/screen"

// statusTitle is what the menu bar shows: a sign and, where there is one, a figure.
func statusTitle(v screen.StatusView) string {
	sign := map[screen.StatusIcon]string{
		screen.IconIdle: "◇", screen.IconLoading: "◔", screen.IconGenerating: "◆", screen.IconError: "⚠",
	}[v.Icon]
	if v.Title == "" {
		return sign
	}
	return sign + " " + v.Title
}
