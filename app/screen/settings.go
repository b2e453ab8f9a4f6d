package screen

import (
	"fmt"
	"strconv"
	"strings"
)

// DefaultPort is where the API listens if the user does not choose.
const DefaultPort = 7688

// fields are the text fields of the settings.
const fields = 4

// settings are the stored ones, and the window that changes them.
type settings struct {
	Settings
	open    bool
	folders folders
	run     string        // the model of this run, "": that of the stored ones
	models  []ModelChoice // the built-in ones, the default one first
	text    [fields]string
	rev     [fields]int
	problem [fields]string
	served  int // port that the API was switched on with, 0: off
	address string
	apiErr  string
}

func newSettings() settings {
	s := settings{Settings: Settings{Port: DefaultPort}}
	s.fill()
	return s
}

// fill lays the stored settings into the fields.
func (s *settings) fill() {
	if s.Port == 0 {
		s.Port = DefaultPort
	}
	s.text[FieldSystem] = s.System
	s.text[FieldTemperature], s.text[FieldMaxTokens] = "", ""
	if s.Temperature != nil {
		s.text[FieldTemperature] = strconv.FormatFloat(float64(*s.Temperature), 'g', -1, 32)
	}
	if s.MaxTokens > 0 {
		s.text[FieldMaxTokens] = strconv.Itoa(s.MaxTokens)
	}
	s.text[FieldPort] = strconv.Itoa(s.Port)
	for f := range s.rev {
		s.rev[f]++
		s.problem[f] = ""
	}
}

// ofSettings takes the messages of the settings.
func (u *step) ofSettings(m Msg) bool {
	switch m := m.(type) {
	case OpenSettings:
		u.openSettings()
	case SettingsClosed:
		u.settings.open = false
		u.takePort()
		u.settings.fill() // what was not taken is not shown again
		u.saveDirty()
		u.serve()
	case SetField:
		u.setField(m.Field, m.Text)
	case FieldDone:
		if m.Field == FieldPort {
			u.takePort()
		}
		u.saveDirty()
		u.serve()
	case SetAPI:
		u.takePort()
		u.settings.API = m.On
		u.markSettings()
		u.saveDirty()
		u.serve()
	case APIChanged:
		u.settings.address, u.settings.apiErr = "", ""
		if m.On {
			u.settings.address = m.Address
		}
		if m.Err != nil {
			u.settings.apiErr = sentence(m.Err.Error())
		}
	default:
		return u.ofModels(m)
	}
	return true
}

func (u *step) openSettings() {
	u.settings.open = true
	if f := u.settings.Folders; len(f) > 0 {
		u.do(LookForFolders{f})
	}
	u.ui(ShowSettings{})
}

// setField takes the text of a field, and its value if it has one.
func (u *step) setField(f Field, text string) {
	if int(f) >= fields {
		return
	}
	s := &u.settings
	if f != FieldSystem && strings.ContainsAny(text, "\r\n") { // pasted into a field of one line
		text = strings.Join(strings.Fields(text), " ")
		s.rev[f]++
	}
	s.text[f] = text
	value := strings.TrimSpace(text)
	err := error(nil)
	switch f {
	case FieldSystem:
		s.System = value
	case FieldTemperature:
		err = s.setTemperature(value)
	case FieldMaxTokens:
		err = setInt(&s.MaxTokens, value, 0, 1, 1<<20)
	case FieldPort:
		_, err = portOf(value)
	}
	s.problem[f] = ""
	if err != nil {
		s.problem[f] = err.Error()
		return
	}
	if f != FieldPort { // every number on the way to the one that is meant would start the API anew
		u.markSettings()
	}
}

// takePort takes the port that was typed, if it is one.
func (u *step) takePort() {
	port, err := portOf(strings.TrimSpace(u.settings.text[FieldPort]))
	if err == nil && port != u.settings.Port {
		u.settings.Port = port
		u.markSettings()
	}
}

func portOf(text string) (port int, err error) {
	err = setInt(&port, text, DefaultPort, 1024, 65535)
	return port, err
}

func (s *settings) setTemperature(value string) error {
	if value == "" {
		s.Temperature = nil
		return nil
	}
	v, err := strconv.ParseFloat(strings.Replace(value, ",", ".", 1), 32)
	if err != nil || !(v >= 0 && v <= 2) {
		return fmt.Errorf("A number from 0 to 2, or nothing for the model's own") //nolint:staticcheck // shown as it is
	}
	t := float32(v)
	s.Temperature = &t
	return nil
}

// setInt parses a whole number; an empty text stands for otherwise.
func setInt(to *int, value string, otherwise, least, most int) error {
	if value == "" {
		*to = otherwise
		return nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return fmt.Errorf("A whole number from %s to %s", //nolint:staticcheck // shown as it is
			thousands(least), thousands(most))
	}
	*to = n
	return nil
}

// serve switches the API to what the settings say, if it is not so already.
func (u *step) serve() {
	want := 0
	if u.settings.API {
		want = u.settings.Port
	}
	if u.settings.served == want {
		return
	}
	u.settings.served = want
	u.do(ServeAPI{On: want != 0, Port: u.settings.Port})
}
