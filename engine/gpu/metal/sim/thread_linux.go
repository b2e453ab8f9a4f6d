package sim

import "golang.org/x/sys/unix"

// threadID tells threads apart.
func threadID() int { return unix.Gettid() }
