//go:build !linux && !darwin

package app

// fill knows nothing of other systems.
func (s *SystemFacts) fill() {}
