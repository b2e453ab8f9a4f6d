//go:build !race

package apitest

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"sotto/app/sched"
	"sotto/engine"
)

func params(text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: "qwen-tiny", Temperature: openai.Float(0),
		Messages: []openai.ChatCompletionMessageParamUnion{
			openai.DeveloperMessage("Be kind."), openai.UserMessage(text),
		},
	}
}

func TestOpenAIClient(t *testing.T) {
	r := builtin(t)
	p := params("Who are you?")
	p.Logprobs, p.TopLogprobs, p.Seed = openai.Bool(true), openai.Int(3), openai.Int(-5)
	p.MaxCompletionTokens = openai.Int(500)
	p.Stop.OfStringArray = []string{"never said", "\x00"}
	whole, err := r.Chat.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	choice := whole.Choices[0]
	if choice.FinishReason != "stop" || choice.Message.Content == "" || choice.Message.Role != "assistant" ||
		whole.Model != "qwen-tiny" || whole.Created < r.since.Unix() || whole.Usage.PromptTokens == 0 ||
		whole.Usage.TotalTokens != whole.Usage.PromptTokens+whole.Usage.CompletionTokens {
		t.Errorf("got %s", whole.RawJSON())
	}
	text := ""
	for _, l := range choice.Logprobs.Content {
		text += l.Token
		if len(l.TopLogprobs) != 3 || l.TopLogprobs[0].Token != l.Token || l.Logprob > 0 {
			t.Errorf("got %s", l.RawJSON())
		}
	}
	if text != choice.Message.Content {
		t.Errorf("tokens spell %q, content is %q", text, choice.Message.Content)
	}

	p.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := r.Chat.Completions.NewStreaming(t.Context(), p)
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		if !all.AddChunk(stream.Current()) {
			t.Fatalf("the client cannot add %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if got := all.Choices[0]; got.Message.Content != choice.Message.Content || got.FinishReason != "stop" ||
		all.Usage.CompletionTokens != whole.Usage.CompletionTokens ||
		len(got.Logprobs.Content) != len(choice.Logprobs.Content) {
		t.Errorf("streamed: %+v", all.ChatCompletion)
	}
}

func TestOpenAIClientLeaves(t *testing.T) {
	r := builtin(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := params("Tell me a story.")
	p.Temperature, p.TopP, p.Seed = openai.Float(2), openai.Float(1), openai.Int(4)
	stream := r.Chat.Completions.NewStreaming(ctx, p, option.WithJSONSet("top_k", 0))
	for range 5 {
		if !stream.Next() {
			t.Fatal(stream.Err())
		}
	}
	cancel()
	stream.Close()
	for begin := time.Now(); r.queue.Status() != (sched.Status{}); time.Sleep(time.Millisecond) {
		if time.Since(begin) > time.Second {
			t.Fatal("the engine works on")
		}
	}
	if _, err := r.Chat.Completions.New(t.Context(), params("Hello!")); err != nil {
		t.Error(err)
	}
}

func TestOpenAIClientErrors(t *testing.T) {
	r := serve(t, broken{}, engine.Info{Window: 4096}, nil)
	for name, c := range map[string]struct {
		change      func(*openai.ChatCompletionNewParams)
		status      int
		param, code string
	}{
		"model":  {func(p *openai.ChatCompletionNewParams) { p.Model = "gpt-5" }, 404, "model", "model_not_found"},
		"n":      {func(p *openai.ChatCompletionNewParams) { p.N = openai.Int(2) }, 400, "n", "unsupported_parameter"},
		"engine": {func(*openai.ChatCompletionNewParams) {}, 500, "", "engine_error"},
		"tools": {func(p *openai.ChatCompletionNewParams) {
			p.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(
				shared.FunctionDefinitionParam{Name: "f"})}
		}, 400, "tools", "unsupported_parameter"},
		"image": {func(p *openai.ChatCompletionNewParams) {
			image := openai.ChatCompletionContentPartImageImageURLParam{URL: "data:"}
			p.Messages = append(p.Messages, openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
				openai.TextContentPart("look"), openai.ImageContentPart(image),
			}))
		}, 400, "messages[2].content[1].type", "unsupported_parameter"},
	} {
		t.Run(name, func(t *testing.T) {
			p := params("Hi")
			c.change(&p)
			_, err := r.Chat.Completions.New(t.Context(), p)
			var e *openai.Error
			if !errors.As(err, &e) || e.StatusCode != c.status || e.Param != c.param || e.Code != c.code ||
				e.Message == "" {
				t.Errorf("got %v, %+v", err, e)
			}
		})
	}
	p := params("Hi")
	stream := r.Chat.Completions.NewStreaming(t.Context(), p)
	n := 0
	for stream.Next() {
		n++
	}
	if stream.Err() == nil || n != 3 {
		t.Errorf("an error in the middle of a stream: %d chunks, %v", n, stream.Err())
	}
}

func TestOpenAIClientModels(t *testing.T) {
	r := serve(t, broken{}, engine.Info{Window: 4096}, nil)
	page, err := r.Models.List(t.Context())
	if err != nil || len(page.Data) != 1 || page.Data[0].ID != "qwen-tiny" || page.Data[0].OwnedBy != "sotto" {
		t.Errorf("got %+v, %v", page, err)
	}
	m, err := r.Models.Get(t.Context(), "qwen-tiny")
	if err != nil || m.ID != "qwen-tiny" || m.Created != r.since.Unix() {
		t.Errorf("got %+v, %v", m, err)
	}
	_, err = r.Models.Get(t.Context(), "org/other")
	var e *openai.Error
	if !errors.As(err, &e) || e.StatusCode != http.StatusNotFound || e.Code != "model_not_found" {
		t.Errorf("got %v", err)
	}
}
