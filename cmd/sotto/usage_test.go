package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCommandLineRefused(t *testing.T) {
	tests := []struct {
		name string
		args string // separated by spaces; '' is an empty argument
		want string
	}{
		{"unknown command", "frobnicate", `unknown command "frobnicate"`},
		{"unknown flag", "ask --frobnicate hi", "unknown flag: --frobnicate"},
		{"unknown flag of chat", "chat --json", "unknown flag: --json"},
		{"unknown flag at the top", "--frobnicate", "unknown flag: --frobnicate"},
		{"argument of chat", "chat hello", `unexpected argument "hello"`},
		{"argument of models", "models hello", `unexpected argument "hello"`},
		{"flag of clean", "models clean --everything", "unknown flag: --everything"},
		{"no value", "ask hi --seed", "flag needs an argument: --seed"},
		{"no question", "ask", "no question"},
		{"empty question", "ask ''", "no question"},
		{"empty file", "ask -f /dev/null", "no question"},

		{"dtype", "ask hi --dtype f16", `--dtype "f16": want bf16 or f32`},
		{"chunk too small", "ask hi --chunk -1", "--chunk -1: want 0 to 4096"},
		{"chunk too large", "ask hi --chunk 4097", "--chunk 4097: want 0 to 4096"},
		{"chunk no number", "ask hi --chunk many", `--chunk "many": want a whole number`},
		{"chunk with a fraction", "ask hi --chunk 1.5", `--chunk "1.5": want a whole number`},
		{"chunk beyond integers", "chat --chunk 9223372036854775808", "the number is out of range"},
		{"numbers", "bench --prompt 64,many", `--prompt "64,many": want whole numbers, separated by commas`},
		{"port no number", "serve -p http", `--port "http": want a whole number`},
		{"temperature in words", "ask hi --temperature hot", `--temperature "hot": want a number`},
		{"switch", "ask hi --json=maybe", `--json "maybe": want true or false`},
		{"empty model", "ask hi --model ''", "--model: the name is empty"},
		{"chat's empty model", "chat --model ''", "--model: the name is empty"},
		{"serve's empty model", "serve --model ''", "--model: the name is empty"},
		{"max-tokens", "ask hi --max-tokens 0", "--max-tokens 0: want at least 1"},
		{"max-tokens negative", "ask hi --max-tokens -5", "--max-tokens -5: want at least 1"},
		{"threads", "ask hi --threads -1", "--threads -1: want 0 to 64"},
		{"seed negative", "ask hi --seed -1", `--seed "-1": want a whole number from 0`},
		{"seed too large", "ask hi --seed 18446744073709551616", "the number is out of range"},
		{"empty stop", "ask hi --stop ''", "--stop: the text is empty"},
		{"temperature", "ask hi --temperature -1", "temperature -1: want 0 to 100"},
		{"temperature no number", "ask hi --temperature NaN", "temperature NaN: want 0 to 100"},
		{"temperature infinite", "ask hi --temperature Inf", "temperature +Inf: want 0 to 100"},
		{"top-p", "ask hi --top-p 1.5", "top-p 1.5: want 0 to 1"},
		{"top-p negative", "ask hi --top-p -0.1", "top-p -0.1: want 0 to 1"},
		{"min-p", "ask hi --min-p 2", "min-p 2: want 0 to 1"},
		{"top-k", "ask hi --top-k -3", "top-k -3: want 0 to 16777216"},
		{"chat's top-k", "chat --top-k -3", "top-k -3: want 0 to 16777216"},
		{"logprobs without json", "ask hi --logprobs 3", "--logprobs needs --json"},
		{"logprobs too many", "ask hi --json --logprobs 1000", "--logprobs 1000: want 0 to "},
		{"logprobs negative", "ask hi --json --logprobs -2", "--logprobs -2: want 0 to "},
		{"raw with system", "ask hi --raw --system short", "--raw and --system exclude each other"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args := strings.Fields(tt.args)
			for i, a := range args {
				args[i] = strings.Trim(a, "'")
			}
			refused(t, sotto(t, args...), exitUsage, tt.want)
		})
	}
}

// TestUsagePointer holds that a mistake leads to the help of the command in which it was made.
func TestUsagePointer(t *testing.T) {
	for args, want := range map[string]string{
		"frobnicate":                "sotto",
		"ask --frobnicate":          "sotto ask",
		"ask hi --max-tokens 0":     "sotto ask",
		"models clean --everything": "sotto models clean",
	} {
		o := sotto(t, strings.Fields(args)...)
		refused(t, o, exitUsage)
		if want := "\nRun '" + want + " --help' for usage.\n"; !strings.HasSuffix(o.err, want) {
			t.Errorf("sotto %s: got %q, want %q at its end", args, o.err, want)
		}
	}
}

func TestTextRefused(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "letter.txt")
	if err := os.WriteFile(bad, []byte("first line\nsecond \xfe line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, pipe string
		args       []string
		want       []string
	}{
		{"argument", "", []string{"ask", "a\xffb"}, []string{"not valid UTF-8", "0xff at offset 1, line 1"}},
		{"file", "", []string{"ask", "-f", bad}, []string{"not valid UTF-8", "0xfe at offset 18, line 2"}},
		{"pipe", "half a letter: \xe2\x82", []string{"ask"}, []string{"not valid UTF-8", "0xe2 at offset 15, line 1"}},
		{"message", "caf\xe9\n", []string{"chat"}, []string{"the message is not valid UTF-8", "0xe9 at offset 3"}},
		{"system prompt", "", []string{"ask", "hi", "--system", "\x80"}, []string{"system prompt is not valid UTF-8"}},
		{"chat's system prompt", "hi", []string{"chat", "--system", "\x80"}, []string{"system prompt is not valid"}},
		{"stop", "", []string{"ask", "hi", "--stop", "\x80"}, []string{"--stop", "is not valid UTF-8"}},
		{"no file", "", []string{"ask", "-f", bad + ".txt"}, []string{"letter.txt.txt", "no such file"}},
		{"folder as file", "", []string{"ask", "-f", filepath.Dir(bad)}, []string{"is a directory"}},
		{"nothing in the pipe", "\n", []string{"ask"}, []string{"no question"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := pipedSotto(t, tt.pipe, tt.args...)
			if tt.args[0] == "chat" { // echoes messages before it answers them
				o.out = strings.TrimPrefix(o.out, "> "+strings.TrimSpace(tt.pipe)+"\n")
			}
			code := exitFailure
			if tt.want[0] == "no question" {
				code = exitUsage
			}
			refused(t, o, code, tt.want...)
		})
	}
}

// TestNoRoomForAnswer holds that an answer that nobody could read is no success.
func TestNoRoomForAnswer(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no full device here: %v", err)
	}
	defer full.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, args := range [][]string{{"ask", "hi"}, {"ask", "--json", "hi"}, {"chat"}, {"models"}, {"--help"}} {
		errs := &strings.Builder{}
		code := run(args, terminal{in: null, out: full, err: errs})
		if code != exitFailure || !strings.Contains(errs.String(), "sotto: write /dev/full: no space left") {
			t.Errorf("sotto %v: exit code %d, %q", args, code, errs)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}, {"help"}, {"ask", "--help"}, {"chat", "-h"}, {"models", "-h"}} {
		o := good(t, sotto(t, args...))
		if !strings.Contains(o.out, "sotto") || o.err != "" {
			t.Errorf("sotto %v: %q, %q", args, o.out, o.err)
		}
	}
}

func TestModels(t *testing.T) {
	o := good(t, sotto(t, "models"))
	for _, want := range []string{
		"qwen-tiny (default)", "qwen3_5_moe", "nemotron-tiny", "nemotron_h", "tiny", "--model DIR",
	} {
		if !strings.Contains(o.out, want) {
			t.Errorf("got %q, want %q in it", o.out, want)
		}
	}
}

func TestCleanModels(t *testing.T) {
	emptyHome(t)
	if o := good(t, sotto(t, "models", "clean")); o.out != "There is nothing to delete.\n" {
		t.Errorf("without packed weights: %q", o.out)
	}
	kept, gone := newCheckpoint(t).dir, newCheckpoint(t).dir
	for _, name := range []string{"qwen-tiny", kept, gone} {
		good(t, sotto(t, "ask", "--max-tokens", "1", "--model", name, "hi"))
	}
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	o := good(t, sotto(t, "models"))
	for _, want := range []string{
		"MB  " + kept + "\n", "MB  " + gone + " (this folder is gone)\n", "'sotto models clean' deletes", "frees ",
	} {
		if !strings.Contains(o.out, want) {
			t.Errorf("got %q, want %q in it", o.out, want)
		}
	}
	if o = good(t, sotto(t, "models", "clean")); strings.Count(o.out, "\n") != 1 || !strings.Contains(o.out, gone) {
		t.Errorf("clean: %q", o.out)
	}
	if o = good(t, sotto(t, "models")); strings.Contains(o.out, gone) || !strings.Contains(o.out, kept) {
		t.Errorf("after clean: %q", o.out)
	}
	if o = good(t, sotto(t, "models", "clean", "--all")); strings.Count(o.out, "\n") != 2 {
		t.Errorf("clean --all: %q", o.out)
	}
	if _, err := os.Stat(filepath.Join(kept, "config.json")); err != nil {
		t.Errorf("the model itself: %v", err)
	}
	good(t, sotto(t, "ask", "--max-tokens", "1", "--model", kept, "hi"))
	refused(t, sotto(t, "models", "clean", "now"), exitUsage, `unexpected argument "now"`)
}
