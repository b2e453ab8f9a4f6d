package app

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// fill asks the kernel and the distribution; what they do not say stays empty.
func (s *SystemFacts) fill() {
	s.Version = field("/etc/os-release", "PRETTY_NAME", "=")
	if v, err := strconv.Unquote(s.Version); err == nil {
		s.Version = v
	}
	s.Processor = field("/proc/cpuinfo", "model name", ":")
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		s.MemoryBytes = int64(info.Totalram) * int64(info.Unit)
	}
}

// field is the value of the first line that starts with a name.
func field(file, name, separator string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, separator); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
