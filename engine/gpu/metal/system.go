package metal

import (
	"fmt"
	"strconv"
	"strings"
)

// Constants of MTLLanguageVersion.
const (
	language31 = 3<<16 + 1
	language32 = 3<<16 + 2
	language40 = 4 << 16
)

// atLeast reports whether the system is that version or a newer one.
func (s System) atLeast(major, minor int) bool {
	return s.Major > major || s.Major == major && s.Minor >= minor
}

// String is the version, "26.2".
func (s System) String() string { return fmt.Sprintf("%d.%d", s.Major, s.Minor) }

// language is the newest Metal language of the system that kernels are written for. It is always set: what a system
// takes without being told depends on the SDK that the binary was linked with.
func (s System) language() uintptr {
	switch {
	case s.atLeast(26, 0):
		return language40
	case s.atLeast(15, 0):
		return language32
	}
	return language31
}

// hasMathMode reports whether compile options have a math mode.
func (s System) hasMathMode() bool { return s.atLeast(15, 0) }

// hasResidency reports whether there are residency sets.
func (s System) hasResidency() bool { return s.atLeast(15, 0) }

// hasTensors reports whether kernels may use the matrix units of the GPUs that have them.
func (s System) hasTensors() bool { return s.atLeast(26, 2) }

// parseSystem reads a version such as "26.2" or "14.7.1". Binaries linked with an old SDK are told 16 for 26.
func parseSystem(version, build string) (System, error) {
	parts := strings.Split(version, ".")
	s := System{Build: build}
	var err error
	if s.Major, err = strconv.Atoi(parts[0]); err != nil {
		return System{}, fmt.Errorf("macOS version %q", version)
	}
	if len(parts) > 1 {
		if s.Minor, err = strconv.Atoi(parts[1]); err != nil {
			return System{}, fmt.Errorf("macOS version %q", version)
		}
	}
	if s.Major == 16 {
		s.Major = 26
	}
	return s, nil
}
