package screen

import "time"

// quitting is the way out: stop what runs, save, leave.
type quitting struct {
	asked    bool
	since    time.Time
	flushing bool
	force    bool // saving has failed once: leave even if it fails again
	slow     bool // the user was told that saving takes long
	done     bool
}

const (
	// quitWait is how long answers get to stop.
	quitWait = 3 * time.Second
	// quitAgain is after how long a second Quit leaves without waiting for the disk.
	quitAgain = 5 * time.Second
)

// askQuit begins the way out.
func (u *step) askQuit() {
	if u.quit.asked {
		if !u.now.Before(u.quit.since.Add(quitAgain)) {
			u.leave()
		}
		return
	}
	u.quit.asked, u.quit.since = true, u.now
	u.endCall()
	u.stopAll()
}

func (u *step) stopAll() {
	for _, j := range u.jobs {
		u.stop(j)
	}
}

// finishQuit saves when the answers have ended, or have had their time.
func (u *step) finishQuit() {
	if !u.quit.asked || u.quit.flushing || len(u.jobs) > 0 && u.now.Before(u.quit.since.Add(quitWait)) {
		return
	}
	for _, j := range u.jobs {
		u.abandon(j)
	}
	u.emptyBin()
	u.takePort()
	u.dirty.desk = true
	u.saveDirty()
	u.quit.flushing = true
	u.do(Flush{})
}

// tickQuit tells the user that the disk does not answer.
func (u *step) tickQuit() {
	if u.quit.flushing && !u.quit.slow && !u.now.Before(u.quit.since.Add(quitAgain)) {
		u.quit.slow = true
		u.notice = "Saving takes longer than it should. Quit again to leave without it."
		u.ui(QuitLater{})
		u.openWindow()
	}
}

// flushed leaves if everything is saved, or if the user was told before that it is not.
func (u *step) flushed(err error) {
	switch {
	case !u.quit.asked:
	case err == nil || u.quit.force:
		u.leave()
	default:
		u.quit = quitting{force: true}
		u.notice = "Not everything could be saved: " + err.Error() + ". Quit again to leave without it."
		u.ui(QuitLater{})
		u.openWindow()
	}
}

func (u *step) leave() {
	if !u.quit.done {
		u.quit.done = true
		u.ui(QuitNow{})
	}
}
