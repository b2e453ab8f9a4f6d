//go:build !darwin

package metal

import (
	"errors"
	"fmt"
	"runtime"
)

// system reports that there is no Objective-C runtime.
func system() (Messenger, error) {
	return nil, fmt.Errorf("%s/%s is not macOS: %w", runtime.GOOS, runtime.GOARCH, errors.ErrUnsupported)
}
