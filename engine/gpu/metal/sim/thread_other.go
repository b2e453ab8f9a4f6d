//go:build !linux

package sim

// threadID takes all threads for one where they cannot be told apart.
func threadID() int { return 1 }
