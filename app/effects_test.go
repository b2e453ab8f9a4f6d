package app

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sotto/app/sched"
	"sotto/app/screen"
	"sotto/app/server"
	"sotto/engine"
)

func job(text string) sched.Job {
	return sched.Job{Door: "test", Person: true, Request: engine.Request{
		Messages: []engine.Message{{Role: engine.User, Content: text}},
	}}
}

func TestMerge(t *testing.T) {
	save := func(id screen.ConversationID, title string, nodes ...screen.NodeID) screen.Effect {
		c := screen.Conversation{ID: id, Title: title}
		for _, n := range nodes {
			c.Nodes = append(c.Nodes, screen.Node{ID: n, Content: title})
		}
		return screen.Save{Conversation: c}
	}
	cases := []struct {
		name string
		add  []screen.Effect
		want string
	}{
		{
			"saves of one conversation",
			[]screen.Effect{save(1, "a", 1, 2), save(2, "x"), save(1, "b", 2, 3)},
			"save 1 b 1a 2b 3b; save 2 x",
		},
		{
			"not over its deletion",
			[]screen.Effect{save(1, "a"), screen.Trash{ID: 1}, save(1, "b")},
			"save 1 a; trash 1; save 1 b",
		},
		{"over another one's", []screen.Effect{save(1, "a"), screen.Purge{ID: 2}, save(1, "b")}, "save 1 b; purge 2"},
		{
			"after it came back",
			[]screen.Effect{screen.Restore{ID: 1}, save(1, "a"), save(1, "b")},
			"restore 1; save 1 b",
		},
		{"the last settings", []screen.Effect{
			screen.SaveSettings{}, screen.Flush{}, screen.SaveSettings{Settings: screen.Settings{Port: 1}},
		}, "flush; settings 1"},
		{
			"the last desk",
			[]screen.Effect{screen.SaveDesk{}, screen.SaveDesk{Desk: screen.Desk{Selected: 2}}},
			"desk 2",
		},
	}
	for _, tt := range cases {
		var todo []screen.Effect
		for _, e := range tt.add {
			before := fmt.Sprint(todo)
			next := merge(todo, e)
			if fmt.Sprint(todo) != before {
				t.Errorf("%s: the old list changed", tt.name)
			}
			todo = next
		}
		got := ""
		for i, e := range todo {
			if i > 0 {
				got += "; "
			}
			got += printWrite(e)
		}
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func printWrite(e screen.Effect) string {
	switch e := e.(type) {
	case screen.Save:
		out := fmt.Sprintf("save %d %s", e.Conversation.ID, e.Conversation.Title)
		for _, n := range e.Conversation.Nodes {
			out += fmt.Sprintf(" %d%s", n.ID, n.Content)
		}
		return out
	case screen.Trash:
		return fmt.Sprintf("trash %d", e.ID)
	case screen.Restore:
		return fmt.Sprintf("restore %d", e.ID)
	case screen.Purge:
		return fmt.Sprintf("purge %d", e.ID)
	case screen.SaveSettings:
		return fmt.Sprintf("settings %d", e.Settings.Port)
	case screen.SaveDesk:
		return fmt.Sprintf("desk %d", e.Desk.Selected)
	}
	return "flush"
}

// TestRecords holds that a conversation comes back from the store as it was.
func TestRecords(t *testing.T) {
	at := time.Date(2026, 3, 12, 12, 0, 0, 0, time.UTC)
	want := screen.Conversation{
		ID: 7, Title: "t", First: "f", Leaf: 3, Draft: "d", Created: at, Used: at.Add(1),
		Nodes: []screen.Node{
			{ID: 1, Role: screen.RoleUser, Content: "c", Created: at},
			{
				ID: 2, Parent: 1, Role: screen.RoleAssistant, Content: "c", Reasoning: "r", IDs: []int32{1, 2},
				Raw:     "raw",
				Figures: screen.Figures{Prompt: 1, Cached: 2, Completion: 3, FirstToken: 4, Prefill: 5, Decode: 6},
				Thought: 8, Model: "m", Created: at,
			},
		},
	}
	for r := screen.Complete; r <= screen.Interrupted; r++ {
		want.Nodes = append(want.Nodes, screen.Node{
			ID: screen.NodeID(3 + r), Parent: 1, Role: screen.RoleAssistant, Reason: r, Error: "e",
		})
	}
	if got := fromStore(toStore(want)); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDefaultPort(t *testing.T) {
	if screen.DefaultPort != server.DefaultPort {
		t.Errorf("the windows' port %d, the server's %d", screen.DefaultPort, server.DefaultPort)
	}
}

// TestQueueNeverWaitsForRuntime holds that telling who is served returns although nobody takes messages, and that the
// newest is what counts.
func TestQueueNeverWaitsForRuntime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, func(g *rig, _ *RuntimeOptions) {
			g.before = func(r *Runtime) {
				for range 2 * inbox {
					r.door.set("window")
					r.door.set("api")
				}
			}
		})
		if got, want := g.r.View().Status.Tooltip, "answers through the API"; !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
		if err := g.quit(); err != nil {
			t.Error(err)
		}
	})
}
