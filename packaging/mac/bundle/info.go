package bundle

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sotto/packaging/mac/plist"
)

// MinimumSystem is the oldest macOS that Sotto asks for: the first whose Metal language has bfloat.
const MinimumSystem = "14.0"

const infoName = "Info.plist"

// Info is what the other steps need of Info.plist.
type Info struct {
	Executable string
	Identifier string
	Icon       string
	Services   []Service
}

// Service is an entry of the Services menu.
type Service struct {
	Message  string // the provider answers message:userData:error:
	Title    string
	UserData string
	Replaces bool // gives text back
}

// texts are the keys whose values are fixed.
var texts = map[string]string{
	"CFBundleInfoDictionaryVersion": "6.0",
	"CFBundlePackageType":           "APPL",
	"LSMinimumSystemVersion":        MinimumSystem,
	"NSPrincipalClass":              "NSApplication",
	"CFBundleDevelopmentRegion":     "en",
}

// known are all keys that Info.plist may have; a misspelt key would go unnoticed otherwise. What would loosen network
// security is not among them.
var known = []string{
	"CFBundleDevelopmentRegion", "CFBundleDisplayName", "CFBundleExecutable", "CFBundleIconFile", "CFBundleIdentifier",
	"CFBundleInfoDictionaryVersion", "CFBundleName", "CFBundlePackageType", "CFBundleShortVersionString",
	"CFBundleVersion", "LSApplicationCategoryType", "LSMinimumSystemVersion",
	"NSHighResolutionCapable", "NSPrincipalClass", "NSServices", "NSHumanReadableCopyright",
}

var (
	identifierForm = regexp.MustCompile(`^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$`)
	versionForm    = regexp.MustCompile(`^\d+(\.\d+){0,2}$`)
	messageForm    = regexp.MustCompile(`^[a-z][A-Za-z]*$`)
)

// faults collects what is wrong.
type faults []string

func (f *faults) is(ok bool, format string, a ...any) {
	if !ok {
		*f = append(*f, fmt.Sprintf(format, a...))
	}
}

// ReadInfo reads Info.plist and returns what is wrong with it as one error.
func ReadInfo(b []byte) (Info, error) {
	v, err := plist.Decode(b)
	if err != nil {
		return Info{}, fmt.Errorf("%s: %w", infoName, err)
	}
	d, ok := v.(map[string]any)
	if !ok {
		return Info{}, fmt.Errorf("%s: no dict", infoName)
	}
	var f faults
	f.is(!bytes.Contains(b, []byte("\r")), "has carriage returns")
	for key := range d {
		f.is(slices.Contains(known, key), "%s: unknown key", key)
	}
	for key, want := range texts {
		f.is(d[key] == want, "%s is %v, not %q", key, d[key], want)
	}
	info := Info{}
	info.Executable, _ = d["CFBundleExecutable"].(string)
	info.Identifier, _ = d["CFBundleIdentifier"].(string)
	info.Icon, _ = d["CFBundleIconFile"].(string)
	name, _ := d["CFBundleName"].(string)
	f.is(info.Executable != "" && !strings.Contains(info.Executable, "/"), "CFBundleExecutable names no file")
	f.is(info.Icon != "" && !strings.Contains(info.Icon, "/"), "CFBundleIconFile names no file")
	f.is(identifierForm.MatchString(info.Identifier), "CFBundleIdentifier %q: no reverse domain name", info.Identifier)
	f.is(name != "" && len(name) <= 15, "CFBundleName %q is empty or too long for the menu bar", name)
	for _, key := range []string{"CFBundleShortVersionString", "CFBundleVersion"} {
		s, _ := d[key].(string)
		f.is(versionForm.MatchString(s), "%s %q is no version", key, s)
	}
	f.is(d["NSHighResolutionCapable"] == true, "NSHighResolutionCapable is not true")
	info.Services = f.services(d["NSServices"], name)
	if len(f) > 0 {
		slices.Sort(f)
		return info, fmt.Errorf("%s: %s", infoName, strings.Join(f, "; "))
	}
	return info, nil
}

// services checks the entries of the Services menu.
func (f *faults) services(v any, port string) []Service {
	list, ok := v.([]any)
	f.is(ok && len(list) > 0, "NSServices is no list")
	var out []Service
	seen := map[string]bool{}
	for i, x := range list {
		d, _ := x.(map[string]any)
		s := f.service(d, fmt.Sprintf("service %d", i+1), port)
		f.is(!seen[s.Message] && !seen[s.Title], "service %d is there twice", i+1)
		seen[s.Message], seen[s.Title] = true, true
		out = append(out, s)
	}
	return out
}

// serviceKeys are all keys of a service.
var serviceKeys = []string{
	"NSMessage", "NSPortName", "NSMenuItem", "NSSendTypes", "NSReturnTypes", "NSUserData", "NSTimeout",
	"NSRequiredContext", "NSKeyEquivalent",
}

func (f *faults) service(d map[string]any, where, port string) Service {
	for key := range d {
		f.is(slices.Contains(serviceKeys, key), "%s: %s: unknown key", where, key)
	}
	var s Service
	s.Message, _ = d["NSMessage"].(string)
	s.UserData, _ = d["NSUserData"].(string)
	item, _ := d["NSMenuItem"].(map[string]any)
	s.Title, _ = item["default"].(string)
	f.is(messageForm.MatchString(s.Message), "%s: NSMessage %q is no first part of a selector", where, s.Message)
	f.is(d["NSPortName"] == port, "%s: NSPortName is %v, not CFBundleName", where, d["NSPortName"])
	f.is(len(item) == 1 && s.Title != "" && !strings.Contains(s.Title, "/"), "%s: NSMenuItem has no title", where)
	_, ok := d["NSRequiredContext"].(map[string]any)
	f.is(ok, "%s: no NSRequiredContext: the service would be listed nowhere", where)
	f.is(hasStrings(d["NSSendTypes"]), "%s: NSSendTypes is no list of types", where)
	if d["NSReturnTypes"] != nil {
		s.Replaces = true
		f.is(hasStrings(d["NSReturnTypes"]), "%s: NSReturnTypes is no list of types", where)
		text, _ := d["NSTimeout"].(string)
		ms, err := strconv.Atoi(text)
		f.is(err == nil && ms >= 1000, "%s: NSTimeout is not a string of milliseconds", where)
	}
	return s
}

// hasStrings tells whether v is a list of strings that is not empty.
func hasStrings(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) > 0 && !slices.ContainsFunc(list, func(x any) bool {
		s, ok := x.(string)
		return !ok || s == ""
	})
}
