package app

import (
	"sotto/app/screen"
	"sotto/app/store"
)

// reasons are the names of how an answer ended, in the store.
var reasons = map[screen.Reason]string{
	screen.Complete: "", screen.Partial: "partial", screen.Cut: "length", screen.Stopped: "stopped",
	screen.Failed: "error", screen.Interrupted: "interrupted",
}

// toStore turns a conversation into its record.
func toStore(c screen.Conversation) store.Conversation {
	out := store.Conversation{
		ID: uint64(c.ID), Title: c.Title, First: c.First, Leaf: int(c.Leaf), Draft: c.Draft, Created: c.Created,
		Used: c.Used,
	}
	for _, n := range c.Nodes {
		role := "user"
		if n.Role == screen.RoleAssistant {
			role = "assistant"
		}
		var figures *store.Figures
		if n.Figures != (screen.Figures{}) {
			f := store.Figures(n.Figures)
			figures = &f
		}
		out.Nodes = append(out.Nodes, store.Node{
			ID: int(n.ID), Parent: int(n.Parent), Role: role, Content: n.Content, Reasoning: n.Reasoning, IDs: n.IDs,
			Raw:     n.Raw,
			Figures: figures, Thought: n.Thought, Reason: reasons[n.Reason], Error: n.Error, Model: n.Model,
			Created: n.Created,
		})
	}
	return out
}

// fromStore turns a record into a conversation. A reason that is not known counts as complete.
func fromStore(c store.Conversation) screen.Conversation {
	out := screen.Conversation{
		ID: screen.ConversationID(c.ID), Title: c.Title, First: c.First, Leaf: screen.NodeID(c.Leaf), Draft: c.Draft,
		Created: c.Created, Used: c.Used,
	}
	for _, n := range c.Nodes {
		m := screen.Node{
			ID: screen.NodeID(n.ID), Parent: screen.NodeID(n.Parent), Role: screen.RoleUser, Content: n.Content,
			Reasoning: n.Reasoning, IDs: n.IDs, Raw: n.Raw, Thought: n.Thought, Error: n.Error, Model: n.Model,
			Created: n.Created,
		}
		if n.Role == "assistant" {
			m.Role = screen.RoleAssistant
		}
		if n.Figures != nil {
			m.Figures = screen.Figures(*n.Figures)
		}
		for reason, name := range reasons {
			if name == n.Reason {
				m.Reason = reason
			}
		}
		out.Nodes = append(out.Nodes, m)
	}
	return out
}
