package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// noise is how near two logits may be before two right computations may rank them differently.
var noise = map[string]float64{"bf16": 0.5, "f32": 1e-3}

// TestGreedyEqualsReference compares greedy answers with those of mlx-lm (testdata/make_greedy.py). They may part
// only where the reference's two best logits are within the noise; what follows is another text.
func TestGreedyEqualsReference(t *testing.T) {
	t.Run("qwen-tiny", func(t *testing.T) { greedy(t, "qwen-tiny", map[string]int{"bf16": 60, "f32": 200}) })
	t.Run("nemotron-tiny", func(t *testing.T) { greedy(t, "nemotron-tiny", map[string]int{"bf16": 60, "f32": 200}) })
}

// greedy wants so many tokens compared of each type of activations.
func greedy(t *testing.T, model string, least map[string]int) {
	t.Helper()
	type answer struct {
		IDs  []int32   `json:"ids"`
		Gaps []float64 `json:"gaps"`
	}
	var cases []struct {
		Question  string  `json:"question"`
		PromptIDs []int32 `json:"prompt_ids"`
		BF16      answer  `json:"bf16"`
		F32       answer  `json:"f32"`
	}
	text, err := os.ReadFile("testdata/greedy-" + model + ".json")
	if err == nil {
		err = json.Unmarshal(text, &cases)
	}
	if err != nil || len(cases) == 0 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	const end = 4095
	compared := map[string]int{}
	for _, c := range cases {
		for dtype, want := range map[string]answer{"bf16": c.BF16, "f32": c.F32} {
			a := ask(t, "-m", model, "--dtype", dtype, "--max-tokens", "120", c.Question)
			if !slices.Equal(a.PromptIDs, c.PromptIDs) {
				t.Errorf("%q: prompt %v, want %v", c.Question, a.PromptIDs, c.PromptIDs)
				continue
			}
			got := a.CompletionID
			if a.FinishReason == "stop" {
				got = append(got, end)
			}
			same := 0
			for same < min(len(got), len(want.IDs)) && got[same] == want.IDs[same] {
				same++
			}
			compared[dtype] += same
			if same < len(want.IDs) && want.Gaps[same] > noise[dtype] {
				t.Errorf("%q in %s parts at token %d of %d, where the reference's gap is %g: %q",
					c.Question, dtype, same, len(want.IDs), want.Gaps[same], a.Text)
			}
		}
	}
	t.Logf("equal tokens: %v", compared)
	for dtype, least := range least {
		if n := compared[dtype]; n < least {
			t.Errorf("%s: only %d tokens could be compared", dtype, n)
		}
	}
}

// TestGreedyRepeats holds that neither repetition nor the way the prompt is cut changes a greedy answer.
func TestGreedyRepeats(t *testing.T) {
	question := strings.Repeat("The dragon sat alone in the old castle. ", 12) + story
	want := ask(t, "--max-tokens", "40", question)
	if n := len(want.PromptIDs); n < 90 {
		t.Fatalf("a prompt of %d tokens is too short to be cut", n)
	}
	for _, args := range [][]string{
		nil,
		{"--chunk", "1"},
		{"--chunk", "2"},
		{"--chunk", "7"},
		{"--chunk", "16"},
		{"--chunk", "65"},
		{"--chunk", "4096"},
		{"--threads", "1"},
		{"--threads", "3"},
	} {
		got := ask(t, append(args, "--max-tokens", "40", question)...)
		if !slices.Equal(got.CompletionID, want.CompletionID) {
			t.Errorf("%v: %q, want %q", args, got.Text, want.Text)
		}
	}
}
