package ui

import (
	"time"

	"sotto/app/screen"
)

// serviceWait is how long a program that called may be kept waiting for text to put in place of its selection. It is
// less than what Info.plist tells the system (NSTimeout).
const serviceWait = 110 * time.Second

// serviceReplaces is the NSUserData of a service that gives text back.
const serviceReplaces = "replace"

// verbs are the services, by the name that Info.plist gives their message.
var verbs = map[string]screen.ServiceKind{
	"explain": screen.Explain, "summarise": screen.Summarise, "proofread": screen.Proofread,
}
