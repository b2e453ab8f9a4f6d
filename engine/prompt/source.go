package prompt

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

const (
	templateFile = "chat_template.jinja"
	configFile   = "tokenizer_config.json"
	maxConfig    = 64 << 20 // bytes; old checkpoints list every added token here
)

// ErrNoTemplate is returned for a checkpoint that has no template.
var ErrNoTemplate = errors.New("no chat template: neither " + templateFile + " nor chat_template in " + configFile)

// Source is the template of a checkpoint as it is stored.
type Source struct {
	Default string            // the text that is used
	ToolUse string            // used instead when there are tools, if not empty
	Tokens  map[string]string // bos_token, eos_token, pad_token, unk_token: those that exist
}

// Find reads the template of a model folder: chat_template.jinja, else chat_template of tokenizer_config.json.
func Find(dir fs.FS) (Source, error) {
	src := Source{Tokens: map[string]string{}}
	config, err := readFile(dir, configFile, maxConfig)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return src, err
	}
	if err == nil {
		if err := src.config(config); err != nil {
			return src, fmt.Errorf("%s: %w", configFile, err)
		}
	}
	text, err := readFile(dir, templateFile, maxTemplate)
	switch {
	case err == nil:
		src.Default, src.ToolUse = string(text), ""
	case !errors.Is(err, fs.ErrNotExist):
		return src, err
	case src.Default == "":
		return src, ErrNoTemplate
	}
	return src, nil
}

func readFile(dir fs.FS, name string, limit int64) ([]byte, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: more than %d bytes", name, limit)
	}
	return data, nil
}

// config takes the template and the special tokens from tokenizer_config.json. A template is a text or a list of
// named ones.
func (s *Source) config(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	for _, name := range []string{"bos_token", "eos_token", "pad_token", "unk_token"} {
		var text *string
		var object struct{ Content *string }
		if json.Unmarshal(raw[name], &text) == nil && text != nil {
			s.Tokens[name] = *text
		} else if json.Unmarshal(raw[name], &object) == nil && object.Content != nil {
			s.Tokens[name] = *object.Content
		}
	}
	template := raw["chat_template"]
	if template == nil || string(template) == "null" || json.Unmarshal(template, &s.Default) == nil {
		return nil
	}
	var named []struct{ Name, Template string }
	if err := json.Unmarshal(template, &named); err != nil {
		return errors.New("chat_template is neither a text nor a list of named texts")
	}
	for _, n := range named {
		switch n.Name {
		case "default":
			s.Default = n.Template
		case "tool_use":
			s.ToolUse = n.Template
		}
	}
	if s.Default == "" {
		return errors.New("chat_template: no template is named default")
	}
	return nil
}
