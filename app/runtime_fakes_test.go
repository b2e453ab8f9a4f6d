package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sotto/app/sched"
	"sotto/app/screen"
	"sotto/app/store"
	"sotto/engine"
)

// memory is a Keeper without a file. It fails or stalls on demand.
type memory struct {
	mu       sync.Mutex
	chats    map[uint64]store.Conversation
	trash    map[uint64]bool
	settings store.Settings
	desk     store.Desk
	writes   int
	fail     error
	stall    chan struct{} // writes wait until it is closed
	damaged  uint64        // a conversation that cannot be read
	unread   error         // of listing the conversations
	unset    error         // of reading the settings
	kept     error         // of deleting what is in the trash
}

func newMemory() *memory {
	return &memory{chats: map[uint64]store.Conversation{}, trash: map[uint64]bool{}}
}

func (m *memory) write(fn func()) error {
	m.mu.Lock()
	stall := m.stall
	m.mu.Unlock()
	if stall != nil {
		<-stall
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes++
	if m.fail != nil {
		return m.fail
	}
	fn()
	return nil
}

func (m *memory) Conversations() (store.Listing, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var l store.Listing
	if m.unread != nil {
		return l, m.unread
	}
	for id, c := range m.chats {
		l.LastID = max(l.LastID, id)
		if !m.trash[id] {
			c.Nodes = nil
			l.Heads = append(l.Heads, c)
		}
	}
	return l, nil
}

func (m *memory) Conversation(id uint64) (store.Conversation, int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if id == m.damaged {
		return store.Conversation{}, 0, store.ErrDamaged
	}
	return m.chats[id], 0, nil
}

func (m *memory) SaveConversation(c store.Conversation) error {
	return m.write(func() {
		nodes := map[int]store.Node{}
		for _, n := range slices.Concat(m.chats[c.ID].Nodes, c.Nodes) {
			nodes[n.ID] = n
		}
		c.Nodes = nil
		for _, id := range slices.Sorted(maps.Keys(nodes)) {
			c.Nodes = append(c.Nodes, nodes[id])
		}
		m.chats[c.ID] = c
	})
}
func (m *memory) Trash(id uint64) error   { return m.write(func() { m.trash[id] = true }) }
func (m *memory) Restore(id uint64) error { return m.write(func() { delete(m.trash, id) }) }
func (m *memory) Purge(id uint64) error {
	return m.write(func() { delete(m.trash, id); delete(m.chats, id) })
}
func (m *memory) EmptyTrash() error                   { return m.kept }
func (m *memory) Settings() (store.Settings, error)   { return m.settings, m.unset }
func (m *memory) SaveSettings(s store.Settings) error { return m.write(func() { m.settings = s }) }
func (m *memory) Desk() (store.Desk, error)           { return m.desk, nil }
func (m *memory) SaveDesk(d store.Desk) error         { return m.write(func() { m.desk = d }) }
func (m *memory) set(fail error, stall chan struct{}) {
	m.mu.Lock()
	m.fail, m.stall = fail, stall
	m.mu.Unlock()
}

func (m *memory) chat(id uint64) store.Conversation {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.chats[id]
}

func (m *memory) texts(id uint64) (list []string) {
	for _, n := range m.chat(id).Nodes {
		list = append(list, fmt.Sprintf("%s%s", n.Content, n.Reason))
	}
	return list
}

// teller is a Generator that says words one after another.
type teller struct {
	words   []string
	every   time.Duration
	stalled chan struct{} // after the first word it waits for this, whatever its context says; nil: it does not
}

func (s *teller) Generate(ctx context.Context, r engine.Request) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		if last := r.Messages[len(r.Messages)-1].Content; last == "too long" {
			yield(engine.Event{}, &engine.WindowError{Prompt: 9000, Window: 2000})
			return
		}
		if !yield(engine.Event{Kind: engine.Reading, Read: 1, Total: 1}, nil) {
			return
		}
		text, reason := "", engine.ReasonStop
		for i, w := range s.words {
			if i == 1 && s.stalled != nil {
				<-s.stalled
			}
			select {
			case <-ctx.Done():
			case <-time.After(s.every):
			}
			if ctx.Err() != nil {
				reason = engine.ReasonCancelled
				break
			}
			text += w
			if !yield(engine.Event{Kind: engine.Text, Text: w}, nil) {
				return
			}
		}
		m := engine.Message{Role: engine.Assistant, Content: text}
		yield(engine.Event{Kind: engine.Finished, Result: engine.Result{Reason: reason, Text: text, Message: m}}, nil)
	}
}

// fakeModel is a model behind a real queue.
type fakeModel struct {
	name   string
	queue  *sched.Queue
	closed *[]string
}

func (f *fakeModel) Info() screen.ModelInfo { return screen.ModelInfo{Name: f.name} }
func (f *fakeModel) Submit(ctx context.Context, j sched.Job) iter.Seq2[engine.Event, error] {
	return f.queue.Submit(ctx, j)
}

func (f *fakeModel) Close() error {
	f.queue.Close()
	*f.closed = append(*f.closed, f.name)
	return nil
}

// rig is a runtime with fakes around it.
type rig struct {
	t      *testing.T
	r      *Runtime
	memory *memory
	teller *teller
	opens  []string
	closed []string
	ended  chan error
	said   []screen.Command
	mu     sync.Mutex
	cancel context.CancelFunc // of Run's context
	deaf   bool               // nobody takes the commands
	before func(*Runtime)     // called before it runs
}

var errNoSuchModel = errors.New("no model of that name")

// openModel is the Open of a rig. "slow" takes a minute unless it is cancelled, "none" fails.
func (g *rig) openModel(ctx context.Context, name string, loading func(Loading), serving func(string)) (Answers,
	error,
) {
	g.opens = append(g.opens, name)
	for i := range int64(1000) {
		loading(Loading{name, engine.Loading{Stage: "packing", Done: i, Total: 1000}})
	}
	switch name {
	case "none", "/none":
		return nil, errNoSuchModel
	case "slow":
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Minute):
		}
	}
	q := sched.New(func() sched.Generator { return g.teller }, sched.Options{
		Sessions: 2, Changed: func(s sched.Status) { serving(s.Serving) },
	})
	return &fakeModel{name, q, &g.closed}, nil
}

// newRig starts a runtime; it must be called in a bubble. change may alter the options.
func newRig(t *testing.T, change func(*rig, *RuntimeOptions)) *rig {
	t.Helper()
	g := &rig{
		t: t, memory: newMemory(), ended: make(chan error, 1),
		teller: &teller{words: []string{"one ", "two ", "three"}, every: 100 * time.Millisecond},
	}
	o := RuntimeOptions{Store: g.memory, Lock: filepath.Join(t.TempDir(), "lock"), Open: g.openModel}
	if change != nil {
		change(g, &o)
	}
	r, err := NewRuntime(o)
	if err != nil {
		t.Fatal(err)
	}
	g.r = r
	if g.before != nil {
		g.before(r)
	}
	go func() {
		for c := range g.heard() {
			g.mu.Lock()
			g.said = append(g.said, c)
			g.mu.Unlock()
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	g.cancel = cancel
	go func() { g.ended <- r.Run(ctx) }()
	synctest.Wait()
	return g
}

// heard are the commands that the front end takes.
func (g *rig) heard() <-chan screen.Command {
	if g.deaf {
		closed := make(chan screen.Command)
		close(closed)
		return closed
	}
	return g.r.Commands()
}

// send hands in messages and waits until nothing moves any more.
func (g *rig) send(list ...screen.Msg) *screen.View {
	g.t.Helper()
	for _, m := range list {
		g.r.Send(m)
	}
	synctest.Wait()
	return g.r.View()
}

// after lets time pass.
func (g *rig) after(d time.Duration) *screen.View {
	time.Sleep(d)
	synctest.Wait()
	return g.r.View()
}

// quit ends the runtime and returns its error.
func (g *rig) quit() error {
	g.t.Helper()
	g.r.Send(screen.Quit{})
	select {
	case err := <-g.ended:
		synctest.Wait() // until the front end has heard its last command
		return err
	case <-time.After(time.Minute):
		g.t.Fatal("the runtime does not end")
		return nil
	}
}

func (g *rig) commands() []screen.Command {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.said)
}

// text is what an answer in a transcript looks like.
func text(list []screen.MessageView, at int) string {
	if at >= len(list) {
		return "(no message)"
	}
	out := ""
	for _, b := range list[at].Blocks {
		for _, r := range b.Runs {
			out += r.Text
		}
	}
	return out
}
