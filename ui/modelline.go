package ui

import "sotto/app/screen"

// modelLine is the line under the composer: the model, and why nothing can be sent or what is to be known about it.
func modelLine(v screen.ChatView) string {
	line, more := v.Model.Text, v.Model.Note
	if v.Model.Retry {
		line = "No model is open" // why is told above the messages
	}
	if v.Composer.Why != "" && !v.CanStop {
		more = v.Composer.Why
	}
	if more == "" {
		return line
	}
	return line + "  ·  " + more
}
