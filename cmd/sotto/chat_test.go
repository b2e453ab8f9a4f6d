package main

import (
	"strings"
	"testing"
)

// turns splits the transcript of a piped conversation into pairs of message and answer.
func turns(t *testing.T, o output) [][2]string {
	t.Helper()
	var list [][2]string
	for part := range strings.SplitSeq("\n"+good(t, o).out, "\n> ") {
		if part == "" {
			continue
		}
		message, answer, ok := strings.Cut(part, "\n")
		if !ok || strings.TrimSpace(answer) == "" {
			t.Fatalf("no answer to %q in %q", message, o.out)
		}
		list = append(list, [2]string{message, strings.TrimSuffix(answer, "\n")})
	}
	return list
}

func TestChatFromPipe(t *testing.T) {
	o := pipedSotto(t, "Hello!\n\n  \r\nWhat is 48 + 75?\r\nTell me a joke", "chat", "--temperature", "0")
	got := turns(t, o)
	want := []string{"Hello!", "What is 48 + 75?", "Tell me a joke"}
	if len(got) != len(want) {
		t.Fatalf("%d turns, want %d: %q", len(got), len(want), o.out)
	}
	for i := range want {
		if got[i][0] != want[i] {
			t.Errorf("turn %d: message %q, want %q", i, got[i][0], want[i])
		}
	}
	if alone := ask(t, "Hello!").Text; got[0][1] != alone {
		t.Errorf("first answer %q, want %q", got[0][1], alone)
	}
	if !strings.Contains(got[1][1], "123") {
		t.Errorf("48 + 75: %q", got[1][1])
	}
	if n := strings.Count(o.err, "first token"); n != 3 {
		t.Errorf("figures of %d turns: %q", n, o.err)
	}
	if !strings.Contains(o.err, " kept") {
		t.Errorf("the second turn reads everything again: %q", o.err)
	}
}

func TestChatKeepsContext(t *testing.T) {
	o := pipedSotto(t, "My name is Bertha.\nTell me a joke\nWhat is my name?\n", "chat", "--temperature", "0")
	got := turns(t, o)
	if len(got) != 3 || !strings.Contains(got[2][1], "Bertha") {
		t.Errorf("got %q", o.out)
	}
	forgetful := turns(t, pipedSotto(t, "What is my name?\n", "chat", "--temperature", "0"))
	if strings.Contains(forgetful[0][1], "Bertha") {
		t.Errorf("knows a name that nobody told: %q", forgetful)
	}
}

func TestChatOfNothing(t *testing.T) {
	for name, text := range map[string]string{"nothing": "", "an empty line": "\n", "spaces": "  \n\n "} {
		t.Run(name, func(t *testing.T) {
			got := turns(t, pipedSotto(t, text, "chat", "--temperature", "0"))
			if len(got) != 1 || got[0][0] != demo || !strings.Contains(got[0][1], "tiny") {
				t.Errorf("got %q", got)
			}
		})
	}
	got := turns(t, sotto(t, "chat", "--temperature", "0")) // standard input is the null device
	if len(got) != 1 || got[0][0] != demo {
		t.Errorf("got %q", got)
	}
}

func TestChatSystem(t *testing.T) {
	plain := good(t, pipedSotto(t, story, "chat", "--temperature", "0"))
	with := good(t, pipedSotto(t, story, "chat", "--temperature", "0", "--system", "Answer in French."))
	tokens := func(o output) string {
		_, after, _ := strings.Cut(o.err, "prefill ")
		n, _, _ := strings.Cut(after, " tokens")
		return n
	}
	if tokens(plain) == tokens(with) || tokens(with) == "" {
		t.Errorf("the system prompt adds no tokens: %q, %q", plain.err, with.err)
	}
}

// TestChatPromptTooLong holds that a conversation that has outgrown the window ends with its error and its answers.
func TestChatPromptTooLong(t *testing.T) {
	o := pipedSotto(t, "Hello!\n"+strings.Repeat("and so on ", 2000)+"\n", "chat", "--temperature", "0")
	if o.code != exitFailure || !strings.Contains(o.out, "> Hello!\n"+ask(t, "Hello!").Text+"\n> and so on") ||
		!strings.Contains(o.err, "window holds 4096") {
		t.Errorf("exit code %d, %q", o.code, o.err)
	}
}
