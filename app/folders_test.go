package app

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sotto/app/screen"
	"sotto/app/store"
)

// TestChosenFolder holds that a folder is opened like any model, is there again after the next start, and is told gone
// when it is.
func TestChosenFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "large")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		builtin := func(_ *rig, o *RuntimeOptions) {
			o.Models = []screen.ModelChoice{{Name: "tiny", Title: "tiny"}}
		}
		g := newRig(t, builtin)
		v := g.send(screen.OpenSettings{}, screen.ChooseFolder{}, screen.FolderChosen{Path: dir + "/"})
		if v.Chat.Model.Text != "large" || !slices.Equal(g.opens, []string{"", dir}) {
			t.Errorf("model %q after opening %q", v.Chat.Model.Text, g.opens)
		}
		if !slices.ContainsFunc(g.commands(), func(c screen.Command) bool { return c == screen.AskFolder{} }) {
			t.Errorf("nobody was asked for a folder: %v", g.commands())
		}
		if err := g.quit(); err != nil {
			t.Error(err)
		}
		kept := g.memory.settings
		if kept.Model != dir || !slices.Equal(kept.Folders, []string{dir}) {
			t.Fatalf("kept %+v", kept)
		}
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		g = newRig(t, func(g *rig, o *RuntimeOptions) {
			builtin(g, o)
			g.memory.settings = kept
		})
		v = g.send(screen.OpenSettings{})
		want := []screen.ModelChoice{{Name: "tiny", Title: "tiny"}, {Name: dir, Title: "large (gone)"}}
		if !slices.Equal(v.Settings.Models, want) || v.Settings.Model != dir {
			t.Errorf("chosen is %q of %+v", v.Settings.Model, v.Settings.Models)
		}
		if err := g.quit(); err != nil {
			t.Error(err)
		}
	})
}

// TestModelOfOneRun holds that what the command line names is opened and not kept.
func TestModelOfOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, func(g *rig, o *RuntimeOptions) {
			g.memory.settings.Model, o.Model = "stored", "/models/run"
		})
		g.send(screen.SetField{Field: screen.FieldSystem, Text: "Be brief"})
		g.after(time.Minute)
		if err := g.quit(); err != nil {
			t.Error(err)
		}
		if !slices.Equal(g.opens, []string{"/models/run"}) {
			t.Errorf("opened %q", g.opens)
		}
		if s := g.memory.settings; s.Model != "stored" || len(s.Folders) != 0 || s.System != "Be brief" {
			t.Errorf("kept %+v", s)
		}
	})
}

// TestUnreadSettings holds that settings that could not be read at the start are not written over when one is changed.
func TestUnreadSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := store.Settings{Model: "stored", System: "Old", Port: 9001}
		g := newRig(t, func(g *rig, _ *RuntimeOptions) {
			g.memory.settings, g.memory.unset = old, store.ErrLocked
		})
		v := g.send(screen.SetField{Field: screen.FieldSystem, Text: "New"}, screen.FolderChosen{Path: "/models/large"})
		if !strings.Contains(v.Chat.Notice, "They stay as they are") || v.Settings.System.Text != "New" {
			t.Errorf("notice %q, system prompt %q", v.Chat.Notice, v.Settings.System.Text)
		}
		g.after(time.Minute)
		if err := g.quit(); err != nil {
			t.Error(err)
		}
		if !reflect.DeepEqual(g.memory.settings, old) {
			t.Errorf("the old settings became %+v", g.memory.settings)
		}
	})
}

// TestLaunchWithModel holds that a folder may be named from where the program was started.
func TestLaunchWithModel(t *testing.T) {
	home(t)
	t.Chdir(t.TempDir())
	copied(t, "model")
	r, err := Launch(LaunchOptions{Open: Options{Driver: defaultDriver, Model: "model"}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(t.Context()) }()
	eventually(t, r, "the model", func(v *screen.View) bool { return v.Chat.Model.State == screen.ModelIsReady })
	v := r.View()
	if v.Chat.Model.Name != "model" || !filepath.IsAbs(v.Settings.Model) || v.Chat.Model.Note != "" {
		t.Errorf("model %+v, chosen %q", v.Chat.Model, v.Settings.Model)
	}
	r.Send(screen.Quit{})
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
