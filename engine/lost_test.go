package engine

import (
	"context"
	"errors"
	"testing"

	"sotto/engine/gpu"
	"sotto/engine/gpu/host"
)

// losable is a device that is lost after so many waits.
type losable struct {
	gpu.Device
	waits int
	gone  bool
}

func (d *losable) Wait(ctx context.Context, n uint64) error {
	err := d.Device.Wait(ctx, n)
	if d.waits--; d.waits <= 0 || d.gone {
		d.gone = true
		return &gpu.Error{Op: "wait", Err: gpu.ErrLost}
	}
	return err
}

func (d *losable) Submit(x gpu.Exec, step gpu.Buffer) (uint64, error) {
	if d.gone {
		return 0, &gpu.Error{Op: "submit", Err: gpu.ErrLost}
	}
	return d.Device.Submit(x, step)
}

// TestLostDevice loses the device in every phase of an answer: the request fails, the next one is served by a device
// opened again, as if nothing had been.
func TestLostDevice(t *testing.T) {
	r := Request{Messages: user("Hello! What can you do?"), MaxTokens: 20}
	want := ask(t, t.Context(), open(t, nil).NewSession(), r, nil).Text
	for _, waits := range []int{1, 2, 5, 9} {
		opened, refuse := 0, true
		broken := errors.New("the driver is away")
		e := open(t, func(o *Options) {
			o.Device, o.Chunk = &losable{Device: o.Device, waits: waits}, 8
			o.Reopen = func() (gpu.Device, error) {
				if refuse {
					return nil, broken
				}
				opened++
				return host.Open(host.Options{})
			}
		})
		s := e.NewSession()
		if err := last(s.Generate(t.Context(), r)); !errors.Is(err, gpu.ErrLost) {
			t.Fatalf("after %d waits: got %v, want ErrLost", waits, err)
		}
		if err := last(s.Generate(t.Context(), r)); !errors.Is(err, broken) {
			t.Errorf("after %d waits: got %v, want the error of opening", waits, err)
		}
		refuse = false
		for range 2 {
			if got := ask(t, t.Context(), s, r, nil).Text; got != want {
				t.Errorf("after %d waits: got %q, want %q", waits, got, want)
			}
		}
		if opened != 1 {
			t.Errorf("after %d waits: opened %d times, want once", waits, opened)
		}
	}
}

// TestLostDeviceStaysLost has nobody to open it again.
func TestLostDeviceStaysLost(t *testing.T) {
	e := open(t, func(o *Options) { o.Device = &losable{Device: o.Device, waits: 1} })
	for range 2 {
		err := last(e.NewSession().Generate(t.Context(), Request{Messages: user("Hello!"), MaxTokens: 2}))
		if !errors.Is(err, gpu.ErrLost) {
			t.Errorf("got %v, want ErrLost", err)
		}
	}
}

// last is the error of an answer.
func last(events func(func(Event, error) bool)) error {
	var last error
	for _, err := range events {
		last = err
	}
	return last
}
