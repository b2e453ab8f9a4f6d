//go:build darwin || gnustep

package ui

import (
	"io"
	"runtime"
	"sync"

	"github.com/progrium/darwinkit/dispatch"
	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/macos/foundation"
	"github.com/progrium/darwinkit/objc"

	"sotto/app/screen"
	"sotto/ui/kit"
)

// windows is everything that is on the screen. It belongs to the main thread.
type windows struct {
	port   screen.Port
	ledger kit.Ledger
	scope  *kit.Scope // of what lives as long as the program
	app    appkit.Application

	chat     *chat // nil while closed
	quick    *quick
	status   *status
	service  *service
	settings *settings

	leaving bool // QuitNow came
	asked   bool // AppKit waits for the answer to its question whether to end
	ended   func()
	tracer  *tracer // nil: nobody asked
}

// Options are what may be given to [Run].
type Options struct {
	Ended func()    // called last
	Trace io.Writer // gets a [Snapshot] after every change, if not nil
}

// Run shows the windows of a running app until it ends the program. It must be called on the process's first thread and
// does not return: AppKit leaves the process.
func Run(port screen.Port, o Options) {
	runtime.LockOSThread()
	w := &windows{port: port, app: appkit.Application_SharedApplication(), ended: o.Ended}
	if o.Trace != nil {
		w.tracer = &tracer{to: o.Trace}
	}
	w.scope = kit.NewScope(&w.ledger)
	d := &appkit.ApplicationDelegate{}
	d.SetApplicationWillFinishLaunching(func(foundation.Notification) { w.build() })
	d.SetApplicationDidFinishLaunching(func(foundation.Notification) { w.start() })
	d.SetApplicationShouldTerminate(func(appkit.Application) appkit.ApplicationTerminateReply {
		if w.leaving {
			return appkit.TerminateNow
		}
		w.asked = true
		port.Send(screen.Quit{})
		return appkit.TerminateLater
	})
	d.SetApplicationWillTerminate(func(foundation.Notification) { w.end() })
	d.SetApplicationShouldTerminateAfterLastWindowClosed(func(appkit.Application) bool { return false })
	d.SetApplicationShouldHandleReopenHasVisibleWindows(func(_ appkit.Application, visible bool) bool {
		if !visible {
			port.Send(screen.OpenWindow{})
		}
		return true
	})
	// The words of the command line are no documents.
	foundation.UserDefaults_StandardUserDefaults().RegisterDefaults(
		map[string]objc.IObject{"NSTreatUnknownArgumentsAsOpen": foundation.String_StringWithString("NO")})
	d.SetApplicationOpenFile(func(appkit.Application, string) bool { return true })
	w.scope.ApplicationDelegate(w.app, d)
	w.app.Run()
}

// build makes what is there from the start.
func (w *windows) build() {
	kit.Optional(w.app, objc.Sel("setActivationPolicy:"), appkit.ApplicationActivationPolicyRegular)
	w.app.SetMainMenu(newMainMenu(w))
	w.status = newStatus(w.scope, w.port.Send)
	w.service = newService(w.scope, w.port.Send)
}

// start begins to draw and to obey.
func (w *windows) start() {
	onMain := dispatch.MainQueue().DispatchAsync
	w.draw()
	go kit.Pump(w.port.Changed(), make(chan struct{}), onMain, w.draw)
	go func() {
		for c := range w.port.Commands() {
			var done sync.WaitGroup
			done.Add(1)
			onMain(func() {
				defer done.Done()
				w.draw()
				w.obey(c)
			})
			done.Wait()
		}
	}()
	w.app.SetServicesProvider(w.service.provider)
	w.port.Send(screen.OpenWindow{})
}

// draw brings everything in line with the newest view.
func (w *windows) draw() {
	v := w.port.View()
	switch {
	case v.Chat.Open && w.chat == nil:
		w.chat = newChat(&w.ledger, w.port.Send)
		w.chat.show(v.Chat)
		w.chat.raise()
	case v.Chat.Open:
		w.chat.show(v.Chat)
	case w.chat != nil:
		w.chat.close()
		w.chat = nil
	}
	w.drawQuick(v.Quick)
	w.status.show(v.Status)
	w.service.show(v.Service)
	w.drawSettings(v.Settings)
	w.trace()
}

func (w *windows) drawQuick(v screen.QuickView) {
	switch {
	case v.Open && w.quick == nil:
		w.quick = newQuick(&w.ledger, w.port.Send)
		w.quick.show(v)
		w.quick.raise()
	case v.Open:
		w.quick.show(v)
	case w.quick != nil:
		w.quick.close()
		w.quick = nil
	}
}

func (w *windows) drawSettings(v screen.SettingsView) {
	switch {
	case v.Open && w.settings == nil:
		w.settings = newSettings(&w.ledger, w.port.Send)
		w.settings.show(v)
		w.settings.raise()
	case v.Open:
		w.settings.show(v)
	case w.settings != nil:
		w.settings.close()
		w.settings = nil
	}
}

// obey carries out what only a front end can do.
func (w *windows) obey(c screen.Command) { //nolint:gocyclo // a line for each command
	switch c := c.(type) {
	case screen.ShowWindow:
		if w.chat != nil {
			w.chat.raise()
		}
	case screen.FocusComposer:
		if w.chat != nil {
			w.chat.focus()
		}
	case screen.ShowQuick:
		if w.quick != nil {
			w.quick.raise()
		}
	case screen.ShowService:
		w.service.raise()
	case screen.ShowSettings:
		if w.settings != nil {
			w.settings.raise()
		}
	case screen.AskFolder:
		askFolder(w.port.Send)
	case screen.HideQuick, screen.HideService: // the view says so too
	case screen.Copy:
		copyText(appkit.Pasteboard_GeneralPasteboard(), c.Text)
	case screen.ReplaceSelection:
		w.service.answer(c.Call, &c.Text)
	case screen.CallDone:
		w.service.answer(c.Call, nil)
	case screen.OpenURL:
		appkit.Workspace_SharedWorkspace().OpenURL(foundation.URL_URLWithString(kit.Clean(c.URL)))
	case screen.Beep:
		beep()
	case screen.QuitLater:
		w.quitLater()
	case screen.QuitNow:
		w.quitNow()
	}
}

// quitNow ends the program: everything is saved.
func (w *windows) quitNow() {
	w.leaving = true
	w.service.answerAll()
	if w.asked {
		w.app.ReplyToApplicationShouldTerminate(true)
		return
	}
	w.app.Terminate(nil)
}

// quitLater answers AppKit's question: until then it serves the events of panels alone, and asks no second time.
func (w *windows) quitLater() {
	if w.asked {
		w.asked = false
		w.app.ReplyToApplicationShouldTerminate(false)
	}
}

// end is the last that runs.
func (w *windows) end() {
	if w.ended != nil {
		w.ended()
	}
}

// copyText puts text on a pasteboard.
func copyText(p appkit.Pasteboard, text string) {
	p.ClearContents()
	p.DeclareTypesOwner([]appkit.PasteboardType{pasteboardString}, nil)
	p.SetStringForType(kit.Clean(text), pasteboardString)
}
