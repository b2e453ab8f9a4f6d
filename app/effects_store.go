package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"sotto/app/screen"
	"sotto/app/store"
)

// Keeper is what the runtime needs of a [store.Store].
type Keeper interface {
	Conversations() (store.Listing, error)
	Conversation(id uint64) (c store.Conversation, damaged int, err error)
	SaveConversation(store.Conversation) error
	Trash(id uint64) error
	Restore(id uint64) error
	Purge(id uint64) error
	EmptyTrash() error
	Settings() (store.Settings, error)
	SaveSettings(store.Settings) error
	Desk() (store.Desk, error)
	SaveDesk(store.Desk) error
}

// writer writes what the state wants kept, in order, on a goroutine of its own. What cannot be written stays and is
// tried again; it grows no further than one entry a conversation for each time that it was deleted and brought back.
type writer struct {
	keeper Keeper
	tell   func(screen.Msg)
	wake   chan struct{}

	mu   sync.Mutex
	todo []screen.Effect
}

const (
	firstPause   = time.Second
	longestPause = 30 * time.Second
)

// add queues a write.
func (w *writer) add(e screen.Effect) {
	w.mu.Lock()
	w.todo = merge(w.todo, e)
	w.mu.Unlock()
	signal(w.wake)
}

// next takes the oldest write out.
func (w *writer) next() (screen.Effect, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.todo) == 0 {
		return nil, false
	}
	e := w.todo[0]
	w.todo = w.todo[1:]
	return e, true
}

// putBack keeps a write that failed, and says whether somebody waits for all writes, who then need not wait longer.
func (w *writer) putBack(e screen.Effect) (flush bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := slices.DeleteFunc(w.todo, func(e screen.Effect) bool {
		_, is := e.(screen.Flush)
		flush = flush || is
		return is
	})
	w.todo = []screen.Effect{e}
	for _, e := range rest {
		w.todo = merge(w.todo, e)
	}
	return flush
}

func (w *writer) run(ctx context.Context) {
	told := "" // the failure that was told last, "" while all is well
	pause := firstPause
	for ctx.Err() == nil {
		e, ok := w.next()
		if !ok {
			select {
			case <-w.wake:
			case <-ctx.Done():
			}
			continue
		}
		err := w.write(e)
		if err == nil {
			if told != "" {
				w.tell(screen.SaveRecovered{})
			}
			told, pause = "", firstPause
			continue
		}
		if told != err.Error() {
			w.tell(screen.SaveFailed{Err: err})
			told = err.Error()
		}
		if w.putBack(e) {
			w.tell(screen.Flushed{Err: err})
		}
		select {
		case <-w.wake:
		case <-time.After(pause):
			pause = min(2*pause, longestPause)
		case <-ctx.Done():
		}
	}
}

// write carries out one write.
func (w *writer) write(e screen.Effect) error {
	switch e := e.(type) {
	case screen.Save:
		return w.keeper.SaveConversation(toStore(e.Conversation))
	case screen.Trash:
		return w.keeper.Trash(uint64(e.ID))
	case screen.Restore:
		return w.keeper.Restore(uint64(e.ID))
	case screen.Purge:
		return w.keeper.Purge(uint64(e.ID))
	case screen.SaveSettings:
		return w.keeper.SaveSettings(store.Settings(e.Settings))
	case screen.SaveDesk:
		return w.keeper.SaveDesk(store.Desk{Selected: uint64(e.Desk.Selected), Draft: e.Desk.Draft})
	case screen.Flush:
		w.tell(screen.Flushed{})
		return nil
	}
	return fmt.Errorf("%T is no write", e)
}

// merge adds a write to a list. Writes of the same thing become one, where nothing between them is about it.
func merge(todo []screen.Effect, e screen.Effect) []screen.Effect {
	switch e := e.(type) {
	case screen.Save:
		for i := len(todo) - 1; i >= 0; i-- {
			if old, ok := todo[i].(screen.Save); ok && old.Conversation.ID == e.Conversation.ID {
				out := slices.Clone(todo)
				out[i] = join(old, e)
				return out
			}
			if about(todo[i]) == e.Conversation.ID {
				break
			}
		}
	case screen.SaveSettings:
		todo = slices.DeleteFunc(slices.Clone(todo), func(o screen.Effect) bool {
			_, is := o.(screen.SaveSettings)
			return is
		})
	case screen.SaveDesk:
		todo = slices.DeleteFunc(slices.Clone(todo), func(o screen.Effect) bool {
			_, is := o.(screen.SaveDesk)
			return is
		})
	default:
	}
	return append(todo, e)
}

// about is the conversation that a write hides, brings back or deletes, 0 for none.
func about(e screen.Effect) screen.ConversationID {
	switch e := e.(type) {
	case screen.Trash:
		return e.ID
	case screen.Restore:
		return e.ID
	case screen.Purge:
		return e.ID
	default:
		return 0
	}
}

// join makes one write of two of the same conversation.
func join(old, e screen.Save) screen.Save {
	nodes := slices.DeleteFunc(slices.Clone(old.Conversation.Nodes), func(n screen.Node) bool {
		return slices.ContainsFunc(e.Conversation.Nodes, func(m screen.Node) bool { return m.ID == n.ID })
	})
	e.Conversation.Nodes = append(nodes, e.Conversation.Nodes...)
	return e
}

// readAll reads what there is at the start.
func readAll(o RuntimeOptions) screen.Loaded {
	k := o.Store
	out := screen.Loaded{Models: o.Models, Model: o.Model}
	list, err := k.Conversations()
	if err != nil {
		// Which numbers are taken is not known; none is this one, so nothing is written over when the store is back.
		out.Err, out.LastID = err, screen.ConversationID(time.Now().UnixNano())
		out.Unread = screen.Unread{Conversations: true, Settings: true, Desk: true}
		return out
	}
	out.LastID, out.Damaged = screen.ConversationID(list.LastID), len(list.Damaged)
	for _, c := range list.Heads {
		out.Conversations = append(out.Conversations, fromStore(c))
	}
	settings, err := k.Settings()
	out.Settings, out.Err, out.Unread.Settings = screen.Settings(settings), err, mayBeWhole(err)
	desk, err := k.Desk()
	out.Unread.Desk = mayBeWhole(err)
	if err == nil {
		out.Undeleted = k.EmptyTrash() // what was deleted in the last run cannot be brought back any more
	}
	if out.Err == nil {
		out.Err = err
	}
	out.Desk = screen.Desk{Selected: screen.ConversationID(desk.Selected), Draft: desk.Draft}
	return out
}

// mayBeWhole says whether what was not read because of an error may be read another time. What is damaged cannot: the
// store sets it aside where something takes its place.
func mayBeWhole(err error) bool { return err != nil && !errors.Is(err, store.ErrDamaged) }

// readOne reads the messages of a conversation.
func readOne(k Keeper, id screen.ConversationID) screen.Msg {
	c, damaged, err := k.Conversation(uint64(id))
	if err != nil {
		return screen.ConversationFailed{ID: id, Err: err}
	}
	return screen.ConversationLoaded{Conversation: fromStore(c), Damaged: damaged, LastNode: screen.NodeID(c.Last)}
}

// look says which of some folders are not there.
func look(folders []string) screen.FoldersSeen {
	return screen.FoldersSeen{Gone: slices.DeleteFunc(slices.Clone(folders), func(f string) bool {
		info, err := os.Stat(f)
		return err == nil && info.IsDir()
	})}
}
