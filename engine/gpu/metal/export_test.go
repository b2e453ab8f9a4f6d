package metal

import (
	"context"
	"fmt"

	"sotto/engine/gpu"
)

// Held lists the objects in the table of a device, oldest first.
func Held(d gpu.Device) []string {
	var all []string
	for _, h := range d.(*Device).objects.live() {
		all = append(all, fmt.Sprintf("%s %q", h.class, h.label))
	}
	return all
}

// Built waits until every pipeline of a device is built and the archive is written.
func Built(d gpu.Device) { <-d.(*Device).builder.ended }

// Failed reports whether the device has seen a failure that nobody was told of.
func Failed(d gpu.Device) bool {
	q := d.(*Device).queue
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.failures)
	return n > 0 && !q.failures[n-1].told
}

// Failures is the number of failures that a device remembers.
func Failures(d gpu.Device) int {
	q := d.(*Device).queue
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.failures)
}

// Taken is the number of bytes of a device's memory that are in use.
func Taken(d gpu.Device) int64 { return d.(*Device).taken }

// Finished is the number of submissions that have finished.
func Finished(d gpu.Device) uint64 {
	q := d.(*Device).queue
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.done
}

// Wanted is the last submission that somebody has waited for.
func Wanted(d gpu.Device) uint64 {
	q := d.(*Device).queue
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.wanted
}

// Pieces is the number of Metal buffers over mapped memory.
func Pieces(b gpu.Buffer) int { return len(b.(*buffer).pieces) }

// TapeLength is the number of messages that a program is replayed with, its encoder and command buffer not counted.
func TapeLength(x gpu.Exec) int { return len(x.(*exec).tape.messages) }

// Bounds of the driver.
const (
	PieceSize    = pieceSize
	MaxSets      = maxSets
	KeptArchives = keptArchives
	KeptFailures = keptFailures
)

// Need waits for the pipeline of a kernel.
func Need(d gpu.Device, name string) (string, error) {
	p, err := d.(*Device).builder.need(context.Background(), name)
	if err != nil {
		return "", err
	}
	return p.name, nil
}

// Sets is the number of residency sets of a device.
func Sets(d gpu.Device) int { return len(d.(*Device).residency.sets) }

// Stopping reports whether a device ends building.
func Stopping(d gpu.Device) bool {
	b := d.(*Device).builder
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stopped
}
