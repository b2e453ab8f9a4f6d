package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"sotto/engine"
)

// defaults is what the model of these tests suggests.
func defaults() engine.Info {
	var i engine.Info
	i.Sampling.Temperature, i.Sampling.TopP, i.Sampling.TopK = 0.6, 0.9, 20
	return i
}

func draw() uint64 { return 77 }

// parse reads the fields of a request with one message beside them.
func parse(fields string) (*chatRequest, error) {
	if fields != "" {
		fields += ","
	}
	return parseChat([]byte(`{`+fields+`"messages":[{"role":"user","content":"hi"}]}`), defaults(), draw)
}

func TestFields(t *testing.T) {
	on, off := true, false
	for _, c := range []struct {
		fields string
		want   func(q *chatRequest)
	}{
		{``, func(*chatRequest) {}},
		{`"model":"m","stream":true`, func(q *chatRequest) { q.model, q.stream = "m", true }},
		{`"stream":true,"stream_options":{"include_usage":true,"x":1}`, func(q *chatRequest) {
			q.stream, q.usage = true, true
		}},
		{`"stream":true,"stream_options":null`, func(q *chatRequest) { q.stream = true }},
		{`"stream_options":null,"stream":null,"model":null`, func(*chatRequest) {}},
		{`"temperature":0`, func(q *chatRequest) { q.request.Sampling.Temperature = 0 }},
		{`"temperature":2.0`, func(q *chatRequest) { q.request.Sampling.Temperature = 2 }},
		{`"temperature":1e-2`, func(q *chatRequest) { q.request.Sampling.Temperature = 0.01 }},
		{`"top_p":1`, func(q *chatRequest) { q.request.Sampling.TopP = 1 }},
		{`"top_p":0`, func(q *chatRequest) { q.request.Sampling.TopP = smallestTopP }},
		{`"top_k":0,"min_p":0.5`, func(q *chatRequest) { q.request.Sampling.TopK, q.request.Sampling.MinP = 0, 0.5 }},
		{`"seed":5`, func(q *chatRequest) { q.request.Sampling.Seed = 5 }},
		{`"seed":-1`, func(q *chatRequest) { q.request.Sampling.Seed = 1<<64 - 1 }},
		{`"seed":9223372036854775807`, func(q *chatRequest) { q.request.Sampling.Seed = 1<<63 - 1 }},
		{`"seed":null,"temperature":null,"top_p":null,"stop":null,"max_tokens":null`, func(*chatRequest) {}},
		{`"max_tokens":5`, func(q *chatRequest) { q.request.MaxTokens = 5 }},
		{`"max_tokens":5.0`, func(q *chatRequest) { q.request.MaxTokens = 5 }},
		{`"max_completion_tokens":6`, func(q *chatRequest) { q.request.MaxTokens = 6 }},
		{`"max_completion_tokens":6,"max_tokens":5`, func(q *chatRequest) { q.request.MaxTokens = 5 }},
		{`"max_completion_tokens":5,"max_tokens":6`, func(q *chatRequest) { q.request.MaxTokens = 5 }},
		{`"stop":"a"`, func(q *chatRequest) { q.request.Stop = []string{"a"} }},
		{`"stop":["a","b"]`, func(q *chatRequest) { q.request.Stop = []string{"a", "b"} }},
		{`"stop":[]`, func(q *chatRequest) { q.request.Stop = []string{} }},
		{`"logprobs":true,"top_logprobs":20`, func(q *chatRequest) { q.request.Logprobs, q.request.Alts = true, 20 }},
		{`"logprobs":false,"top_logprobs":null`, func(*chatRequest) {}},
		{`"reasoning_effort":"none"`, func(q *chatRequest) { q.request.Thinking = &off }},
		{`"reasoning_effort":"high"`, func(q *chatRequest) { q.request.Thinking = &on }},
		{`"chat_template_kwargs":{"enable_thinking":false,"x":[]}`, func(q *chatRequest) { q.request.Thinking = &off }},
		{`"chat_template_kwargs":{}`, func(*chatRequest) {}},
		{`"frobnicate":{"deep":[1,2]},"user":"u","store":true,"metadata":{},"Temperature":"x"`, func(*chatRequest) {}},
		{
			`"n":1,"n":1.0,"tools":[],"tool_choice":"auto","response_format":{ "type" : "text" },"logit_bias":{},` +
				`"presence_penalty":0.0,"frequency_penalty":-0,"modalities":["text"],"functions":null,` +
				`"repetition_penalty":1e0`,
			func(*chatRequest) {},
		},
	} {
		t.Run(c.fields, func(t *testing.T) {
			got, err := parse(c.fields)
			if err != nil {
				t.Fatal(err)
			}
			want, err := parse("")
			if err != nil {
				t.Fatal(err)
			}
			c.want(want)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
	got, err := parse("")
	r := got.request
	if err != nil || r.Sampling.Seed != 77 || r.Sampling.Temperature != 0.6 || r.MaxTokens != 0 {
		t.Errorf("defaults: %+v, %v", got, err)
	}
}

// blamed checks that an error names a field with a code.
func blamed(t *testing.T, err error, status int, param, code string, parts ...string) {
	t.Helper()
	p := describe(err)
	if p.status != status || p.param != param || p.code != code || p.kind != invalidRequest {
		t.Errorf("got %d, param %q, code %q, type %q (%s), want %d, %q, %q",
			p.status, p.param, p.code, p.kind, p.message, status, param, code)
	}
	for _, part := range parts {
		if !strings.Contains(p.message, part) {
			t.Errorf("got %q, want %q in it", p.message, part)
		}
	}
}

func TestFieldsRefused(t *testing.T) {
	for _, c := range []struct{ fields, param, code, part string }{
		{`"temperature":"hot"`, "temperature", invalidType, "want a number, got a string"},
		{`"temperature":-0.1`, "temperature", invalidValue, "want 0 to 2, got -0.1"},
		{`"temperature":2.5`, "temperature", invalidValue, "want 0 to 2"},
		{`"temperature":1e400`, "temperature", invalidValue, "want 0 to 2, got a number that is too large"},
		{`"top_p":1.5`, "top_p", invalidValue, "0 to 1"},
		{`"min_p":-1`, "min_p", invalidValue, "0 to 1"},
		{`"top_k":-1`, "top_k", invalidValue, "0 to 16777216"},
		{`"top_k":1.5`, "top_k", invalidType, "whole"},
		{`"seed":1.5`, "seed", invalidType, "whole"},
		{`"seed":18446744073709551615`, "seed", invalidType, "too large"},
		{`"seed":"7"`, "seed", invalidType, "got a string"},
		{`"max_tokens":0`, "max_tokens", invalidValue, "want 1 to"},
		{`"max_tokens":-1`, "max_tokens", invalidValue, "got -1"},
		{`"max_tokens":1e300`, "max_tokens", invalidType, "whole"},
		{`"max_completion_tokens":"many"`, "max_completion_tokens", invalidType, "got a string"},
		{`"stop":[1]`, "stop", invalidType, "a string or a list of strings"},
		{`"stop":{}`, "stop", invalidType, "got an object"},
		{`"stop":""`, "stop", invalidValue, "one of 0"},
		{`"stop":["a",""]`, "stop", invalidValue, "one of 0"},
		{`"stop":["` + strings.Repeat("a", 1025) + `"]`, "stop", invalidValue, "one of 1025"},
		{`"stop":[` + strings.Repeat(`"a",`, 16) + `"a"]`, "stop", invalidValue, "at most 16 strings, got 17"},
		{`"stream":"yes"`, "stream", invalidType, "true or false"},
		{`"stream":1`, "stream", invalidType, "got a number"},
		{`"stream_options":{"include_usage":true}`, "stream_options", invalidValue, "stream: true"},
		{`"stream":true,"stream_options":[]`, "stream_options", invalidType, "want an object, got a list"},
		{`"stream":true,"stream_options":{"include_usage":1}`, "stream_options.include_usage", invalidType, "true or"},
		{`"model":7`, "model", invalidType, "a string"},
		{`"logprobs":1`, "logprobs", invalidType, "true or false"},
		{`"logprobs":true,"top_logprobs":21`, "top_logprobs", invalidValue, "0 to 20"},
		{`"top_logprobs":2`, "top_logprobs", invalidValue, "logprobs: true"},
		{`"reasoning_effort":"some"`, "reasoning_effort", invalidValue, "one of"},
		{`"chat_template_kwargs":[]`, "chat_template_kwargs", invalidType, "object"},
		{
			`"chat_template_kwargs":{"enable_thinking":"no"}`, "chat_template_kwargs.enable_thinking", invalidType,
			"true or false",
		},

		{`"n":2`, "n", unsupported, "only 1"},
		{`"n":"x"`, "n", unsupported, "only 1"},
		{`"tools":[{"type":"function"}]`, "tools", unsupported, "not supported"},
		{`"tool_choice":"required"`, "tool_choice", unsupported, "not supported"},
		{`"tool_choice":{"type":"function"}`, "tool_choice", unsupported, "not supported"},
		{`"functions":[{}]`, "functions", unsupported, "not supported"},
		{`"function_call":{"name":"f"}`, "function_call", unsupported, "not supported"},
		{`"response_format":{"type":"json_object"}`, "response_format", unsupported, `{"type": "text"}`},
		{`"response_format":{"type":"json_schema","json_schema":{}}`, "response_format", unsupported, "text"},
		{`"modalities":["text","audio"]`, "modalities", unsupported, "only text"},
		{`"audio":{"voice":"alloy"}`, "audio", unsupported, "only text"},
		{`"web_search_options":{}`, "web_search_options", unsupported, "web"},
		{`"logit_bias":{"5":-100}`, "logit_bias", unsupported, "biases"},
		{`"presence_penalty":0.5`, "presence_penalty", unsupported, "only 0"},
		{`"frequency_penalty":-1`, "frequency_penalty", unsupported, "only 0"},
		{`"repetition_penalty":1.1`, "repetition_penalty", unsupported, "only 1"},
	} {
		t.Run(c.fields[:min(len(c.fields), 60)], func(t *testing.T) {
			_, err := parse(c.fields)
			if err == nil {
				t.Fatal("accepted")
			}
			blamed(t, err, http.StatusBadRequest, c.param, c.code, c.param, c.part)
		})
	}
}

func TestBodies(t *testing.T) {
	for _, c := range []struct{ name, body, param, code, part string }{
		{"empty", "", "", "invalid_json", "is empty"},
		{"blank", " \n", "", "invalid_json", "is empty"},
		{"cut", `{"messages":[{"role"`, "", "invalid_json", "not valid JSON"},
		{"comma", `{"messages":[],}`, "", "invalid_json", "at byte 16"},
		{"twice", `{} {}`, "", "invalid_json", "after top-level value"},
		{"list", `[]`, "", "invalid_json", "got a list"},
		{"null", `null`, "", "invalid_json", "got null"},
		{"string", `"x"`, "", "invalid_json", "got a string"},
		{"deep", strings.Repeat("[", 20000), "", "invalid_json", "not valid JSON"},
		{"NaN", `{"temperature":NaN}`, "", "invalid_json", "not valid JSON"},
		{"no messages", `{}`, "messages", missing, "at least one"},
		{"null messages", `{"messages":null}`, "messages", missing, "at least one"},
		{"empty messages", `{"messages":[]}`, "messages", missing, "at least one"},
		{"messages of a wrong type", `{"messages":"hi"}`, "messages", invalidType, "want a list, got a string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseChat([]byte(c.body), defaults(), draw)
			if err == nil {
				t.Fatal("accepted")
			}
			blamed(t, err, http.StatusBadRequest, c.param, c.code, c.part)
		})
	}
}

func TestMessages(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       []engine.Message
	}{
		{
			"roles", `{"role":"developer","content":"d"},{"role":"system","content":"s"},` +
				`{"role":"user","content":"u","name":"Ann"}`,
			[]engine.Message{
				{Role: "developer", Content: "d"},
				{Role: "system", Content: "s"},
				{Role: "user", Content: "u", Name: "Ann"},
			},
		},
		{
			"parts", `{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":" b","x":1}]}`,
			[]engine.Message{{Role: "user", Content: "a b"}},
		},
		{"no parts", `{"role":"user","content":[]}`, []engine.Message{{Role: "user"}}},
		{"empty", `{"role":"user","content":""}`, []engine.Message{{Role: "user"}}},
		{
			"null beside calls", `{"role":"user","content":"2+3?"},{"role":"assistant","content":null,` +
				`"tool_calls":[{"id":"c1","type":"function","function":{"name":"add",` +
				`"arguments":"{\"a\":2,\"b\":3}"}}]},` +
				`{"role":"tool","tool_call_id":"c1","content":"5"}`,
			[]engine.Message{
				{Role: "user", Content: "2+3?"},
				{Role: "assistant", ToolCalls: []engine.ToolCall{
					{ID: "c1", Name: "add", Arguments: json.RawMessage(`{"a":2,"b":3}`)},
				}},
				{Role: "tool", ToolCallID: "c1", Content: "5"},
			},
		},
		{
			"arguments as an object, and none", `{"role":"assistant","tool_calls":[` +
				`{"function":{"name":"f","arguments":{"a":1}}},{"function":{"name":"g","arguments":""}},` +
				`{"function":{"name":"h"}}]}`,
			[]engine.Message{{Role: "assistant", ToolCalls: []engine.ToolCall{
				{Name: "f", Arguments: json.RawMessage(`{"a":1}`)},
				{Name: "g", Arguments: json.RawMessage(`{}`)},
				{Name: "h", Arguments: json.RawMessage(`{}`)},
			}}},
		},
		{
			"thinking", `{"role":"assistant","content":"c","reasoning_content":"r"},` +
				`{"role":"assistant","reasoning":"q"},` +
				`{"role":"assistant","content":"c","tool_calls":null,"function_call":null,"refusal":null,"audio":null}`,
			[]engine.Message{
				{Role: "assistant", Content: "c", Reasoning: "r"},
				{Role: "assistant", Reasoning: "q"},
				{Role: "assistant", Content: "c"},
			},
		},
		{
			"odd text", `{"role":"user","content":"a\u0000\ud83d\ude00\ud83d <|im_end|>"}`,
			[]engine.Message{{Role: "user", Content: "a\x00😀\ufffd <|im_end|>"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, err := parseChat([]byte(`{"messages":[`+c.body+`]}`), defaults(), draw)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(q.request.Messages, c.want) {
				t.Errorf("got %+v, want %+v", q.request.Messages, c.want)
			}
		})
	}
}

func TestMessagesRefused(t *testing.T) {
	const arguments = "messages[1].tool_calls[0].function.arguments"
	call := func(s string) string { return `{"role":"assistant","tool_calls":[` + s + `]}` }
	for _, c := range []struct{ body, param, code, part string }{
		{`7`, "messages[1]", invalidType, "want an object, got a number"},
		{`{}`, "messages[1].role", missing, ""},
		{`{"role":"banana","content":"x"}`, "messages[1].role", invalidValue, "developer"},
		{`{"role":"function","content":"x"}`, "messages[1].role", invalidValue, "tool"},
		{`{"role":5,"content":"x"}`, "messages[1].role", invalidType, "a string"},
		{`{"role":"user"}`, "messages[1].content", missing, "got nothing"},
		{`{"role":"user","content":null}`, "messages[1].content", missing, "got null"},
		{`{"role":"user","content":7}`, "messages[1].content", invalidType, "got a number"},
		{`{"role":"user","content":{"type":"text"}}`, "messages[1].content", invalidType, "got an object"},
		{`{"role":"user","content":["a"]}`, "messages[1].content[0]", invalidType, "want an object"},
		{
			`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{}}]}`,
			"messages[1].content[1].type", unsupported, `"image_url"`,
		},
		{`{"role":"user","content":[{"type":"audio"}]}`, "messages[1].content[0].type", unsupported, `"audio"`},
		{`{"role":"user","content":[{"text":"a"}]}`, "messages[1].content[0].type", missing, ""},
		{`{"role":"user","content":[{"type":"text"}]}`, "messages[1].content[0].text", missing, ""},
		{`{"role":"user","content":[{"type":"text","text":5}]}`, "messages[1].content[0].text", invalidType, ""},
		{call(`5`), "messages[1].tool_calls[0]", invalidType, ""},
		{call(`{"type":"custom"}`), "messages[1].tool_calls[0].type", unsupported, ""},
		{call(`{}`), "messages[1].tool_calls[0].function", invalidType, "got nothing"},
		{call(`{"function":{}}`), "messages[1].tool_calls[0].function.name", missing, ""},
		{call(`{"function":{"name":"f","arguments":"{"}}`), arguments, invalidValue, ""},
		{call(`{"function":{"name":"f","arguments":"null"}}`), arguments, invalidValue, ""},
		{call(`{"function":{"name":"f","arguments":[]}}`), arguments, invalidValue, ""},
		{`{"role":"assistant","function_call":{}}`, "messages[1].function_call", unsupported, "tool_calls"},
		{`{"role":"assistant","tool_calls":{}}`, "messages[1].tool_calls", invalidType, "a list"},
	} {
		t.Run(c.body, func(t *testing.T) {
			body := `{"messages":[{"role":"user","content":"hi"},` + c.body + `]}`
			_, err := parseChat([]byte(body), defaults(), draw)
			if err == nil {
				t.Fatal("accepted")
			}
			blamed(t, err, http.StatusBadRequest, c.param, c.code, c.param, c.part)
		})
	}
}

func TestSpell(t *testing.T) {
	for in, want := range map[string]string{
		"a": "a", "": "", "\xc4": `\xc4`, "a\xf0\x9f": `a\xf0\x9f`, "ď\ufffd": "ď\ufffd",
	} {
		if got := spell([]byte(in)); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// FuzzChatBody holds that no body is worth more than a refusal, and that what is accepted can be asked of an engine.
func FuzzChatBody(f *testing.F) {
	for _, s := range []string{
		`{"messages":[{"role":"user","content":"hi"}]}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"stop":["a"],"stream":true}`,
		`{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}]}`,
		`{"temperature":0.5,"top_p":0,"top_k":3,"seed":-4,"max_tokens":5.0,"logprobs":true,"top_logprobs":3}`,
		`{"stream":true,"stream_options":{"include_usage":true},"n":1e0,"response_format":{"type":"text"},"tools":[]}`,
		`{"chat_template_kwargs":{"enable_thinking":true},"reasoning_effort":"low","logit_bias":{},"x":[[[[]]]]}`,
		`[`, `{}`, `{"messages":{}}`, `{"messages":[null]}`, "\xff", `{"stop":""}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := parseChat(body, defaults(), draw)
		if err != nil {
			var p *problem
			if !errors.As(err, &p) || p.status < 400 || p.status > 499 || p.message == "" || p.code == "" {
				t.Fatalf("got %#v", err)
			}
			if data, err := encode(p.body()); err != nil || !json.Valid(data) {
				t.Fatalf("%v: %q", err, data)
			}
			return
		}
		r := q.request
		if err := r.Sampling.Validate(); err != nil {
			t.Error(err)
		}
		if len(r.Messages) == 0 || r.MaxTokens < 0 ||
			r.Alts < 0 || r.Alts > maxTopLogs || r.Alts > 0 && !r.Logprobs ||
			q.usage && !q.stream || len(r.Stop) > maxStops {
			t.Errorf("accepted %+v", q)
		}
		for _, s := range r.Stop {
			if s == "" {
				t.Error("an empty stop string")
			}
		}
		for i, m := range r.Messages {
			if !strings.Contains(" system developer user assistant tool ", fmt.Sprintf(" %s ", m.Role)) {
				t.Errorf("message %d has role %q", i, m.Role)
			}
			for _, c := range m.ToolCalls {
				if c.Name == "" || !json.Valid(c.Arguments) {
					t.Errorf("message %d calls %+v", i, c)
				}
			}
		}
	})
}
