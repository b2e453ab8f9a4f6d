//go:build darwin || gnustep

package ui

import (
	"strings"

	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/macos/foundation"

	"sotto/app/screen"
	"sotto/ui/kit"
)

// chat is the chat window. It exists while the window is open.
type chat struct {
	scope  *kit.Scope
	send   func(screen.Msg)
	window appkit.Window
	view   screen.ChatView

	divider                appkit.Box
	newChat, undoButton    appkit.Button
	undoText, listEmpty    appkit.TextField
	list                   *chatList
	notice                 appkit.TextField
	noticeButton           appkit.Button
	otherModel             appkit.Button // beside it where a model has failed
	noticeText             string        // of the notice, and its words
	noticeWords            words
	transcript             *transcript
	emptyTitle, emptyText  appkit.TextField
	composer               *composer
	sendButton, cancelEdit appkit.Button
	model                  appkit.TextField
}

// newChat makes the chat window.
func newChat(l *kit.Ledger, send func(screen.Msg)) *chat {
	s := kit.NewScope(l)
	c := &chat{scope: s, send: send}
	c.window = kit.Hold(s, appkit.NewWindowWithContentRectStyleMaskBackingDefer(
		kit.Frame{X: 160, Y: 120, W: chatWidth, H: chatHeight}.Rect(),
		appkit.WindowStyleMaskTitled|appkit.WindowStyleMaskClosable|appkit.WindowStyleMaskResizable|
			appkit.WindowStyleMaskMiniaturizable, appkit.BackingStoreBuffered, false))
	c.window.SetReleasedWhenClosed(false)
	s.OnClose(func() { c.window.Close() })
	c.window.SetMinSize(foundation.Size{Width: chatMinWidth, Height: chatMinHeight})
	c.window.SetTitle("Sotto")
	c.build()
	d := &appkit.WindowDelegate{}
	d.SetWindowDidResize(func(foundation.Notification) { c.layout() })
	d.SetWindowShouldClose(func(appkit.Window) bool {
		send(screen.WindowClosed{}) // the view that follows takes the window away
		return false
	})
	s.WindowDelegate(c.window, d)
	return c
}

// build makes the parts of the window.
func (c *chat) build() {
	s, send := c.scope, c.send
	c.divider = s.NewLine()
	c.newChat = s.NewButton("New Chat", func() { send(screen.NewChat{}) })
	c.list = newChatList(s, send)
	c.listEmpty = s.NewLabel(quiet)
	c.undoText = s.NewLabel(quiet)
	c.undoButton = s.NewButton("Undo", func() { send(screen.UndoDelete{}) })
	c.notice = s.NewLabel(body)
	kit.Wrap(c.notice)
	c.noticeButton = s.NewButton("Try Again", func() { c.noticeAction() })
	c.otherModel = s.NewButton("Settings…", func() { send(screen.OpenSettings{}) })
	c.transcript = newTranscript(s, send)
	c.emptyTitle = s.NewHint(kit.Face{Size: 20, Bold: true, Ink: kit.InkSecondary})
	c.emptyText = s.NewHint(kit.Face{Size: bodySize, Ink: kit.InkSecondary})
	kit.Wrap(c.emptyText)
	c.emptyTitle.SetAlignment(appkit.TextAlignmentCenter)
	c.emptyText.SetAlignment(appkit.TextAlignmentCenter)
	c.composer = newComposer(s, composerInset, composerEvents{
		changed: func(text string) {
			send(screen.ComposerChanged{Text: text, Rev: c.composer.rev})
			c.layout()
		},
		send:   func(text string) { send(screen.Send{Text: text, Rev: c.composer.rev}) },
		escape: c.escape,
	})
	c.sendButton = s.NewButton("Send", func() {
		if c.view.CanStop {
			send(screen.Stop{})
		} else {
			send(screen.Send{Text: c.composer.text.String(), Rev: c.composer.rev})
		}
	})
	c.cancelEdit = s.NewButton("Cancel", func() { send(screen.CancelEdit{}) })
	c.model = s.NewLabel(quiet)
	content := c.window.ContentView()
	for _, v := range []appkit.IView{
		c.divider, c.newChat, c.list.scroll, c.listEmpty, c.undoText, c.undoButton, c.notice,
		c.noticeButton, c.otherModel, c.transcript.scroll, c.composer.scroll,
		c.sendButton, c.cancelEdit, c.model,
	} {
		content.AddSubview(v)
	}
	c.transcript.text.AddSubview(c.emptyTitle) // views side by side must not overlap
	c.transcript.text.AddSubview(c.emptyText)
}

// noticeAction is what the button beside a notice does.
func (c *chat) noticeAction() {
	if c.view.Model.Retry {
		c.send(screen.RetryModel{})
	} else {
		c.send(screen.DismissNotice{})
	}
}

// escape is what Escape does in the composer.
func (c *chat) escape() {
	switch {
	case c.view.CanStop:
		c.send(screen.Stop{})
	case c.view.Composer.Editing:
		c.send(screen.CancelEdit{})
	}
}

// noticeOf returns the line above the transcript and what its button says.
func noticeOf(v screen.ChatView) (text, button string) {
	switch {
	case v.Model.Retry:
		return v.Model.Text, "Try Again"
	case v.Notice != "":
		return v.Notice, "OK"
	default:
		return "", ""
	}
}

// show draws a view.
func (c *chat) show(v screen.ChatView) {
	c.view = v
	if title := kit.Clean(v.Title); c.window.Title() != title {
		c.window.SetTitle(title)
	}
	c.list.show(v.Sidebar)
	kit.SetText(c.listEmpty, v.Sidebar.Empty)
	text, button := noticeOf(v)
	c.showNotice(text)
	if button != "" {
		c.noticeButton.SetTitle(button)
	}
	c.transcript.show(v.Transcript.Conversation, v.Transcript.Messages)
	empty := len(v.Transcript.Messages) == 0 && !v.Transcript.Loading
	kit.SetHidden(c.emptyTitle, !empty)
	kit.SetHidden(c.emptyText, !empty)
	kit.SetText(c.emptyTitle, v.Transcript.EmptyTitle)
	kit.SetText(c.emptyText, v.Transcript.EmptyText)
	c.composer.show(v.Composer.Text, v.Composer.Rev, v.Composer.Placeholder)
	c.showButtons(v)
	c.layout()
}

// showNotice sets the notice's text and measures it.
func (c *chat) showNotice(text string) {
	if text == c.noticeText {
		return
	}
	c.noticeText, c.noticeWords = text, words{space: kit.Width("n n", body) - kit.Width("nn", body)}
	for _, word := range strings.Fields(text) {
		c.noticeWords.widths = append(c.noticeWords.widths, kit.Width(word, body))
	}
	kit.SetText(c.notice, text)
}

func (c *chat) showButtons(v screen.ChatView) {
	title, enabled := "Send", v.Composer.CanSend
	if v.CanStop {
		title, enabled = "Stop", true
	}
	if c.sendButton.Title() != title {
		c.sendButton.SetTitle(title)
	}
	if c.sendButton.IsEnabled() != enabled {
		c.sendButton.SetEnabled(enabled)
	}
	kit.SetHidden(c.cancelEdit, !v.Composer.Editing)
	kit.SetHidden(c.undoText, v.Sidebar.Undo == "")
	kit.SetHidden(c.undoButton, v.Sidebar.Undo == "")
	kit.SetHidden(c.listEmpty, v.Sidebar.Empty == "")
	text, button := noticeOf(v)
	kit.SetHidden(c.notice, text == "")
	kit.SetHidden(c.noticeButton, button == "")
	kit.SetHidden(c.otherModel, !v.Model.Retry)
}

// layout places the parts.
func (c *chat) layout() {
	size := c.window.ContentView().Frame().Size
	_, button := noticeOf(c.view)
	f := layoutChat(size.Width, size.Height, chatShape{
		composerText: c.composer.height(), notice: c.noticeWords, noticeButton: button != "",
		otherModel: c.view.Model.Retry,
		undo:       c.view.Sidebar.Undo != "", editing: c.view.Composer.Editing,
	})
	kit.Place(c.divider, f.divider)
	kit.Place(c.newChat, f.newChat)
	kit.Place(c.list.scroll, f.list)
	c.list.fit(f.list.W)
	kit.Place(c.listEmpty, f.listEmpty)
	kit.Place(c.undoText, f.undoText)
	kit.SetText(c.undoText, kit.Fit(c.view.Sidebar.Undo, quiet, f.undoText.W-8))
	kit.Place(c.undoButton, f.undoButton)
	kit.Place(c.notice, f.noticeText)
	kit.Place(c.noticeButton, f.noticeButton)
	kit.Place(c.otherModel, f.otherModel)
	kit.PlaceText(c.transcript.scroll, c.transcript.text, f.transcript)
	kit.Place(c.emptyTitle, f.emptyTitle)
	kit.Place(c.emptyText, f.emptyText)
	kit.PlaceText(c.composer.scroll, c.composer.text, f.composer)
	kit.Place(c.sendButton, f.send)
	kit.Place(c.cancelEdit, f.cancelEdit)
	kit.Place(c.model, f.model)
	kit.SetText(c.model, kit.Fit(modelLine(c.view), quiet, f.model.W-8))
}

// raise brings the window to the front with the cursor in the composer.
func (c *chat) raise() {
	c.window.MakeKeyAndOrderFront(nil)
	appkit.Application_SharedApplication().ActivateIgnoringOtherApps(true)
	c.focus()
}

// focus puts the cursor at the end of the composer's text.
func (c *chat) focus() {
	c.window.MakeFirstResponder(c.composer.text)
	c.composer.text.SetSelectedRange(foundation.Range{Location: uint64(c.composer.text.TextStorage().Length())})
}

// close takes the window away for good.
func (c *chat) close() {
	c.scope.Close()
}
