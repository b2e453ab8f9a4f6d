package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// texts makes tokenizer.json and tokenizer_config.json of a model's full vocabulary: every byte, then pairs of bytes,
// then pairs with a byte more, each made by a merge. Control tokens lie where config.json has the end ids: the largest
// one ends a turn, the id before begins one. The rest (how text is split, the template) is that of a built-in model.
func texts(config []byte, builtin fs.FS) (tokenizer, settings []byte, err error) {
	vocab, ends, err := vocabulary(config)
	if err != nil {
		return nil, nil, err
	}
	raw, err := fs.ReadFile(builtin, "tokenizer.json")
	if err != nil {
		return nil, nil, err
	}
	var file map[string]any
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, nil, err
	}
	model, ok := file["model"].(map[string]any)
	if !ok {
		return nil, nil, errors.New("tokenizer.json of the built-in model has no model")
	}
	added := addedTokens(ends)
	file["added_tokens"] = added
	model["vocab"], model["merges"] = tokens(vocab, added)
	if tokenizer, err = json.Marshal(file); err != nil {
		return nil, nil, err
	}
	settings, err = fs.ReadFile(builtin, "tokenizer_config.json")
	return tokenizer, settings, err
}

// vocabulary reads the number of ids and the end ids.
func vocabulary(config []byte) (size int, ends []int, err error) {
	var c struct {
		Vocab int   `json:"vocab_size"`
		Ends  []int `json:"eos_token_id"`
		Text  struct {
			Vocab int `json:"vocab_size"`
		} `json:"text_config"`
	}
	if err := json.Unmarshal(config, &c); err != nil {
		return 0, nil, fmt.Errorf("config.json: %w", err)
	}
	size = max(c.Vocab, c.Text.Vocab)
	if len(c.Ends) == 0 || slices.Min(c.Ends) < 0 || slices.Max(c.Ends) < 1 || slices.Max(c.Ends) >= size {
		return 0, nil, fmt.Errorf("config.json: end ids %v of %d", c.Ends, size)
	}
	return size, c.Ends, nil
}

type addedToken struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// addedTokens are the control tokens.
func addedTokens(ends []int) []addedToken {
	last := slices.Max(ends)
	list := []addedToken{
		{ID: last - 1, Content: "<|im_start|>", Special: true}, {ID: last, Content: "<|im_end|>", Special: true},
	}
	for _, id := range ends {
		if id < last-1 {
			list = append(list, addedToken{ID: id, Content: fmt.Sprintf("<|end %d|>", id), Special: true})
		}
	}
	return list
}

// tokens makes the tokens that are not added, in the order of their ids, and the merges that make them.
func tokens(size int, added []addedToken) (vocab map[string]int, merges [][2]string) {
	vocab = map[string]int{}
	id := 0
	skip := func() { // to the next id that is free
		for slices.ContainsFunc(added, func(a addedToken) bool { return a.ID == id }) {
			id++
		}
	}
	add := func(text string) {
		vocab[text] = id
		id++
		skip()
	}
	skip()
	letters := alphabet()
	for _, a := range letters {
		add(a)
	}
	var pairs []string
	for round := 0; id < size; round++ {
		next := letters
		if round > 0 {
			next = pairs
		}
		for i := 0; i < len(next) && id < size; i++ {
			for j := 0; j < len(letters) && id < size; j++ {
				text := next[i] + letters[j]
				if round == 0 {
					pairs = append(pairs, text)
				}
				add(text)
				merges = append(merges, [2]string{next[i], letters[j]})
			}
		}
	}
	return vocab, merges
}

// alphabet lists what bytes are written as: printable ones as themselves, the others from U+0100 on. Those of plain
// text come first, so that pairs begin with them.
func alphabet() []string {
	var first, rest []string
	next := rune(256)
	for b := range rune(256) {
		r := b
		if b <= ' ' || b >= 0x7f && b <= 0xa0 || b == 0xad {
			r = next
			next++
		}
		if b == ' ' || b >= 'a' && b <= 'z' {
			first = append(first, string(r))
		} else {
			rest = append(rest, string(r))
		}
	}
	return append(first, rest...)
}
