package kit

import "time"

// FrameTime is the least time between two drawings.
const FrameTime = time.Second / 60

// Pump draws on the main thread whenever changed says so, at most once in FrameTime and never twice at the same time.
// It returns when stop is closed. onMain runs a function on the main thread soon and returns at once.
func Pump(changed, stop <-chan struct{}, onMain func(func()), draw func()) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	drawn := make(chan struct{}, 1)
	for {
		select {
		case <-stop:
			return
		case <-changed:
		}
		onMain(func() {
			draw()
			drawn <- struct{}{}
		})
		select {
		case <-stop:
			return
		case <-drawn:
		}
		timer.Reset(FrameTime)
		select {
		case <-stop:
			return
		case <-timer.C:
		}
	}
}
