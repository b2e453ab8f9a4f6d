package server

import (
	"encoding/json"
	"fmt"
	"strings"

	"sotto/engine"
)

// messages reads the conversation.
func (o *object) messages() ([]engine.Message, error) {
	list := o.list("messages")
	if o.err != nil {
		return nil, o.err
	}
	if len(list) == 0 {
		return nil, errField("messages", missing, "want at least one message")
	}
	out := make([]engine.Message, len(list))
	for i, data := range list {
		var err error
		if out[i], err = readMessage(fmt.Sprintf("messages[%d]", i), data); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func readMessage(path string, data []byte) (engine.Message, error) {
	o, err := newObject(path, data)
	if err != nil {
		return engine.Message{}, err
	}
	m := engine.Message{Role: engine.Role(o.text("role")), Name: o.text("name")}
	switch m.Role {
	case engine.System, engine.Developer, engine.User:
		o.content(&m, true)
	case engine.Assistant:
		o.content(&m, false)
		if m.Reasoning = o.text("reasoning_content"); m.Reasoning == "" {
			m.Reasoning = o.text("reasoning")
		}
		o.toolCalls(&m)
		if o.raw("function_call") != nil {
			o.fail("function_call", unsupported, "use tool_calls")
		}
	case engine.Tool:
		o.content(&m, false)
		m.ToolCallID = o.text("tool_call_id")
	case "":
		o.fail("role", missing, "is missing")
	default:
		o.fail("role", invalidValue, "want system, developer, user, assistant or tool")
	}
	return m, o.err
}

// content reads a string or a list of parts of type text, which are joined. Some messages must have it.
func (o *object) content(m *engine.Message, must bool) {
	v := o.raw("content")
	if v == nil {
		if must {
			o.fail("content", missing, "want a string or a list of parts, got %s", typeOf(o.fields["content"]))
		}
		return
	}
	if json.Unmarshal(v, &m.Content) == nil {
		return
	}
	var parts []json.RawMessage
	if !o.take("content", "a string or a list of parts", &parts) {
		return
	}
	var b strings.Builder
	for i, data := range parts {
		if o.err == nil {
			o.part(&b, fmt.Sprintf("%scontent[%d]", o.path, i), data)
		}
	}
	m.Content = b.String()
}

// part adds one part of a content.
func (o *object) part(b *strings.Builder, path string, data []byte) {
	p, err := newObject(path, data)
	if err != nil {
		o.err = err
		return
	}
	switch kind := p.text("type"); {
	case p.err != nil:
	case kind == "":
		p.fail("type", missing, "is missing")
	case kind != "text":
		p.fail("type", unsupported, "parts of type %.40q are not supported, only text is", kind)
	case p.raw("text") == nil:
		p.fail("text", missing, "is missing")
	default:
		b.WriteString(p.text("text"))
	}
	o.err = p.err
}

// toolCalls reads the calls that an earlier answer made, so that the model sees them again.
func (o *object) toolCalls(m *engine.Message) {
	for i, data := range o.list("tool_calls") {
		path := fmt.Sprintf("%stool_calls[%d]", o.path, i)
		c, err := newObject(path, data)
		if err != nil {
			o.err = err
			return
		}
		if kind := c.text("type"); kind != "" && kind != "function" {
			c.fail("type", unsupported, "only calls of type function are supported")
		}
		call := engine.ToolCall{ID: c.text("id")}
		if c.err == nil {
			c.err = readFunction(path+".function", c.raw("function"), &call)
		}
		if o.err = c.err; o.err != nil {
			return
		}
		m.ToolCalls = append(m.ToolCalls, call)
	}
}

// readFunction reads name and arguments of a call. The arguments are an object, as a string or as it is.
func readFunction(path string, data []byte, call *engine.ToolCall) error {
	f, err := newObject(path, data)
	if err != nil {
		return err
	}
	if call.Name = f.text("name"); call.Name == "" {
		f.fail("name", missing, "is missing")
	}
	arguments := []byte(f.raw("arguments"))
	var inner string
	if json.Unmarshal(arguments, &inner) == nil {
		arguments = []byte(inner)
	}
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(arguments, &members) != nil || members == nil {
		f.fail("arguments", invalidValue, "want a JSON object, or a string that holds one")
	}
	call.Arguments = arguments
	return f.err
}
