package app

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sotto/app/models"
)

// TestDiagnosisAnswer holds what a diagnosis expects against what mlx-lm answers, with either type of activations, and
// that none of its tokens was in doubt.
func TestDiagnosisAnswer(t *testing.T) {
	const end, least = 4095, 5
	list, err := models.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		type answer struct {
			IDs  []int32   `json:"ids"`
			Gaps []float64 `json:"gaps"`
		}
		var cases []struct {
			Question string `json:"question"`
			BF16     answer `json:"bf16"`
			F32      answer `json:"f32"`
		}
		text, err := os.ReadFile("../cmd/sotto/testdata/greedy-" + m.Name + ".json")
		if err == nil {
			err = json.Unmarshal(text, &cases)
		}
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, c := range cases {
			if c.Question != diagnosisPrompt {
				continue
			}
			found = true
			for _, a := range []answer{c.BF16, c.F32} {
				if want := append(slices.Clone(diagnosisAnswer), end); !slices.Equal(a.IDs, want) {
					t.Errorf("%s: mlx-lm answers %v, expected is %v", m.Name, a.IDs, want)
				}
				if gap := slices.Min(a.Gaps); gap < least {
					t.Errorf("%s: two tokens are as close as %g", m.Name, gap)
				}
			}
		}
		if !found {
			t.Errorf("%s: mlx-lm was not asked %q", m.Name, diagnosisPrompt)
		}
	}
}

// TestDiagnoseWrongAnswer expects another answer: the engine is not healthy, and what is wrong is said.
func TestDiagnoseWrongAnswer(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	want := slices.Clone(diagnosisAnswer)
	want[4]++
	d, err := diagnose(t.Context(), Options{}, "test", func(int, int) {}, want)
	if err != nil {
		t.Fatal(err)
	}
	if d.Healthy || len(d.Errors) != 2 || len(d.Answers) != 2 {
		t.Fatalf("got %+v, want two wrong answers", d)
	}
	for i, a := range d.Answers {
		if a.Equal || a.Text == a.Expected || !strings.Contains(d.Errors[i], "answer of "+a.Model+": it is") {
			t.Errorf("got %+v and %q", a, d.Errors[i])
		}
	}
}

// TestDiagnoseInterrupted ends a diagnosis at different times: one that was not finished is not healthy, and an answer
// that was cut is not in it.
func TestDiagnoseInterrupted(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	for i := range 12 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*40*time.Millisecond)
		d, err := Diagnose(ctx, Options{}, "test", func(int, int) {})
		cancel()
		if d == nil || d.Healthy != (err == nil) {
			t.Fatalf("%v: got %+v", err, d)
		}
		if err != nil && (len(d.Errors) != 1 || !strings.Contains(d.Errors[0], "interrupted")) {
			t.Errorf("%v: got errors %q, want that it was interrupted", err, d.Errors)
		}
		for _, a := range d.Answers {
			if !a.Equal {
				t.Errorf("%v: got %+v, want whole answers", err, a)
			}
		}
	}
}
