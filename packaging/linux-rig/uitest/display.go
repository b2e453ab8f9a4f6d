package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// display is a virtual screen.
type display struct {
	name   string
	server *exec.Cmd
}

// Size of the screen in pixels.
const screenWidth, screenHeight = 1440, 900

// startScreen starts a virtual screen on a free number.
func startScreen(folder string) (*display, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("screen: %w", err)
	}
	defer r.Close()
	log, err := os.Create(filepath.Join(folder, "xvfb.log"))
	if err != nil {
		return nil, fmt.Errorf("screen: %w", err)
	}
	defer log.Close()
	d := &display{server: exec.CommandContext(context.Background(), "Xvfb", "-displayfd", "3", "-nolisten", "tcp",
		"-noreset", "-screen", "0", fmt.Sprintf("%dx%dx24", screenWidth, screenHeight))}
	d.server.ExtraFiles = []*os.File{w}
	d.server.Stdout, d.server.Stderr = log, log
	if err := d.server.Start(); err != nil {
		return nil, fmt.Errorf("screen: %w", err)
	}
	w.Close()
	number, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("screen: Xvfb told no number: %w", err)
	}
	d.name = ":" + strings.TrimSpace(number)
	if _, err := d.do("xsetroot", "-solid", "#6f8aa6"); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *display) close() {
	if err := d.server.Process.Kill(); err == nil || errors.Is(err, os.ErrProcessDone) {
		_ = d.server.Wait() // it was killed: its status says nothing
	}
}

// do runs a program on the screen and returns what it prints.
func (d *display) do(program string, arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, program, arguments...)
	c.Env = append(os.Environ(), "DISPLAY="+d.name)
	out, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", program, err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}
