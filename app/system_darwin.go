package app

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fill asks the kernel; what it does not say stays empty.
func (s *SystemFacts) fill() {
	version, _ := unix.Sysctl("kern.osproductversion")
	build, _ := unix.Sysctl("kern.osversion")
	s.Version = fmt.Sprintf("macOS %s (%s)", version, build)
	s.Processor, _ = unix.Sysctl("machdep.cpu.brand_string")
	if n, err := unix.SysctlUint64("hw.memsize"); err == nil {
		s.MemoryBytes = int64(n)
	}
}
