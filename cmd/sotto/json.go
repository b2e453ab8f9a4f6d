package main

import (
	"encoding/json"
	"io"

	"sotto/app"
	"sotto/engine"
)

// answerJSON is what `sotto ask --json` prints.
type answerJSON struct {
	Model        modelJSON      `json:"model"`
	PromptIDs    []int32        `json:"prompt_ids"`
	CompletionID []int32        `json:"completion_ids"` // without the end id
	Thinking     string         `json:"thinking,omitempty"`
	Text         string         `json:"text"`
	FinishReason string         `json:"finish_reason"` // stop, length or cancelled
	Seed         uint64         `json:"seed"`          // by which the answer can be had again
	Usage        usageJSON      `json:"usage"`
	Timings      timingsJSON    `json:"timings"`
	Logprobs     *[]logprobJSON `json:"logprobs,omitempty"`
}

type modelJSON struct {
	Name   string `json:"name"`
	Family string `json:"family"`
	Tiny   bool   `json:"tiny"`
}

type usageJSON struct {
	PromptTokens     int `json:"prompt_tokens"`
	CachedTokens     int `json:"cached_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

type timingsJSON struct {
	FirstTokenMS    float64 `json:"first_token_ms"`
	PrefillMS       float64 `json:"prefill_ms"`
	PrefillPerS     float64 `json:"prefill_tokens_per_second"`
	DecodeMS        float64 `json:"decode_ms"`
	DecodePerSecond float64 `json:"decode_tokens_per_second"`
}

type alternativeJSON struct {
	ID      int32   `json:"id"`
	Token   string  `json:"token"`
	Logprob float32 `json:"logprob"`
}

type logprobJSON struct {
	alternativeJSON
	Top []alternativeJSON `json:"top"`
}

func printJSON(w io.Writer, m *app.Model, r engine.Result, tokens []engine.Event, q engine.Request) error {
	f := r.Figures
	a := answerJSON{
		Model:     modelJSON{m.Name, m.Family, m.Tiny},
		PromptIDs: r.PromptIDs, CompletionID: r.IDs, Thinking: r.Thinking, Text: r.Text, FinishReason: r.Reason,
		Seed:  q.Sampling.Seed,
		Usage: usageJSON{f.Prompt, f.Cached, f.Completion, f.Prompt + f.Completion},
		Timings: timingsJSON{
			float64(f.FirstToken.Microseconds()) / 1e3, float64(f.Prefill.Microseconds()) / 1e3, f.PrefillRate(),
			float64(f.Decode.Microseconds()) / 1e3, f.DecodeRate(),
		},
	}
	if a.CompletionID == nil {
		a.CompletionID = []int32{}
	}
	if q.Logprobs {
		list := []logprobJSON{}
		for _, e := range tokens {
			if e.Token.ID < 0 {
				continue
			}
			one := logprobJSON{
				alternativeJSON{e.Token.ID, m.Engine.TokenText(e.Token.ID), e.Token.Log}, []alternativeJSON{},
			}
			for _, alt := range e.Token.Alts {
				one.Top = append(one.Top, alternativeJSON{int32(alt.ID), m.Engine.TokenText(int32(alt.ID)), alt.Log})
			}
			list = append(list, one)
		}
		a.Logprobs = &list
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(a)
}
