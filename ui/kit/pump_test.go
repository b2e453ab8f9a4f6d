package kit

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPumpDrawsOnceAFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changed, stop := make(chan struct{}, 1), make(chan struct{})
		drawn := 0
		go Pump(changed, stop, func(f func()) { go f() }, func() { drawn++ })
		for range 1000 { // one change a millisecond
			select {
			case changed <- struct{}{}:
			default:
			}
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		if drawn < 50 || drawn > 61 {
			t.Errorf("drew %d times in a second, want about 60", drawn)
		}
		close(stop)
	})
}

func TestPumpWaitsForASlowMainThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changed, stop := make(chan struct{}, 1), make(chan struct{})
		var queued []func()
		go Pump(changed, stop, func(f func()) { queued = append(queued, f) }, func() {})
		for range 5 {
			select {
			case changed <- struct{}{}:
			default:
			}
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if len(queued) != 1 {
			t.Errorf("%d drawings wait for the main thread, want 1", len(queued))
		}
		close(stop)
	})
}

func TestPumpDrawsTheLastChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changed, stop := make(chan struct{}, 1), make(chan struct{})
		var value, drawn atomic.Int64
		go Pump(changed, stop, func(f func()) { go f() }, func() { drawn.Store(value.Load()) })
		for i := range 3 {
			value.Store(int64(i + 1))
			select {
			case changed <- struct{}{}:
			default:
			}
			synctest.Wait()
		}
		time.Sleep(time.Second)
		if got := drawn.Load(); got != 3 {
			t.Errorf("drew %d last, want 3", got)
		}
		close(stop)
	})
}
