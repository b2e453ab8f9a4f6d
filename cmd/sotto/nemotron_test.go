package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// TestSecondBuiltIn asks, talks and serves by the other built-in model's name.
func TestSecondBuiltIn(t *testing.T) {
	const model = "nemotron-tiny"
	a := ask(t, "-m", model, "What is 48 + 75?")
	if a.Model != (modelJSON{model, "nemotron_h", true}) || a.FinishReason != "stop" ||
		!strings.Contains(a.Text, "123") {
		t.Errorf("got %+v", a)
	}
	got := turns(t, pipedSotto(t, "My name is Bertha.\nWhat is my name?\n", "chat", "-m", model, "--temperature", "0"))
	if len(got) != 2 || !strings.Contains(got[1][1], "Bertha") {
		t.Errorf("got %q", got)
	}
	s := startServe(t, "-m", model)
	answer, err := io.ReadAll(s.post(t, `{"messages":[{"role":"user","content":"What is 48 + 75?"}],"temperature":0}`))
	for _, want := range []string{fmt.Sprintf(`"content":%q`, a.Text), fmt.Sprintf(`"model":%q`, model)} {
		if err != nil || !strings.Contains(string(answer), want) {
			t.Errorf("got %s, %v, want %q in it", answer, err, want)
		}
	}
	if err := s.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, s.Cmd); code != 0 {
		t.Errorf("exit code %d: %s", code, s.errs)
	}
}
