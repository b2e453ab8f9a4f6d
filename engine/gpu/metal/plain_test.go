//go:build darwin || linux

package metal

import (
	"testing"
	"time"
)

// messagesPerToken is about what a token of the 35B model takes.
const messagesPerToken = 1750

// BenchmarkMessage measures what one message costs on its way out of Go, as the hot loop sends it: on macOS to an
// Objective-C object that does nothing, elsewhere to a C function that does nothing.
func BenchmarkMessage(b *testing.B) {
	p, m := nothing(b)
	tape := make([]Message, messagesPerToken)
	for i := range tape {
		tape[i] = m
		tape[i].Count = m.Count + i%(MaxArguments+1-m.Count)
	}
	begin := time.Now()
	n := 0
	for b.Loop() {
		p.SendAll(tape)
		n += len(tape)
	}
	b.ReportMetric(float64(time.Since(begin).Nanoseconds())/float64(n), "ns/message")
}

// TestPlain holds that the result of a message comes back.
func TestPlain(t *testing.T) {
	p, m := nothing(t)
	if got := p.Send(&m); got != uintptr(m.To) {
		t.Errorf("got %#x, want %#x", got, m.To)
	}
}
