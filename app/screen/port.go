package screen

// Port is what a front end holds of a running app. All methods may be called on the main thread: none of them waits
// for the engine or the disk.
type Port interface {
	// Send hands in a message. After the app has ended messages are dropped.
	Send(Msg)
	// View is the newest view; never nil, never changed once returned.
	View() *View
	// Changed holds one signal when View has changed since the last signal was taken. A front end takes it and draws at
	// most once a frame.
	Changed() <-chan struct{}
	// Commands are what only a front end can do, in order. The channel is closed after [QuitNow].
	Commands() <-chan Command
}

// Command is something that only a front end can carry out.
type Command interface{ command() }

// Commands. Panels and windows are also told open or closed by the view; these say when to raise and focus them.
type (
	// ShowWindow brings the chat window to the front, with the cursor in the composer.
	ShowWindow struct{}
	// ShowQuick opens the quick prompt over what is in front, with the cursor in its field.
	ShowQuick struct{}
	// HideQuick takes the quick prompt away.
	HideQuick struct{}
	// ShowService opens the panel of a service call.
	ShowService struct{}
	// HideService takes it away.
	HideService struct{}
	// ShowSettings brings the settings to the front.
	ShowSettings struct{}
	// AskFolder opens the system's panel for the choice of a folder: [FolderChosen].
	AskFolder struct{}
	// FocusComposer puts the cursor at the end of the composer's text.
	FocusComposer struct{}
	// Copy puts text on the pasteboard.
	Copy struct{ Text string }
	// ReplaceSelection answers service call Call: Text takes the place of the selected text.
	ReplaceSelection struct {
		Call int
		Text string
	}
	// CallDone says that service call Call gets no text.
	CallDone struct{ Call int }
	// OpenURL opens a link that the user clicked in the system's browser; only http, https and mailto.
	OpenURL struct{ URL string }
	// Beep says that a message could not be obeyed.
	Beep struct{}
	// QuitLater takes the user's wish to quit back: something could not be saved, or not yet. Another Quit may follow.
	QuitLater struct{}
	// QuitNow ends the program: everything is saved. It is the last command.
	QuitNow struct{}
)

func (ShowWindow) command()       {}
func (ShowQuick) command()        {}
func (HideQuick) command()        {}
func (ShowService) command()      {}
func (HideService) command()      {}
func (ShowSettings) command()     {}
func (AskFolder) command()        {}
func (FocusComposer) command()    {}
func (Copy) command()             {}
func (ReplaceSelection) command() {}
func (CallDone) command()         {}
func (OpenURL) command()          {}
func (Beep) command()             {}
func (QuitLater) command()        {}
func (QuitNow) command()          {}
