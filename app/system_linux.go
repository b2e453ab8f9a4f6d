package app

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sotto/engine/gpu/host"
)

// fill asks the kernel and the distribution; what they do not say stays empty.
func (s *SystemFacts) fill() {
	s.Version, s.Processor = distribution(), host.Processor()
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		s.MemoryBytes = int64(info.Totalram) * int64(info.Unit)
	}
}

// distribution is the name that the system gives itself, "Debian GNU/Linux 12 (bookworm)".
func distribution() string {
	data, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			if plain, err := strconv.Unquote(value); err == nil {
				return plain
			}
			return value
		}
	}
	return ""
}
