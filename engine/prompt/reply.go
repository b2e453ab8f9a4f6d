package prompt

import "strings"

// Kind says what a piece of a reply is.
type Kind uint8

// The kinds of pieces.
const (
	Content Kind = iota
	Thinking
)

// Event is a piece of a reply. Pieces of the same kind belong together.
type Event struct {
	Kind Kind
	Text string
}

// Reply divides the text of a reply, as it comes, into thinking and content, and ends it at a stop string. Where the
// pieces are cut has no influence on what comes out: a tag or a stop string that may have begun is held back until it
// is whole or refuted. Newlines next to the tags are dropped. Stop strings count in content only.
type Reply struct {
	state   replyState
	buf     string // what is held back
	stops   []string
	stopped string
	cut     int // bytes from the beginning of the stop string that ended the reply
	out     []Event
}

type replyState uint8

const (
	atHead     replyState = iota // a <think> may come
	atThinking                   // right after <think>
	inThinking
	atContent // right after </think>
	inContent
	ended // by a stop string
)

// NewReply returns a parser. Thinking says that the prompt ends inside an opened <think>; empty stops are ignored.
func NewReply(thinking bool, stops []string) *Reply {
	r := &Reply{}
	if thinking {
		r.state = atThinking
	}
	for _, s := range stops {
		if s != "" {
			r.stops = append(r.stops, s)
		}
	}
	return r
}

// Stopped returns the stop string that ended the reply, if one did. After that Push returns nothing.
func (r *Reply) Stopped() (string, bool) { return r.stopped, r.state == ended }

// Held is the number of bytes at the end of what was pushed that are held back. After a stop string these are the stop
// string and what came with it.
func (r *Reply) Held() int {
	if r.state == ended {
		return r.cut
	}
	return len(r.buf)
}

// Push takes text and returns what is certain now. The slice is valid until the next call.
func (r *Reply) Push(text string) []Event {
	if text == "" || r.state == ended {
		return nil
	}
	r.buf += text
	return r.run(false)
}

// Flush returns what was held back, at the end of the reply. The slice is valid until the next call.
func (r *Reply) Flush() []Event {
	if r.state == ended {
		return nil
	}
	return r.run(true)
}

// run advances while the state changes.
func (r *Reply) run(end bool) []Event {
	r.out = r.out[:0]
	for {
		before := r.state
		kind, text := r.advance(end)
		if text != "" {
			r.out = append(r.out, Event{kind, text})
		}
		if r.state == before {
			return r.out
		}
	}
}

// advance takes what it can from the buffer.
func (r *Reply) advance(end bool) (Kind, string) {
	switch r.state {
	case atHead:
		r.head(end)
	case atThinking:
		if r.skipNewlines() {
			r.state = inThinking
		}
	case inThinking:
		return Thinking, r.thinking(end)
	case atContent:
		if r.skipNewlines() {
			r.state = inContent
		}
	case inContent:
		return Content, r.content(end)
	case ended:
	}
	return Content, ""
}

// head looks for <think> after white space at the beginning.
func (r *Reply) head(end bool) {
	s := strings.TrimLeft(r.buf, " \t\r\n")
	switch {
	case strings.HasPrefix(s, thinkOpen):
		r.buf, r.state = s[len(thinkOpen):], atThinking
	case end || !strings.HasPrefix(thinkOpen, s):
		r.state = inContent
	}
}

// skipNewlines drops newlines and reports whether something else follows.
func (r *Reply) skipNewlines() bool {
	r.buf = strings.TrimLeft(r.buf, "\n")
	return r.buf != ""
}

// thinking returns text up to </think>. Newlines before it are dropped, so they are held back.
func (r *Reply) thinking(end bool) string {
	if text, rest, ok := strings.Cut(r.buf, thinkClose); ok {
		r.buf, r.state = rest, atContent
		return strings.TrimRight(text, "\n")
	}
	keep := 0
	if !end {
		keep = len(r.buf) - len(strings.TrimRight(r.buf[:len(r.buf)-begun(r.buf, thinkClose)], "\n"))
	}
	return r.take(len(r.buf) - keep)
}

// content returns text up to a stop string: the one that is whole first, and of these the longest.
func (r *Reply) content(end bool) string {
	from, to := -1, len(r.buf)+1
	for _, s := range r.stops {
		if k := strings.Index(r.buf, s); k >= 0 && (k+len(s) < to || k+len(s) == to && k < from) {
			from, to = k, k+len(s)
		}
	}
	if from >= 0 {
		text := r.buf[:from]
		r.stopped, r.cut = r.buf[from:to], len(r.buf)-from
		r.buf, r.state = "", ended
		return text
	}
	keep := 0
	for _, s := range r.stops {
		if !end {
			keep = max(keep, begun(r.buf, s))
		}
	}
	return r.take(len(r.buf) - keep)
}

func (r *Reply) take(n int) string {
	text := r.buf[:n]
	r.buf = r.buf[n:]
	return text
}

// begun returns the length of the longest end of s that is a beginning of t, but not all of t.
func begun(s, t string) int {
	for k := min(len(s), len(t)-1); k > 0; k-- {
		if strings.HasSuffix(s, t[:k]) {
			return k
		}
	}
	return 0
}
