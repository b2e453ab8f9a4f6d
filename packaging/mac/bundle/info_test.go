package bundle_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sotto/packaging/mac/bundle"
)

func infoFile(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "Info.plist"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestInfo(t *testing.T) {
	got, err := bundle.ReadInfo([]byte(infoFile(t)))
	if err != nil {
		t.Fatal(err)
	}
	if got.Executable != "Sotto" || got.Icon != "Sotto" || got.Identifier == "" {
		t.Errorf("got %+v", got)
	}
	want := []bundle.Service{
		{Message: "explain", Title: "Explain with Sotto"},
		{Message: "summarise", Title: "Summarise with Sotto", UserData: "replace", Replaces: true},
		{Message: "proofread", Title: "Proofread with Sotto", UserData: "replace", Replaces: true},
	}
	if len(got.Services) != len(want) {
		t.Fatalf("got %d services, want %d", len(got.Services), len(want))
	}
	for i, w := range want {
		if got.Services[i] != w {
			t.Errorf("service %d: got %+v, want %+v", i, got.Services[i], w)
		}
	}
}

// TestInfoRefuses breaks Info.plist in one place at a time.
func TestInfoRefuses(t *testing.T) {
	const (
		required = "<key>NSRequiredContext</key><dict/>"
		send     = "<key>NSSendTypes</key><array><string>NSStringPboardType</string></array>"
		services = "<key>NSServices</key><array>"
		sharp    = "<key>NSHighResolutionCapable</key>"
	)
	tests := map[string]struct{ old, new, want string }{
		"not closed":     {"</array></dict></plist>", "</array></plist>", "line "},
		"key twice":      {"<key>CFBundleName</key>", "<key>CFBundleIconFile</key>", "there twice"},
		"misspelt key":   {sharp, "<key>NSHighResolutionCapabel</key>", "NSHighResolutionCapabel: unknown key"},
		"older system":   {"<string>14.0</string>", "<string>13.0</string>", "LSMinimumSystemVersion is 13.0, not"},
		"number":         {"<string>14.0</string>", "<real>14.0</real>", "LSMinimumSystemVersion is 14"},
		"identifier":     {"app.sotto.Sotto", "Sotto", "no reverse domain name"},
		"version":        {"0.1.0", "0.1.0-rc", "is no version"},
		"path":           {"Executable</key><string>Sotto", "Executable</key><string>a/b", "Executable names no file"},
		"low resolution": {sharp + "<true/>", sharp + "<false/>", "is not true"},
		"open network":   {sharp, "<key>NSAppTransportSecurity</key><dict/>" + sharp, "Security: unknown key"},
		"no services":    {services, "<key>NSServices</key><array/><key>x</key><array>", "NSServices is no list"},

		"service nowhere": {required, "", "service 1: no NSRequiredContext"},
		"service message": {"<string>explain</string>", "<string>explain:</string>", "no first part of a selector"},
		"service twice":   {"<string>explain</string>", "<string>proofread</string>", "service 3 is there twice"},
		"service port":    {"PortName</key><string>Sotto", "PortName</key><string>Soto", "NSPortName is Soto"},
		"service timeout": {"<string>120000</string>", "<integer>120000</integer>", "NSTimeout is not a string"},
		"service types":   {send, "<key>NSSendTypes</key><array/>", "NSSendTypes is no list"},
		"service key":     {"<key>NSUserData</key>", "<key>NSUserdata</key>", "NSUserdata: unknown key"},
		"service title":   {"Explain with Sotto", "Sotto/Explain", "NSMenuItem has no title"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			text := strings.NewReplacer("\n", "", "\t", "").Replace(infoFile(t))
			if !strings.Contains(text, tt.old) {
				t.Fatalf("Info.plist has no %q", tt.old)
			}
			_, err := bundle.ReadInfo([]byte(strings.Replace(text, tt.old, tt.new, 1)))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestSameOnLinux holds the services against those of the windows on Linux, which are tested there.
func TestSameOnLinux(t *testing.T) {
	info, err := bundle.ReadInfo([]byte(infoFile(t)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join("..", "..", "linux-rig", "Info-gnustep.plist"))
	if err != nil {
		t.Fatal(err)
	}
	entry := regexp.MustCompile(`(?s)NSPortName = .*?default = "([^"]*)".*?\n    \}`)
	message := regexp.MustCompile(`NSMessage = (\w+);`)
	var got []bundle.Service
	for _, m := range entry.FindAllStringSubmatch(string(b), -1) {
		s := bundle.Service{Title: m[1], Message: message.FindStringSubmatch(m[0])[1]}
		s.Replaces = strings.Contains(m[0], "NSReturnTypes")
		if strings.Contains(m[0], "NSUserData = replace") {
			s.UserData = "replace"
		}
		got = append(got, s)
	}
	if len(got) != len(info.Services) {
		t.Fatalf("on Linux %d services, in Info.plist %d", len(got), len(info.Services))
	}
	for i, w := range info.Services {
		if got[i] != w {
			t.Errorf("service %d: on Linux %+v, in Info.plist %+v", i, got[i], w)
		}
	}
}
