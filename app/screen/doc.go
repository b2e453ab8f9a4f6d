// Package screen holds all behaviour of the front ends as pure functions: a [State] that [Update] changes by messages,
// the [Effect] values that the owner of the state carries out, and the [View] that a front end draws.
//
// One state serves all doors: the chat window, the quick prompt, the status item, a service call on selected text and
// the settings. Nothing here does I/O, reads a clock or starts a goroutine; time comes in messages. A State and a View
// are values: what was handed out is never changed again, so views may be read on any thread. A view says what to
// show in words that are ready to draw; where things lie on the screen is the front end's business.
package screen
