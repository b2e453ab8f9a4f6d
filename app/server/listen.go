package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// Listen takes a port of both loopback addresses and returns what clients may use as base, the first one for choice.
// Port 0 takes one that is free. On a machine without IPv6 there is one address.
func (s *Server) Listen(ctx context.Context, port int) ([]string, error) {
	const tries = 10 // for a port that is free on both
	for try := 1; ; try++ {
		err := s.listen(ctx, port)
		if err == nil {
			break
		}
		s.unlisten()
		if port != 0 || try == tries || !errors.Is(err, syscall.EADDRINUSE) {
			return nil, err
		}
	}
	var urls []string
	for _, l := range s.listeners {
		urls = append(urls, "http://"+l.Addr().String())
	}
	return urls, nil
}

func (s *Server) listen(ctx context.Context, port int) error {
	var c net.ListenConfig
	four, err := c.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return taken(port, err)
	}
	s.listeners = append(s.listeners, four)
	if a, ok := four.Addr().(*net.TCPAddr); ok {
		port = a.Port
	}
	six, err := c.Listen(ctx, "tcp6", net.JoinHostPort("::1", strconv.Itoa(port)))
	switch {
	case err == nil:
		s.listeners = append(s.listeners, six)
	case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, syscall.EACCES):
		return taken(port, err)
	}
	return nil
}

// taken says which port cannot be had.
func taken(port int, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d is taken by another program: %w", port, err)
	}
	return fmt.Errorf("port %d: %w", port, err)
}

func (s *Server) unlisten() {
	for _, l := range s.listeners {
		_ = l.Close() // it served nobody
	}
	s.listeners = nil
}
