package sched

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"slices"

	"sotto/engine"
)

// pool is a few sessions with what they have read. One caller at a time.
type pool struct {
	open  func() Generator
	size  int
	kept  []*kept
	clock uint64
}

// kept is a session and its conversation.
type kept struct {
	session Generator
	last    []engine.Message // what was asked and, if it has one, the answer; nil if unknown
	used    uint64
}

// generate answers a request with the session that fits best.
func (p *pool) generate(ctx context.Context, r engine.Request) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		k := p.pick(r.Messages)
		r.Messages = k.splice(r.Messages)
		k.last = nil
		for e, err := range k.session.Generate(ctx, r) {
			if err == nil && e.Kind == engine.Finished {
				k.keep(r.Messages, e.Result)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// pick returns the session whose conversation is the longest beginning of this one; without one a new session, and
// where there are enough of them the one that was used longest ago.
func (p *pool) pick(messages []engine.Message) *kept {
	var best *kept
	for _, k := range p.kept {
		if (best == nil || len(k.last) > len(best.last)) && begins(messages, k.last) {
			best = k
		}
	}
	if best == nil && len(p.kept) < p.size {
		best = &kept{session: p.open()}
		p.kept = append(p.kept, best)
	}
	if best == nil {
		best = slices.MinFunc(p.kept, func(a, b *kept) int { return cmp.Compare(a.used, b.used) })
	}
	p.clock++
	best.used = p.clock
	return best
}

// begins says whether a conversation begins with the one that a session has read, which is not empty.
func begins(messages, last []engine.Message) bool {
	return len(last) > 0 && len(last) <= len(messages) && slices.EqualFunc(last, messages[:len(last)], same)
}

// same says whether a message is the one that was read before. Clients may leave out the thinking.
func same(read, m engine.Message) bool {
	return read.Role == m.Role && read.Content == m.Content && read.Name == m.Name && read.ToolCallID == m.ToolCallID &&
		(m.Reasoning == read.Reasoning || m.Reasoning == "") &&
		slices.EqualFunc(read.ToolCalls, m.ToolCalls, func(a, b engine.ToolCall) bool {
			return a.ID == b.ID && a.Name == b.Name && bytes.Equal(a.Arguments, b.Arguments)
		})
}

// splice gives answers that this session made, and that come back as text, their tokens.
func (k *kept) splice(messages []engine.Message) []engine.Message {
	if !begins(messages, k.last) {
		return messages
	}
	messages = slices.Clone(messages)
	for i, m := range k.last {
		if messages[i].IDs == nil {
			messages[i].IDs, messages[i].Raw = m.IDs, m.Raw
		}
	}
	return messages
}

// keep notes what the session has read now. Text without messages has no conversation that could go on.
func (k *kept) keep(messages []engine.Message, r engine.Result) {
	if len(messages) == 0 {
		return
	}
	k.last = slices.Clone(messages)
	if len(r.IDs) > 0 || r.Reason != engine.ReasonCancelled {
		k.last = append(k.last, r.Message)
	}
}
