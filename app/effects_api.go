package app

import (
	"context"
	"errors"
	"sync"

	"sotto/app/screen"
)

// Server is an API that is being served.
type Server interface {
	Address() string // host and port
	Close() error
}

// errNoAPI is the error where the API was not built in.
var errNoAPI = errors.New("this Sotto has no API")

// api starts and stops the API. Of several wishes only the last counts.
type api struct {
	serve func(port int, models *Gate) (Server, error)
	gate  *Gate
	tell  func(screen.Msg)
	wake  chan struct{}

	mu     sync.Mutex
	wanted *screen.ServeAPI
}

func (a *api) want(e screen.ServeAPI) {
	a.mu.Lock()
	a.wanted = &e
	a.mu.Unlock()
	signal(a.wake)
}

func (a *api) run(ctx context.Context) {
	var running Server
	stop := func() error {
		if running == nil {
			return nil
		}
		s := running
		running = nil
		return s.Close()
	}
	for {
		select {
		case <-ctx.Done():
			_ = stop() // an error would have nobody to tell it to: the process ends
			return
		case <-a.wake:
		}
		a.mu.Lock()
		e := a.wanted
		a.mu.Unlock()
		err := stop()
		if e.On && err == nil {
			if a.serve == nil {
				err = errNoAPI
			} else {
				running, err = a.serve(e.Port, a.gate)
			}
		}
		if err != nil || !e.On {
			a.tell(screen.APIChanged{Err: err})
			continue
		}
		a.tell(screen.APIChanged{On: true, Address: running.Address()})
	}
}
