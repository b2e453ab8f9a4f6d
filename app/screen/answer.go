package screen

import (
	"slices"
	"strings"
	"time"

	"sotto/engine"
)

// saveEvery is how often an answer is saved while it streams.
const saveEvery = time.Second

// job is an answer under way. It is not changed once it is part of a State.
type job struct {
	id       JobID
	door     door
	conv     ConversationID
	node     NodeID
	sent     bool // the engine was asked
	stopping bool
	read     int // tokens of the prompt
	total    int

	content, reasoning string
	body, thinking     Doc
	first, thought     time.Time // of the first token, and of the end of the thinking

	rate  rate
	saved time.Time // when it was saved last
	fresh bool      // there is more than was saved
}

// ofMessages takes the events of answers.
func (u *step) ofMessages(m Msg) bool {
	switch m := m.(type) {
	case Answered:
		u.answered(m)
	case AnswerFailed:
		u.advance(m.At)
		if j := u.job(m.Job); j != nil {
			u.fail(j, m.Err)
		}
	default:
		return false
	}
	return true
}

func (s *State) job(id JobID) *job {
	i := slices.IndexFunc(s.jobs, func(j *job) bool { return j.id == id })
	if i < 0 {
		return nil
	}
	return s.jobs[i]
}

// busy is the answer under way in a conversation, nil if there is none.
func (s *State) busy(d door, id ConversationID) *job {
	i := slices.IndexFunc(s.jobs, func(j *job) bool { return j.door == d && j.conv == id })
	if i < 0 {
		return nil
	}
	return s.jobs[i]
}

// setJob replaces a job by its changed copy.
func (u *step) setJob(j *job) {
	u.jobs = slices.Clone(u.jobs)
	if i := slices.IndexFunc(u.jobs, func(k *job) bool { return k.id == j.id }); i >= 0 {
		u.jobs[i] = j
	} else {
		u.jobs = append(u.jobs, j)
	}
}

func (u *step) dropJob(id JobID) {
	u.jobs = slices.DeleteFunc(slices.Clone(u.jobs), func(j *job) bool { return j.id == id })
	u.listed = true
}

// ask adds an answer under a message of the user and asks the engine for it, now or when the model is ready.
func (u *step) ask(d door, c *chat, under NodeID, extra ...*node) {
	c, answer := c.grow(Node{Parent: under, Role: RoleAssistant, Reason: Partial, Model: u.model.name, Created: u.now})
	u.begin(d, c, answer, extra...)
}

// begin asks the engine for the text of an answer that is in the tree. extra are other messages that are new.
func (u *step) begin(d door, c *chat, answer *node, extra ...*node) {
	c.head.Used = u.now // grow and with have made c a copy
	u.put(d, c)
	u.save(d, c, append(extra, answer)...)
	u.lastJob++
	j := &job{id: u.lastJob, door: d, conv: c.head.ID, node: answer.ID, saved: u.now}
	u.setJob(j)
	u.listed = true
	if u.model.state == ModelHasFailed {
		u.loadModel()
	}
	u.submit(j)
}

// save writes messages of a conversation; only those of the window are kept.
func (u *step) save(d door, c *chat, nodes ...*node) {
	if d == inWindow && c.head.ID != 0 {
		u.do(Save{c.stored(nodes...)})
	}
}

// submit asks the engine, if the model is ready.
func (u *step) submit(j *job) {
	c := u.chat(j.door, j.conv)
	if j.sent || c == nil || u.model.state != ModelIsReady {
		return
	}
	answer := c.node(j.node)
	r := engine.Request{Sampling: u.model.info.Info.Sampling, MaxTokens: u.settings.MaxTokens}
	if t := u.settings.Temperature; t != nil {
		r.Sampling.Temperature = *t
	}
	r.Sampling.Seed = uint64(u.now.UnixNano()) + uint64(j.id)
	if j.door == inService {
		off := false
		r.Thinking, r.Messages = &off, c.messages(answer.Parent, u.service.kind.instructions())
	} else {
		r.Messages = c.messages(answer.Parent, u.settings.System)
	}
	k := *j
	k.sent = true
	u.setJob(&k)
	if answer.Model != u.model.name {
		n := *answer
		n.Model = u.model.name
		u.put(j.door, c.with(&n))
	}
	u.do(Generate{Job: j.id, Door: j.door.name(), Request: r})
}

// stop ends an answer: at the next token if the engine has it, otherwise now.
func (u *step) stop(j *job) {
	if j == nil || j.stopping {
		return
	}
	if !j.sent {
		u.end(j, Stopped, "")
		return
	}
	k := *j
	k.stopping = true
	u.setJob(&k)
	u.do(Cancel{j.id})
}

// abandon ends an answer without waiting for the engine.
func (u *step) abandon(j *job) {
	if j == nil {
		return
	}
	if j.sent && !j.stopping {
		u.do(Cancel{j.id})
	}
	u.end(j, Stopped, "")
}

// answered takes an event of the engine. Those of answers that were given up are ignored.
func (u *step) answered(m Answered) {
	u.advance(m.At)
	j := u.job(m.Job)
	if j == nil {
		return
	}
	k := *j
	switch e := m.Event; e.Kind {
	case engine.Reading:
		k.read, k.total = e.Read, e.Total
	case engine.Text:
		k.push(e, m.At)
	case engine.Finished:
		u.finished(&k, e.Result)
		return
	}
	u.setJob(&k)
	if k.fresh && !u.now.Before(k.saved.Add(saveEvery)) {
		u.savePartial(&k)
	}
}

// push adds a token.
func (j *job) push(e engine.Event, at time.Time) {
	if j.first.IsZero() {
		j.first = at
	}
	if e.Token.ID >= 0 {
		j.rate = j.rate.tick(at)
	}
	if e.Thinking != "" {
		j.reasoning += e.Thinking
		j.thinking = j.thinking.Append(e.Thinking)
		j.fresh = true
	}
	if e.Text != "" {
		if j.content == "" && j.reasoning != "" {
			j.thought, j.thinking = at, j.thinking.End()
		}
		j.content += e.Text
		j.body = j.body.Append(e.Text)
		j.fresh = true
	}
}

// thinkingTime is how long the thinking took, or has taken so far.
func (j *job) thinkingTime(now time.Time) time.Duration {
	switch {
	case j.reasoning == "":
		return 0
	case j.thought.IsZero():
		return max(now.Sub(j.first), 0)
	}
	return max(j.thought.Sub(j.first), 0)
}

// write lays what has come so far into the message.
func (j *job) write(n *node, now time.Time) *node {
	out := *n
	out.Content, out.Reasoning, out.Thought = j.content, j.reasoning, j.thinkingTime(now)
	out.body, out.thinking = j.body.Blocks(), j.thinking.Blocks()
	return &out
}

func (u *step) savePartial(j *job) {
	c := u.chat(j.door, j.conv)
	if c == nil {
		return
	}
	n := j.write(c.node(j.node), u.now)
	c = c.with(n)
	u.put(j.door, c)
	u.save(j.door, c, n)
	k := *j
	k.saved, k.fresh = u.now, false
	u.setJob(&k)
}

// finished takes the engine's result.
func (u *step) finished(j *job, r engine.Result) {
	if j.content != r.Text {
		j.content, j.body = r.Text, Doc{}.Append(r.Text)
	}
	if j.reasoning != r.Thinking {
		j.reasoning, j.thinking = r.Thinking, Doc{}.Append(r.Thinking)
	}
	reason := Complete
	switch r.Reason {
	case engine.ReasonLength:
		reason = Cut
	case engine.ReasonCancelled:
		reason = Stopped
	}
	u.endWith(j, reason, "", func(n *node) {
		n.IDs, n.Raw = r.Message.IDs, r.Message.Raw
		f := r.Figures
		n.Figures = Figures{
			Prompt: f.Prompt, Cached: f.Cached, Completion: f.Completion,
			FirstToken: f.FirstToken, Prefill: f.Prefill, Decode: f.Decode,
		}
	})
}

// fail ends an answer with an error. What comes after it was stopped is no error.
func (u *step) fail(j *job, err error) {
	if j.stopping {
		u.end(j, Stopped, "")
		return
	}
	u.end(j, Failed, explain(err, j.door))
}

func (u *step) end(j *job, reason Reason, text string) { u.endWith(j, reason, text, func(*node) {}) }

// endWith takes an answer out of the list of jobs and writes its message.
func (u *step) endWith(j *job, reason Reason, text string, change func(*node)) {
	u.dropJob(j.id)
	c := u.chat(j.door, j.conv)
	if c == nil {
		return
	}
	k := *j
	if k.reasoning != "" && k.thought.IsZero() {
		k.thought = u.now
	}
	k.body, k.thinking = k.body.End(), k.thinking.End()
	n := k.write(c.node(j.node), u.now)
	n.Reason, n.Error = reason, text
	change(n)
	c = c.with(n)
	c.head.Used = u.now
	u.put(j.door, c)
	u.save(j.door, c, n)
}

// answerAgain makes another version of an answer, or, where nothing came of it, begins it anew.
func (u *step) answerAgain(d door, c *chat, id NodeID) {
	n := c.node(id)
	if n == nil || n.Role != RoleAssistant || u.busy(d, c.head.ID) != nil || u.quit.asked {
		u.ui(Beep{})
		return
	}
	if strings.TrimSpace(n.Content+n.Reasoning) != "" {
		u.ask(d, c, n.Parent)
		return
	}
	again := draw(Node{
		ID: n.ID, Parent: n.Parent, Role: RoleAssistant, Reason: Partial, Model: u.model.name, Created: u.now,
	})
	c = c.with(again)
	c.head.Leaf = id
	u.begin(d, c, again)
}
