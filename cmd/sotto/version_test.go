package main

import (
	"os"
	"regexp"
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	if o := good(t, sotto(t, "--version")); o.out != "sotto "+version()+"\n" || o.err != "" {
		t.Errorf("got %q, %q", o.out, o.err)
	}
	plist, err := os.ReadFile("../../Info.plist")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`<key>CFBundleShortVersionString</key>\s*<string>(.*)</string>`).FindSubmatch(plist)
	if found == nil || string(found[1]) != release {
		t.Errorf("Info.plist says %q, want %q", found, release)
	}
	for _, c := range []struct {
		name     string
		settings []debug.BuildSetting
		want     string
	}{
		{"no repository", []debug.BuildSetting{{Key: "GOOS", Value: "linux"}}, release},
		{"a commit", []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef0123"}, {Key: "vcs.modified", Value: "false"},
		}, release + " (0123456789ab)"},
		{"changed since", []debug.BuildSetting{
			{Key: "vcs.modified", Value: "true"}, {Key: "vcs.revision", Value: "0123"},
		}, release + " (0123, changed)"},
	} {
		if got := versionOf(c.settings); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
