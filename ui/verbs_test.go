package ui

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"sotto/app/screen"
)

// TestServiceWait holds that a program that calls is answered before its system gives up, whichever that is: each of
// the two lists of services names every verb and a longer time for those that give text back.
func TestServiceWait(t *testing.T) {
	for _, tt := range []struct{ file, message, timeout string }{
		{
			"Info.plist",
			`<key>NSMessage</key>\s*<string>(\w+)</string>`, `<key>NSTimeout</key>\s*<string>(\d+)</string>`,
		},
		{"packaging/linux-rig/Info-gnustep.plist", `NSMessage = (\w+);`, `NSTimeout = "(\d+)";`},
	} {
		b, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(tt.file)))
		if err != nil {
			t.Fatal(err)
		}
		named := map[string]screen.ServiceKind{}
		for _, m := range regexp.MustCompile(tt.message).FindAllSubmatch(b, -1) {
			named[string(m[1])] = verbs[string(m[1])]
		}
		if len(named) != len(verbs) || named["explain"] == 0 || named["summarise"] == 0 || named["proofread"] == 0 {
			t.Errorf("%s: verbs %v, want %v", tt.file, named, verbs)
		}
		waits := regexp.MustCompile(tt.timeout).FindAllSubmatch(b, -1)
		if len(waits) != 2 {
			t.Errorf("%s: %d services have a timeout, want the 2 that give text back", tt.file, len(waits))
		}
		for _, m := range waits {
			ms, err := strconv.Atoi(string(m[1]))
			if err != nil {
				t.Fatal(err)
			}
			if system := time.Duration(ms) * time.Millisecond; system != 2*time.Minute || serviceWait >= system {
				t.Errorf("%s: the system waits %v, Sotto answers after %v", tt.file, system, serviceWait)
			}
		}
	}
}
