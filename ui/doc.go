// Package ui is Sotto's windows, drawn with AppKit: the chat window, the quick prompt, the status item, the services on
// selected text and the settings, one file each. It is thin: it draws the views that app/screen makes and sends
// messages; it decides nothing. How text looks and where things lie is computed by pure functions in files without a
// build tag, which are tested on every system.
//
// The windows themselves need macOS, or Linux with the tag gnustep, where they are for working on them.
package ui
