package screen

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares text with a file under testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update and look at the difference\n%s", path, firstDifference(got,
			string(want)))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		a, b := "(end)", "(end)"
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			return fmt.Sprintf("line %d:\n got %s\nwant %s", i+1, a, b)
		}
	}
	return ""
}

func printRuns(runs []Run) string {
	var b strings.Builder
	for _, r := range runs {
		style := ""
		for i, letter := range "bicsl" {
			if r.Style&(1<<i) != 0 {
				style += string(letter)
			}
		}
		text := strings.ReplaceAll(r.Text, "\n", "⏎")
		switch {
		case r.Style&Link != 0:
			fmt.Fprintf(&b, "[%s|%s → %s]", style, text, r.Target)
		case style != "":
			fmt.Fprintf(&b, "[%s|%s]", style, text)
		default:
			b.WriteString(text)
		}
	}
	return b.String()
}

// printBlocks prints a block a line, with the revisions if revs.
func printBlocks(blocks []Block, revs bool) string {
	var w strings.Builder
	for _, b := range blocks {
		if revs {
			fmt.Fprintf(&w, "%2d ", b.Rev)
		}
		w.WriteString(strings.Repeat("> ", b.Quote) + strings.Repeat("  ", b.List))
		if b.Marker != "" {
			w.WriteString(b.Marker + " ")
		}
		switch b.Kind {
		case Heading:
			fmt.Fprintf(&w, "h%d %s\n", b.Level, printRuns(b.Runs))
		case Code:
			fmt.Fprintf(&w, "code(%s) %s\n", b.Lang, strings.ReplaceAll(b.Text, "\n", "⏎"))
		case Rule:
			w.WriteString("rule\n")
		case Table:
			w.WriteString("table")
			for _, row := range b.Rows {
				w.WriteString(" /")
				for _, c := range row {
					w.WriteString(" " + "<^>"[c.Align:c.Align+1] + printRuns(c.Runs))
				}
			}
			w.WriteString("\n")
		default:
			fmt.Fprintf(&w, "p %s\n", printRuns(b.Runs))
		}
	}
	return w.String()
}

// printMessages prints the messages of a transcript.
func printMessages(w *strings.Builder, list []MessageView) {
	for _, m := range list {
		side := map[Side]string{ByUser: "user", ByModel: "model"}[m.Side]
		fmt.Fprintf(w, "  %d %s%s\n", m.ID, side, flags(
			m.Versions > 1, fmt.Sprintf("%d/%d", m.Version, m.Versions), m.Streaming, "streaming", m.CanCopy, "copy",
			m.CanEdit, "edit", m.CanRegenerate, "regenerate"))
		if m.Thinking.Shown {
			fmt.Fprintf(w, "    (%s)%s\n", m.Thinking.Title, flags(m.Thinking.Open, "open"))
			indent(w, printBlocks(m.Thinking.Blocks, true), "    | ")
		}
		indent(w, printBlocks(m.Blocks, true), "    ")
		for _, line := range []string{m.Waiting, m.Note, m.Error.Text, m.Figures} {
			if line != "" {
				fmt.Fprintf(w, "    ~ %s\n", line)
			}
		}
		if m.Error.Retry {
			fmt.Fprintf(w, "    ~ [retry]\n")
		}
	}
}

func indent(w *strings.Builder, s, by string) {
	for line := range strings.Lines(s) {
		w.WriteString(by + line)
	}
}

// flags prints the names of what is true; names may be pairs of condition and name.
func flags(pairs ...any) string {
	var names []string
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i].(bool) {
			names = append(names, pairs[i+1].(string))
		}
	}
	if names == nil {
		return ""
	}
	return " [" + strings.Join(names, " ") + "]"
}

func printField(name string, f FieldView) string {
	s := fmt.Sprintf("%s %q #%d (%s)", name, f.Text, f.Rev, f.Placeholder)
	if f.Error != "" {
		s += " error: " + f.Error
	}
	return s + "\n"
}

// printView prints one door of a view: chat, quick, status, service or settings.
func printView(v View, door string) string {
	var w strings.Builder
	switch door {
	case "chat":
		printChat(&w, v.Chat)
	case "quick":
		q := v.Quick
		fmt.Fprintf(&w, "quick %d%s %s\n", q.Session, flags(q.Open, "open", q.Streaming, "streaming", q.CanAsk, "ask",
			q.CanCopy,
			"copy", q.CanMove, "move"), q.Hint)
		w.WriteString(printField(" field", q.Field))
		printMessages(&w, q.Messages)
	case "status":
		s := v.Status
		fmt.Fprintf(&w, "status %s %q (%s)\n", [...]string{"idle", "loading", "generating", "error"}[s.Icon], s.Title,
			s.Tooltip)
		fmt.Fprintf(&w, " menu #%d\n", s.MenuRev)
		for _, m := range s.Menu {
			fmt.Fprintf(&w, "  %d %s%s\n", m.ID, m.Title, flags(m.Enabled, "enabled", m.Checked, "checked"))
		}
	case "service":
		s := v.Service
		fmt.Fprintf(&w, "service %d %s%s\n", s.Call, s.Title, flags(s.Open, "open", s.Streaming, "streaming",
			s.CanReplace, "replace",
			s.CanCopy, "copy", s.CanRetry, "retry"))
		fmt.Fprintf(&w, " source %q\n", s.Source)
		printMessages(&w, []MessageView{s.Answer})
	case "settings":
		s := v.Settings
		fmt.Fprintf(&w, "settings%s model %q of %v\n", flags(s.Open, "open"), s.Model, s.Models)
		w.WriteString(printField(" system", s.System) + printField(" temperature", s.Temperature))
		w.WriteString(printField(" tokens", s.MaxTokens) + printField(" port", s.Port))
		fmt.Fprintf(&w, " api%s %s\n", flags(s.APIOn, "on", s.APIFailed, "failed"), s.APIText)
	}
	return w.String()
}

func printChat(w *strings.Builder, c ChatView) {
	fmt.Fprintf(w, "window %q%s\n", c.Title, flags(c.Open, "open", c.CanStop, "stop"))
	for _, d := range c.Sidebar.Days {
		fmt.Fprintf(w, " %s\n", d.Title)
		for _, r := range d.Rows {
			fmt.Fprintf(w, "  %d %s%s\n", r.ID, r.Title, flags(r.Busy, "busy", r.ID == c.Sidebar.Selected, "selected"))
		}
	}
	for _, line := range []string{c.Sidebar.Empty, c.Sidebar.Undo, c.Notice} {
		if line != "" {
			fmt.Fprintf(w, " ! %s\n", line)
		}
	}
	fmt.Fprintf(w, " model %d %q %d%%%s %s\n", c.Model.State, c.Model.Text, c.Model.Percent, flags(c.Model.Retry,
		"retry"), c.Model.Note)
	fmt.Fprintf(w, " transcript of %d%s\n", c.Transcript.Conversation, flags(c.Transcript.Loading, "loading"))
	if c.Transcript.EmptyTitle != "" {
		fmt.Fprintf(w, "  %s: %s\n", c.Transcript.EmptyTitle, c.Transcript.EmptyText)
	}
	printMessages(w, c.Transcript.Messages)
	fmt.Fprintf(w, " composer %q #%d (%s)%s %s\n", c.Composer.Text, c.Composer.Rev, c.Composer.Placeholder,
		flags(c.Composer.Editing, "editing", c.Composer.CanSend, "send"), c.Composer.Why)
}

// printEffect prints an effect in a line.
func printEffect(e Effect) string {
	switch e := e.(type) {
	case Generate:
		var w strings.Builder
		fmt.Fprintf(&w, "Generate %d for %s", e.Job, e.Door)
		if e.Request.Sampling.Temperature != 0 || e.Request.MaxTokens != 0 {
			fmt.Fprintf(&w, " at %g, at most %d", e.Request.Sampling.Temperature, e.Request.MaxTokens)
		}
		for _, m := range e.Request.Messages {
			fmt.Fprintf(&w, " | %s: %q", m.Role, m.Content)
			if m.Reasoning != "" {
				fmt.Fprintf(&w, " thought %q", m.Reasoning)
			}
			if len(m.IDs) > 0 {
				fmt.Fprintf(&w, " %v %q", m.IDs, m.Raw)
			}
		}
		return w.String()
	case Save:
		c := e.Conversation
		var w strings.Builder
		fmt.Fprintf(&w, "Save %d %q leaf %d draft %q", c.ID, c.Title+"/"+c.First, c.Leaf, c.Draft)
		for _, n := range c.Nodes {
			fmt.Fprintf(&w, " | %d<-%d role %d reason %d %q", n.ID, n.Parent, n.Role, n.Reason, n.Content)
		}
		return w.String()
	case UI:
		return fmt.Sprintf("UI %T%+v", e.Command, e.Command)
	case SaveSettings:
		t := "own"
		if e.Settings.Temperature != nil {
			t = fmt.Sprint(*e.Settings.Temperature)
		}
		e.Settings.Temperature = nil
		return fmt.Sprintf("SaveSettings%+v temperature %s", e.Settings, t)
	default:
		return strings.TrimPrefix(fmt.Sprintf("%T%+v", e, e), "screen.")
	}
}

// difference prints the lines that went (-) and came (+) between two texts.
func difference(old, text string) string {
	a, b := slices.Collect(strings.Lines(old)), slices.Collect(strings.Lines(text))
	common := make([][]int, len(a)+1) // length of the longest common part of a[i:] and b[j:]
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var w strings.Builder
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			w.WriteString("  - " + a[i])
			i++
		default:
			w.WriteString("  + " + b[j])
			j++
		}
	}
	return w.String()
}
