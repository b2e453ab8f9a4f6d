package sign

import (
	"crypto/sha1" //nolint:gosec // the format asks for it beside SHA-256
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// rules say which files are sealed and how; they are those that codesign writes for an application.
const rules = `	<key>rules</key>
	<dict>
		<key>^Resources/</key><true/>
		<key>^Resources/.*\.lproj/</key>
		<dict><key>optional</key><true/><key>weight</key><real>1000</real></dict>
		<key>^Resources/.*\.lproj/locversion.plist$</key>
		<dict><key>omit</key><true/><key>weight</key><real>1100</real></dict>
		<key>^Resources/Base\.lproj/</key><dict><key>weight</key><real>1010</real></dict>
		<key>^version.plist$</key><true/>
	</dict>
	<key>rules2</key>
	<dict>
		<key>.*\.dSYM($|/)</key><dict><key>weight</key><real>11</real></dict>
		<key>^(.*/)?\.DS_Store$</key><dict><key>omit</key><true/><key>weight</key><real>2000</real></dict>
		<key>^(Frameworks|SharedFrameworks|PlugIns|Plug-ins|XPCServices|Helpers|MacOS|` +
	`Library/(Automator|Spotlight|LoginItems))/</key>
		<dict><key>nested</key><true/><key>weight</key><real>10</real></dict>
		<key>^.*</key><true/>
		<key>^Info\.plist$</key><dict><key>omit</key><true/><key>weight</key><real>20</real></dict>
		<key>^PkgInfo$</key><dict><key>omit</key><true/><key>weight</key><real>20</real></dict>
		<key>^Resources/</key><dict><key>weight</key><real>20</real></dict>
		<key>^Resources/.*\.lproj/</key>
		<dict><key>optional</key><true/><key>weight</key><real>1000</real></dict>
		<key>^Resources/.*\.lproj/locversion.plist$</key>
		<dict><key>omit</key><true/><key>weight</key><real>1100</real></dict>
		<key>^Resources/Base\.lproj/</key><dict><key>weight</key><real>1010</real></dict>
		<key>^[^/]+$</key><dict><key>nested</key><true/><key>weight</key><real>10</real></dict>
		<key>^embedded\.provisionprofile$</key><dict><key>weight</key><real>20</real></dict>
		<key>^version\.plist$</key><dict><key>weight</key><real>20</real></dict>
	</dict>
`

const plistHead = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
`

// sealed returns the files under Contents that CodeResources lists, relative to it, sorted.
func sealed(contents string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(filepath.Join(contents, "Resources"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == ".DS_Store" {
			return err
		}
		rel, err := filepath.Rel(contents, path)
		if err != nil {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is no plain file: it cannot be sealed", rel)
		}
		if strings.Contains(rel, ".lproj") {
			return fmt.Errorf("%s: localised files are not sealed by this program", rel)
		}
		names = append(names, filepath.ToSlash(rel))
		return nil
	})
	slices.Sort(names)
	return names, err
}

// seal makes CodeResources: a hash of every file, in the old list and in the new one.
func seal(contents string) ([]byte, error) {
	names, err := sealed(contents)
	if err != nil {
		return nil, err
	}
	var one, two strings.Builder
	for _, n := range names {
		b, err := os.ReadFile(filepath.Join(contents, filepath.FromSlash(n)))
		if err != nil {
			return nil, err
		}
		var key strings.Builder
		if err := xml.EscapeText(&key, []byte(n)); err != nil {
			return nil, err
		}
		old, now := sha1.Sum(b), sha256.Sum256(b) //nolint:gosec // see above
		fmt.Fprintf(&one, "\t\t<key>%s</key><data>%s</data>\n", &key, base64.StdEncoding.EncodeToString(old[:]))
		fmt.Fprintf(&two, "\t\t<key>%s</key><dict><key>hash2</key><data>%s</data></dict>\n", &key,
			base64.StdEncoding.EncodeToString(now[:]))
	}
	return []byte(plistHead + "\t<key>files</key>\n\t<dict>\n" + one.String() + "\t</dict>\n" +
		"\t<key>files2</key>\n\t<dict>\n" + two.String() + "\t</dict>\n" + rules + "</dict>\n</plist>\n"), nil
}
