package main

import "runtime/debug"

// release is the version of the product; Info.plist says the same.
const release = "0.1.0"

// version is the release with the commit that this program was built from, where the build noted it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	return versionOf(info.Settings)
}

func versionOf(settings []debug.BuildSetting) string {
	commit, changed := "", ""
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = ", changed"
		}
	}
	if commit == "" {
		return release
	}
	return release + " (" + commit + changed + ")"
}
