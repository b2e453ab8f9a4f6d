package server

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"

	"sotto/engine"
)

// Bounds of what a request may ask for.
const (
	maxStops     = 16
	maxStop      = 1024 // bytes
	maxTopLogs   = 20
	maxHeat      = 2               // temperature
	smallestTopP = 1.0 / (1 << 20) // stands for 0, which is "off" for the engine: only the best token is left
)

// chatRequest is what a body of a chat completion asks for.
type chatRequest struct {
	model   string // "": whichever is open
	stream  bool
	usage   bool // a last chunk with the usage
	request engine.Request
}

// parseChat reads a body. Info has the defaults of the model; draw makes a seed for a request that has none.
func parseChat(body []byte, info engine.Info, draw func() uint64) (*chatRequest, error) {
	o, err := topObject(body)
	if err != nil {
		return nil, err
	}
	q := &chatRequest{model: o.text("model"), stream: o.flag("stream")}
	o.refuse()
	o.streamOptions(q)
	o.sampling(&q.request, info, draw)
	o.limits(&q.request)
	o.thinking(&q.request)
	o.logprobs(&q.request)
	if o.err == nil {
		q.request.Messages, o.err = o.messages()
	}
	return q, o.err
}

// refusals are fields that change what is answered, in ways that Sotto cannot: any value but these is refused.
var refusals = []struct {
	name, why string
	harmless  []string // JSON without spaces
}{
	{"tools", "calls of tools are not supported", []string{`[]`}},
	{"tool_choice", "calls of tools are not supported", []string{`"none"`, `"auto"`}},
	{"functions", "calls of functions are not supported", []string{`[]`}},
	{"function_call", "calls of functions are not supported", []string{`"none"`, `"auto"`}},
	{"response_format", `only {"type": "text"} is supported`, []string{`{"type":"text"}`}},
	{"modalities", "only text is supported", []string{`["text"]`}},
	{"audio", "only text is supported", nil},
	{"web_search_options", "nothing is looked up in the web", nil},
	{"logit_bias", "biases are not supported", []string{`{}`}},
	{"presence_penalty", "penalties are not supported, only 0 is possible", []string{`0`}},
	{"frequency_penalty", "penalties are not supported, only 0 is possible", []string{`0`}},
	{"repetition_penalty", "penalties are not supported, only 1 is possible", []string{`1`}},
	{"n", "one answer at a time is supported, only 1 is possible", []string{`1`}},
}

// refuse names the first field that asks for what cannot be done.
func (o *object) refuse() {
	for _, r := range refusals {
		v := o.raw(r.name)
		if v == nil {
			continue
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, v); err != nil || !slices.Contains(r.harmless, plainNumber(compact.String())) {
			o.fail(r.name, unsupported, "%s", r.why)
		}
	}
}

// plainNumber writes a number in its shortest form and leaves other values as they are.
func plainNumber(v string) string {
	var f float64
	if json.Unmarshal([]byte(v), &f) != nil {
		return v
	}
	if f == 0 {
		f = 0 // not -0
	}
	b, err := json.Marshal(f)
	if err != nil {
		return v
	}
	return string(b)
}

func (o *object) streamOptions(q *chatRequest) {
	v := o.raw("stream_options")
	if v == nil || o.err != nil {
		return
	}
	inner, err := newObject("stream_options", v)
	if err != nil {
		o.err = err
		return
	}
	if !q.stream {
		o.fail("stream_options", invalidValue, "is only possible with stream: true")
		return
	}
	q.usage = inner.flag("include_usage")
	o.err = inner.err
}

func (o *object) sampling(r *engine.Request, info engine.Info, draw func() uint64) {
	s := info.Sampling
	if v, ok := o.number("temperature", 0, maxHeat); ok {
		s.Temperature = float32(v)
	}
	if v, ok := o.number("top_p", 0, 1); ok {
		s.TopP = max(float32(v), smallestTopP)
	}
	if v, ok := o.number("min_p", 0, 1); ok {
		s.MinP = float32(v)
	}
	if v, ok := o.whole("top_k", 0, 1<<24); ok {
		s.TopK = int(v)
	}
	s.Seed = draw()
	if v, ok := o.whole("seed", math.MinInt64, math.MaxInt64); ok {
		s.Seed = uint64(v)
	}
	r.Sampling = s
}

// limits reads what ends an answer. Of two limits the smaller one keeps both.
func (o *object) limits(r *engine.Request) {
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		if n, ok := o.whole(name, 1, math.MaxInt32); ok && (r.MaxTokens == 0 || int(n) < r.MaxTokens) {
			r.MaxTokens = int(n)
		}
	}
	v := o.raw("stop")
	if v == nil {
		return
	}
	r.Stop = []string{""}
	if json.Unmarshal(v, &r.Stop[0]) != nil {
		r.Stop = nil
		o.take("stop", "a string or a list of strings", &r.Stop)
	}
	if len(r.Stop) > maxStops {
		o.fail("stop", invalidValue, "want at most %d strings, got %d", maxStops, len(r.Stop))
	}
	for _, s := range r.Stop {
		if s == "" || len(s) > maxStop {
			o.fail("stop", invalidValue, "want strings of 1 to %d bytes, got one of %d", maxStop, len(s))
		}
	}
}

// thinking reads the two ways in which clients switch thinking on and off; the template of the model has the last
// word.
func (o *object) thinking(r *engine.Request) {
	if v := o.text("reasoning_effort"); v != "" {
		efforts := []string{"none", "minimal", "low", "medium", "high", "xhigh"}
		if !slices.Contains(efforts, v) {
			o.fail("reasoning_effort", invalidValue, "want one of %v", efforts)
		}
		on := v != "none"
		r.Thinking = &on
	}
	v := o.raw("chat_template_kwargs")
	if v == nil || o.err != nil {
		return
	}
	inner, err := newObject("chat_template_kwargs", v)
	if err != nil {
		o.err = err
		return
	}
	if inner.raw("enable_thinking") != nil {
		on := inner.flag("enable_thinking")
		r.Thinking = &on
	}
	o.err = inner.err
}

func (o *object) logprobs(r *engine.Request) {
	r.Logprobs = o.flag("logprobs")
	n, ok := o.whole("top_logprobs", 0, maxTopLogs)
	if ok && !r.Logprobs {
		o.fail("top_logprobs", invalidValue, "is only possible with logprobs: true")
	}
	r.Alts = int(n)
}
