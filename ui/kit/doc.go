// Package kit is what every window needs of AppKit, written once: objects that stay alive as long as their window,
// delegates and data sources, actions, the one hop to the main thread, colours and fonts by role, and methods that not
// every system has.
//
// Everything here but [Pump] and the frames belongs to the main thread. An Objective-C object is owned by exactly one
// [Scope]; closing it detaches every delegate before anything is released. Frames are pure arithmetic and tested on
// every system. The package knows nothing of what the windows show.
package kit
