package metal

import (
	"errors"
	"strings"
	"testing"

	"sotto/engine/gpu"
)

func TestCommandError(t *testing.T) {
	for _, c := range []struct {
		code int
		text string
		want string
		oom  bool
		lost bool
	}{
		{commandInternal, "x", "command buffer: internal error (x)", false, false},
		{commandTimeout, "x", "command buffer: it took too long (x)", false, false},
		{commandPageFault, "", "command buffer: page fault", false, false},
		{commandAccessRevoked, "x", "command buffer: access to the device was revoked (x)", false, true},
		{commandNotPermitted, "x", "command buffer: not permitted (x)", false, false},
		{commandOutOfMemory, "x", "command buffer: out of memory (x)", true, false},
		{commandInvalidResource, "x", "command buffer: a resource was deleted (x)", false, false},
		{commandMemoryless, "x", "command buffer: out of tile memory (x)", false, false},
		{commandDeviceRemoved, "x", "command buffer: the device was removed (x)", false, true},
		{commandStackOverflow, "x", "command buffer: stack overflow (x)", false, false},
		{99, "x", "command buffer: error 99 (x)", false, false},
	} {
		err := error(&gpu.Error{Op: "run", Err: &CommandError{Code: c.code, Text: c.text}})
		if !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("got %q, want %q", err, c.want)
		}
		if errors.Is(err, gpu.ErrOutOfMemory) != c.oom || errors.Is(err, gpu.ErrLost) != c.lost {
			t.Errorf("code %d: out of memory %v, lost %v", c.code, !c.oom, !c.lost)
		}
		if errors.Is(err, gpu.ErrClosed) {
			t.Errorf("code %d is taken for %v", c.code, gpu.ErrClosed)
		}
	}
}
