package screen

import (
	"slices"

	"sotto/engine"
)

// chat is a conversation in memory. It is not changed once it is part of a State.
type chat struct {
	head    Conversation // without nodes
	nodes   []*node      // by ID
	last    NodeID       // newest ID that was given
	kids    map[NodeID][]NodeID
	loaded  bool // the nodes are here
	asked   bool // they were asked for
	broken  string
	editing NodeID // the message that is in the composer
	edit    string // the composer's text meanwhile
}

// node is a message with what it looks like.
type node struct {
	Node
	body, thinking []Block
	open           bool // its thinking is unfolded
}

// draw makes what a stored message looks like.
func draw(n Node) *node {
	out := &node{Node: n}
	if n.Role == RoleUser {
		out.body = plain(n.Content)
	} else {
		out.body, out.thinking = blocksOf(n.Content), blocksOf(n.Reasoning)
	}
	return out
}

func (c *chat) clone() *chat {
	out := *c
	return &out
}

func (c *chat) find(id NodeID) (int, bool) {
	return slices.BinarySearchFunc(c.nodes, id, func(n *node, id NodeID) int { return int(n.ID - id) })
}

// node finds a message, nil if there is none.
func (c *chat) node(id NodeID) *node {
	if i, ok := c.find(id); ok {
		return c.nodes[i]
	}
	return nil
}

// with returns a copy in which a message is replaced.
func (c *chat) with(n *node) *chat {
	out := c.clone()
	if i, ok := c.find(n.ID); ok {
		out.nodes = slices.Clone(c.nodes)
		out.nodes[i] = n
	}
	return out
}

// grow returns a copy with a new message, which becomes the leaf, and that message.
func (c *chat) grow(n Node) (*chat, *node) {
	out := c.clone()
	out.last++
	n.ID = out.last
	added := draw(n)
	out.nodes = append(slices.Clone(c.nodes), added)
	out.kids = children(out.nodes)
	out.head.Leaf = n.ID
	return out, added
}

// fill returns a copy with the messages of the store. An answer that was still streaming was interrupted.
func (c *chat) fill(nodes []Node, last NodeID) *chat {
	out := c.clone()
	out.loaded, out.broken, out.last = true, "", last
	out.nodes = make([]*node, 0, len(nodes))
	for _, n := range nodes {
		if n.Reason == Partial {
			n.Reason = Interrupted
		}
		out.nodes = append(out.nodes, draw(n))
		out.last = max(out.last, n.ID)
	}
	out.kids = children(out.nodes)
	if out.node(out.head.Leaf) == nil {
		out.head.Leaf = out.deepest(0)
	}
	return out
}

func children(nodes []*node) map[NodeID][]NodeID {
	kids := make(map[NodeID][]NodeID, len(nodes))
	for _, n := range nodes {
		kids[n.Parent] = append(kids[n.Parent], n.ID)
	}
	return kids
}

// deepest follows the newest children.
func (c *chat) deepest(id NodeID) NodeID {
	for {
		next := c.kids[id]
		if len(next) == 0 {
			return id
		}
		id = next[len(next)-1]
	}
}

// path is the branch that ends at a message, first message first.
func (c *chat) path(leaf NodeID) []*node {
	var out []*node
	for id := leaf; id != 0; {
		n := c.node(id)
		if n == nil || n.Parent >= id {
			break
		}
		out = append(out, n)
		id = n.Parent
	}
	slices.Reverse(out)
	return out
}

// versions are the messages that stand in the same place, and the place of this one among them.
func (c *chat) versions(n *node) (list []NodeID, at int) {
	list = c.kids[n.Parent]
	return list, slices.Index(list, n.ID)
}

// messages are what the model reads to answer under a message of the user. Answers that came to nothing are left out,
// and what was said around them becomes one message.
func (c *chat) messages(parent NodeID, system string) []engine.Message {
	var out []engine.Message
	if system != "" {
		out = append(out, engine.Message{Role: engine.System, Content: system})
	}
	for _, n := range c.path(parent) {
		switch k := len(out); {
		case n.Role == RoleAssistant && n.Content == "" && n.Reasoning == "":
		case n.Role == RoleAssistant:
			out = append(out, engine.Message{
				Role: engine.Assistant, Content: n.Content, Reasoning: n.Reasoning, IDs: n.IDs, Raw: n.Raw,
			})
		case k > 0 && out[k-1].Role == engine.User:
			out[k-1].Content += "\n\n" + n.Content
		default:
			out = append(out, engine.Message{Role: engine.User, Content: n.Content})
		}
	}
	return out
}

// title is what the list shows.
func (c *chat) title() string {
	switch {
	case c.head.Title != "":
		return c.head.Title
	case c.head.First != "":
		return c.head.First
	}
	return "New Chat"
}

// stored is the conversation as the store takes it, with some of its messages.
func (c *chat) stored(nodes ...*node) Conversation {
	out := c.head
	for _, n := range nodes {
		out.Nodes = append(out.Nodes, n.Node)
	}
	return out
}
