package app

import (
	"errors"
	"fmt"
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

var errDisk = errors.New("no space left on device")

func TestRuntimeAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, nil)
		v := g.send(screen.Send{Text: "Hello"})
		if !v.Chat.CanStop || v.Status.Icon != screen.IconGenerating || !v.Chat.Transcript.Messages[1].Streaming {
			t.Errorf("asked: %+v", v.Chat.Transcript)
		}
		if v = g.after(250 * time.Millisecond); text(v.Chat.Transcript.Messages, 1) != "one two" {
			t.Errorf("after two words: %q", text(v.Chat.Transcript.Messages, 1))
		}
		if v = g.after(time.Second); text(v.Chat.Transcript.Messages, 1) != "one two three" || v.Chat.CanStop {
			t.Errorf("at the end: %+v", v.Chat.Transcript.Messages[1])
		}
		select {
		case <-g.r.Changed():
		default:
			t.Error("no signal of a change")
		}
		v = g.send(screen.Send{Text: "too long"})
		if e := v.Chat.Transcript.Messages[3].Error.Text; !strings.Contains(e, "9,000") || !strings.Contains(e,
			"2,000") {
			t.Errorf("too long: %q", e)
		}
		if err := g.quit(); err != nil {
			t.Error(err)
		}
		if got := g.memory.texts(1); !slices.Equal(got, []string{"Hello", "one two three", "too long", "error"}) {
			t.Errorf("stored %q", got)
		}
		if len(g.r.cancels) != 0 {
			t.Errorf("%d answers are still to be cancelled", len(g.r.cancels))
		}
		if c := g.commands(); len(c) == 0 || c[len(c)-1] != (screen.QuitNow{}) {
			t.Errorf("commands %v", c)
		}
		if !slices.Equal(g.closed, []string{""}) {
			t.Errorf("closed models %q", g.closed)
		}
		g.r.Send(screen.NewChat{}) // dropped, and does not block
	})
}

func TestRuntimeStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, nil)
		g.send(screen.Send{Text: "Hello"})
		g.after(150 * time.Millisecond)
		v := g.send(screen.Stop{})
		if m := v.Chat.Transcript.Messages[1]; m.Streaming || m.Note != "Stopped" || text(v.Chat.Transcript.Messages,
			1) != "one" {
			t.Errorf("stopped: %+v", m)
		}
		if err := g.quit(); err != nil {
			t.Error(err)
		}
	})
}

// TestUnreadStore holds that what could not be read at the start is not written over when it can be written later.
func TestUnreadStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := store.Conversation{ID: 1, First: "Old", Nodes: []store.Node{{ID: 1, Role: "user", Content: "Old"}}}
		desk := store.Desk{Selected: 1, Draft: "half a thought"}
		g := newRig(t, func(g *rig, _ *RuntimeOptions) {
			g.memory.chats[1], g.memory.desk, g.memory.unread = old, desk, store.ErrLocked
		})
		v := g.send(screen.Send{Text: "New"})
		if !strings.Contains(v.Chat.Notice, "cannot be read") {
			t.Errorf("notice %q", v.Chat.Notice)
		}
		g.after(time.Minute)
		if err := g.quit(); err != nil {
			t.Error(err)
		}
		if got := g.memory.chat(1); !reflect.DeepEqual(got, old) {
			t.Errorf("the old conversation became %+v", got)
		}
		if len(g.memory.chats) != 2 {
			t.Errorf("%d conversations, want the new one beside the old one", len(g.memory.chats))
		}
		if g.memory.desk != desk {
			t.Errorf("where the user left off became %+v", g.memory.desk)
		}
	})
}

// TestUndeleted tells that what was deleted could not be removed, and not that settings cannot be read.
func TestUndeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, func(g *rig, _ *RuntimeOptions) { g.memory.kept = errDisk })
		if got := g.send().Chat.Notice; !strings.HasPrefix(got, "What was deleted is still on the disk: no space") {
			t.Errorf("notice %q", got)
		}
		if err := g.quit(); err != nil {
			t.Error(err)
		}
	})
}

// TestStalledEngine holds that an engine that hangs, and does not even look at its context, keeps nobody waiting.
func TestStalledEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, nil)
		g.teller.stalled = make(chan struct{})
		defer close(g.teller.stalled)
		g.send(screen.Send{Text: "Hello"})
		g.after(2 * time.Second)
		begin := time.Now()
		for i := range 3000 {
			g.r.Send(screen.ComposerChanged{Text: fmt.Sprint(i)})
		}
		v := g.send(screen.Stop{}, screen.SelectChat{ID: 1})
		if d := time.Since(begin); d != 0 {
			t.Errorf("3,000 messages took %v", d)
		}
		if v.Chat.Composer.Text != "2999" || !v.Chat.Transcript.Messages[1].Streaming {
			t.Errorf("composer %q, answer %+v", v.Chat.Composer.Text, v.Chat.Transcript.Messages[1])
		}
		if err := g.quit(); err == nil || !strings.Contains(err.Error(), "did not come to an end") {
			t.Errorf("quit: %v", err)
		}
		if d := time.Since(begin); d > 10*time.Second {
			t.Errorf("quitting took %v", d)
		}
		if got := g.memory.texts(1); !slices.Equal(got, []string{"Hello", "one stopped"}) {
			t.Errorf("stored %q", got)
		}
	})
}

func TestStalledDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, nil)
		stall := make(chan struct{})
		defer close(stall)
		g.memory.set(nil, stall)
		g.send(screen.Send{Text: "Hello"})
		v := g.after(time.Second)
		if text(v.Chat.Transcript.Messages, 1) != "one two three" {
			t.Errorf("answer %+v", v.Chat.Transcript.Messages[1])
		}
		v = g.send(screen.NewChat{}, screen.Quit{})
		if !v.Quitting {
			t.Error("not quitting")
		}
		if v = g.after(6 * time.Second); !strings.Contains(v.Chat.Notice, "Quit again") {
			t.Errorf("notice %q", v.Chat.Notice)
		}
		if err := g.quit(); err == nil {
			t.Error("no error of a disk that stalled")
		}
	})
}

// TestQuitWhileAnswering holds that the answers of all doors end and that what there is of them is kept, whether the
// user quits or the program is told to end while no front end takes commands.
func TestQuitWhileAnswering(t *testing.T) {
	for _, how := range []string{"asked", "context ends"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, func(g *rig, _ *RuntimeOptions) { g.deaf = how != "asked" })
				g.send(screen.Send{Text: "Hello"})
				g.send(screen.QuickAsk{Text: "And?"}, screen.ComposerChanged{Text: "draft"})
				g.after(150 * time.Millisecond)
				if how == "asked" {
					g.r.Send(screen.Quit{})
				} else {
					g.cancel()
				}
				if err := <-g.ended; err != nil {
					t.Error(err)
				}
				if got := g.memory.texts(1); !slices.Equal(got, []string{"Hello", "one stopped"}) {
					t.Errorf("stored %q", got)
				}
				if d := g.memory.chat(1).Draft; d != "draft" {
					t.Errorf("draft %q", d)
				}
			})
		})
	}
}

// TestDeafFrontEnd holds that a front end that takes no commands cannot keep the program from ending.
func TestDeafFrontEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, func(g *rig, _ *RuntimeOptions) { g.deaf = true })
		for range 2 * inbox {
			g.r.Send(screen.OpenWindow{})
		}
		if v := g.send(screen.ComposerChanged{Text: "still there"}); v.Chat.Composer.Text != "still there" {
			t.Errorf("composer %q", v.Chat.Composer.Text)
		}
		if err := g.quit(); err != nil {
			t.Error(err)
		}
	})
}

func TestTwoDoors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, nil)
		g.send(screen.Send{Text: "Hello"})
		g.send(screen.QuickAsk{Text: "And?"})
		v := g.send(screen.ServiceCall{Call: 1, Kind: screen.Explain, Text: "entropy", CanReplace: true})
		if v.Status.Menu[0].Title != "the model answers in the window" {
			t.Errorf("served: %q", v.Status.Menu[0].Title)
		}
		v = g.after(350 * time.Millisecond)
		if text(v.Chat.Transcript.Messages, 1) != "one two three" || text(v.Quick.Messages, 1) != "" ||
			v.Quick.Messages[1].Waiting == "" || v.Status.Menu[0].Title != "the model answers in the quick prompt" {
			t.Errorf("after the first: %q, %+v, %q", text(v.Chat.Transcript.Messages, 1), v.Quick.Messages[1],
				v.Status.Menu[0].Title)
		}
		v = g.after(time.Second)
		if text(v.Quick.Messages, 1) != "one two three" || !v.Service.CanReplace {
			t.Errorf("at the end: %+v, %+v", v.Quick.Messages, v.Service)
		}
		g.send(screen.ServiceReplace{})
		if !slices.Contains(g.commands(), screen.Command(screen.ReplaceSelection{Call: 1, Text: "one two three"})) {
			t.Errorf("commands %v", g.commands())
		}
		if err := g.quit(); err != nil {
			t.Error(err)
		}
	})
}

// TestStoreFailure holds that a full disk is told, loses nothing and is forgotten when it has room again.
func TestStoreFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, nil)
		g.memory.set(errDisk, nil)
		g.send(screen.Send{Text: "Hello"})
		v := g.after(time.Second)
		if !strings.Contains(v.Chat.Notice, errDisk.Error()) || v.Status.Icon != screen.IconError {
			t.Errorf("notice %q, icon %d", v.Chat.Notice, v.Status.Icon)
		}
		g.send(screen.NewChat{}, screen.Send{Text: "Second"})
		g.after(time.Minute)
		if g.memory.writes > 100 {
			t.Errorf("%d tries in a minute", g.memory.writes)
		}
		g.send(screen.Quit{})
		v = g.after(time.Second)
		if !strings.Contains(v.Chat.Notice, errDisk.Error()) || v.Quitting {
			t.Errorf("quit with a full disk: notice %q, quitting %v", v.Chat.Notice, v.Quitting)
		}
		g.memory.set(nil, nil)
		if v = g.after(time.Minute); strings.Contains(v.Chat.Notice, "tries again") {
			t.Errorf("notice %q after the disk has room", v.Chat.Notice)
		}
		for id, want := range map[uint64]string{1: "Hello", 2: "Second"} {
			if got := g.memory.texts(id); !slices.Equal(got, []string{want, "one two three"}) {
				t.Errorf("conversation %d: stored %q", id, got)
			}
		}
		if err := g.quit(); err != nil {
			t.Error(err)
		}
	})
}

func TestSecondRuntime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lock string
		g := newRig(t, func(_ *rig, o *RuntimeOptions) { lock = o.Lock })
		_, err := NewRuntime(RuntimeOptions{Lock: lock})
		if !errors.Is(err, ErrRunning) || !strings.Contains(err.Error(), "running already") {
			t.Errorf("second runtime: %v", err)
		}
		if err := g.quit(); err != nil {
			t.Error(err)
		}
		r, err := NewRuntime(RuntimeOptions{Lock: lock})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.lock.Release(); err != nil {
			t.Error(err)
		}
		if _, err := NewRuntime(RuntimeOptions{Lock: filepath.Join(lock, "inside a file")}); err == nil ||
			errors.Is(err, ErrRunning) {
			t.Errorf("a lock that cannot be made: %v", err)
		}
	})
}

func TestModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, nil)
		g.send(screen.Send{Text: "Hello"})
		g.after(150 * time.Millisecond)
		v := g.send(screen.SetModel{Name: "slow"})
		if m := v.Chat.Transcript.Messages[1]; m.Note != "Stopped" || v.Chat.Model.Text != "Packing slow: 99 %" {
			t.Errorf("another model: answer %+v, %q", m, v.Chat.Model.Text)
		}
		v = g.send(screen.SetModel{Name: "none"})
		if v.Chat.Model.State != screen.ModelHasFailed || v.Chat.Model.Text != "No model of that name" {
			t.Errorf("a model that fails: %+v", v.Chat.Model)
		}
		v = g.send(screen.SetModel{Name: "other"}, screen.NewChat{}, screen.Send{Text: "Again"})
		if v.Chat.Model.Name != "other" {
			t.Errorf("model %+v", v.Chat.Model)
		}
		if v = g.after(time.Second); text(v.Chat.Transcript.Messages, 1) != "one two three" {
			t.Errorf("answer %q", text(v.Chat.Transcript.Messages, 1))
		}
		if !slices.Equal(g.opens, []string{"", "slow", "none", "other"}) || !slices.Equal(g.closed, []string{""}) {
			t.Errorf("opened %q, closed %q", g.opens, g.closed)
		}
		if g.memory.settings.Model != "other" {
			t.Errorf("stored model %q", g.memory.settings.Model)
		}
		if err := g.quit(); err != nil {
			t.Error(err)
		}
	})
}

func TestSubmitWithoutModel(t *testing.T) {
	g := &Gate{}
	for _, err := range g.Submit(t.Context(), job("x")) {
		if !errors.Is(err, ErrNoModel) {
			t.Errorf("got %v", err)
		}
	}
	if err := g.shut(); err != nil {
		t.Error(err)
	}
}

// fakeServer is an API that says where it is.
type fakeServer struct {
	address string
	closed  *[]string
	err     error
}

func (f *fakeServer) Address() string { return f.address }
func (f *fakeServer) Close() error    { *f.closed = append(*f.closed, f.address); return f.err }

func TestAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed []string
		g := newRig(t, func(g *rig, o *RuntimeOptions) {
			o.Serve = func(port int, _ *Gate) (Server, error) {
				switch port {
				case 2000:
					return nil, errors.New("port 2000 is taken")
				case 3000:
					return &fakeServer{"127.0.0.1:3000", &closed, errors.New("it broke")}, nil
				}
				return &fakeServer{fmt.Sprintf("127.0.0.1:%d", port), &closed, nil}, nil
			}
			g.memory.settings.API, g.memory.settings.Port = true, 4000
		})
		if v := g.r.View(); v.Settings.APIText != "Listening on http://127.0.0.1:4000" {
			t.Errorf("at the start: %+v", v.Settings)
		}
		port := func(n string) *screen.View {
			g.send(screen.SetField{Field: screen.FieldPort, Text: n})
			g.after(time.Minute) // until it is the whole number that is meant
			return g.send(screen.FieldDone{Field: screen.FieldPort})
		}
		if v := port("2000"); !v.Settings.APIFailed || v.Settings.APIText != "Port 2000 is taken" {
			t.Errorf("a port that is taken: %+v", v.Settings)
		}
		if v := port("3000"); v.Settings.APIText != "Listening on http://127.0.0.1:3000" {
			t.Errorf("another port: %+v", v.Settings)
		}
		if v := g.send(screen.SetAPI{On: false}); v.Settings.APIOn || v.Settings.APIText != "Off" {
			t.Errorf("switched off: %+v", v.Settings)
		}
		g.send(screen.SetField{Field: screen.FieldPort, Text: "5000"}, screen.SetAPI{On: true})
		if err := g.quit(); err != nil {
			t.Error(err)
		}
		if !slices.Equal(closed, []string{"127.0.0.1:4000", "127.0.0.1:3000", "127.0.0.1:5000"}) {
			t.Errorf("closed %q", closed)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, nil)
		if v := g.send(screen.SetAPI{On: true}); !v.Settings.APIFailed {
			t.Errorf("without an API: %+v", v.Settings)
		}
		if err := g.quit(); err != nil {
			t.Error(err)
		}
	})
}

// TestStartAgain holds that a second run finds what the first one left.
func TestStartAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, nil)
		g.send(screen.Send{Text: "Hello"})
		g.send(screen.NewChat{}, screen.Send{Text: "Second"})
		g.after(time.Second)
		g.send(screen.ComposerChanged{Text: "a draft"}, screen.RenameChat{ID: 1, Title: "First"},
			screen.SetField{Field: screen.FieldSystem, Text: "Be kind"}, screen.NewChat{}, screen.Send{Text: "Third"})
		g.after(time.Second)
		g.send(screen.DeleteChat{ID: 3}, screen.SelectChat{ID: 2})
		if err := g.quit(); err != nil {
			t.Error(err)
		}
		kept := g.memory
		kept.damaged = 1
		g = newRig(t, func(g *rig, o *RuntimeOptions) { g.memory, o.Store = kept, kept })
		v := g.r.View()
		c := v.Chat
		if c.Transcript.Conversation != 2 || text(c.Transcript.Messages, 1) != "one two three" ||
			c.Composer.Text != "a draft" ||
			len(c.Sidebar.Days) != 1 || len(c.Sidebar.Days[0].Rows) != 2 ||
			c.Sidebar.Days[0].Rows[1].Title != "First" ||
			v.Settings.System.Text != "Be kind" {
			t.Errorf("found %+v, %+v, %+v, %+v", c.Sidebar, c.Transcript, c.Composer, v.Settings.System)
		}
		if v = g.send(screen.SelectChat{ID: 1}); v.Chat.Transcript.EmptyTitle != "Damaged" || v.Chat.Composer.CanSend {
			t.Errorf("damaged: %+v", v.Chat.Transcript)
		}
		if err := g.quit(); err != nil {
			t.Error(err)
		}
	})
}
