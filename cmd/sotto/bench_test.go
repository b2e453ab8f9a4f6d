package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sotto/app/bench"
)

func TestBench(t *testing.T) {
	picture := filepath.Join(t.TempDir(), "bench.svg")
	out := good(t, sotto(t, "bench", "--prompt", "9,3", "--tokens", "5", "--rounds", "2", "--ablate", "concurrent",
		"--json", "--svg", picture)).out
	var r bench.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if r.Model != "qwen-tiny" || len(r.Lengths) != 2 || len(r.Lengths[0].Arms) != 2 || r.Lengths[0].Prompt != 9 {
		t.Fatalf("got %s, want two arms at 9 and 3 tokens", out)
	}
	for _, l := range r.Lengths {
		for _, f := range l.Arms {
			if f.Prefill.Min <= 0 || f.Decode.Min <= 0 || f.First.Min <= 0 || f.DecodeRatio.Min <= 0 {
				t.Errorf("%s at %d: got %+v, want rates", f.Arm, l.Prompt, f)
			}
		}
	}
	if svg, err := os.ReadFile(picture); err != nil || !strings.Contains(string(svg), "without concurrent") {
		t.Errorf("the picture: %v, %.200s", err, svg)
	}
}

func TestBenchLive(t *testing.T) {
	picture := filepath.Join(t.TempDir(), "live.svg")
	args := []string{
		"bench", "--model", "nemotron-tiny", "--table", "live", "--rounds", "1", "--tokens", "12", "--svg", picture,
	}
	out := good(t, sotto(t, append(args, "--json")...)).out
	var r bench.LiveReport
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	experts := 0
	for _, p := range r.Parts {
		if p.Dense.Min <= 0 || p.Sparse.Min <= 0 {
			t.Errorf("%s takes no time: %+v", p.Name, p)
		}
		if p.Routed == nil {
			continue
		}
		experts++
		for _, c := range []*bench.LiveCount{p.Routed, p.Shared} {
			if c.Share <= 0 || c.Share > 0.2 || c.LiveOnly >= c.Touched || c.Touched >= c.Full || c.Prompt < c.Tile {
				t.Errorf("%s: got %+v, want a few live neurons", p.Name, c)
			}
		}
	}
	if experts != 6 || r.Tokens != 12 {
		t.Errorf("%d layers of experts and %d tokens, want 6 and 12", experts, r.Tokens)
	}
	if svg, err := os.ReadFile(picture); err != nil || strings.Count(string(svg), "<title>") != 2*len(r.Parts) {
		t.Errorf("the picture has not two segments for each of %d parts: %v", len(r.Parts), err)
	}
	if out := good(t, sotto(t, args...)).out; !strings.Contains(out, "routed") || !strings.Contains(out, "ratio") {
		t.Errorf("the table is:\n%s", out)
	}
}

// TestBenchLiveBytes counts the same bytes a token whether an answer is cut or ends by itself.
func TestBenchLiveBytes(t *testing.T) {
	emptyHome(t)
	full := func(args ...string) (bytes float64, tokens int) {
		args = append([]string{
			"bench", "--model", "nemotron-tiny", "--table", "live", "--rounds", "1", "--json", "--text", "Hi",
		}, args...)
		var r bench.LiveReport
		if err := json.Unmarshal([]byte(good(t, sotto(t, args...)).out), &r); err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Parts {
			if p.Routed != nil {
				return p.Routed.Full, r.Tokens
			}
		}
		t.Fatal("no layer has experts")
		return 0, 0
	}
	const most = 200
	cut, _ := full("--tokens", "4")
	whole, tokens := full("--tokens", strconv.Itoa(most))
	if tokens >= most {
		t.Errorf("the answer has %d tokens, want one that ends by itself", tokens)
	}
	if diff := math.Abs(cut - whole); cut == 0 || diff > 1e-6*cut {
		t.Errorf("got %v and %v bytes a token, want the same", cut, whole)
	}
}

// TestBenchPictureFails writes the picture to a full disk: the figures are printed all the same.
func TestBenchPictureFails(t *testing.T) {
	o := sotto(t, "bench", "--prompt", "3", "--tokens", "2", "--rounds", "1", "--svg", "/dev/full")
	if o.code != 1 || !strings.Contains(o.out, "DECODE tok/s") || !strings.Contains(o.err, "/dev/full") {
		t.Errorf("exit code %d, %q, %q; want the table and an error", o.code, o.out, o.err)
	}
}

// TestBenchInterrupted holds that what was measured until then is printed.
func TestBenchInterrupted(t *testing.T) {
	good(t, sotto(t, "ask", "--max-tokens", "1", "hi")) // packs
	out, errs := interrupted(t, []string{
		"bench", "--prompt", "3,400", "--tokens", "2", "--rounds", "1000", "--ablate", "concurrent", "--json",
	}, func(out string) bool { return out == "" })
	var r bench.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err, out)
	}
	if n := len(r.Lengths); n == 0 || r.Lengths[n-1].Rounds >= r.Rounds || r.Lengths[0].Arms[1].Decode.Min <= 0 {
		t.Errorf("got %s, want fewer than %d rounds", out, r.Rounds)
	}
	if strings.Contains(errs, "sotto:") {
		t.Errorf("an interrupt is no error: %q", errs)
	}
	out, _ = interrupted(t, []string{
		"bench", "-m", "nemotron-tiny", "--table", "live", "--tokens", "2", "--rounds", "1000", "--json",
	}, func(out string) bool { return out == "" })
	var l bench.LiveReport
	if err := json.Unmarshal([]byte(out), &l); err != nil || l.Rounds == 0 || l.Rounds >= 1000 || len(l.Parts) == 0 {
		t.Errorf("%v: got %s, want some of the rounds", err, out)
	}
}

func TestBenchRefused(t *testing.T) {
	for args, want := range map[string]string{
		"bench --ablate magic":                 `ablation "magic" is unknown: want concurrent, sparse`,
		"bench -m /none --ablate sparse,magic": `ablation "magic" is unknown`,
		"bench --rounds 0":                     "--rounds 0: want 1 to",
		"bench --tokens 1":                     "--tokens 1: want 2 to",
		"bench --prompt 0":                     "--prompt 0: want 1 to",
		"bench --prompt ":                      "--prompt",
		"bench --prompt 12,x":                  "--prompt",
		"bench --threads 65":                   "--threads 65: want 0 to 64",
		"bench --table rows":                   `--table "rows": want rates or live`,
		"bench --ablate sparse":                `"sparse" would change nothing: the model has no sparse experts`,
		"bench --ablate concurrent,concurrent": "--ablate concurrent is given twice",
		"bench --table live --prompt 5":        "--prompt has no meaning with --table live",
		"bench --table live --seed 1":          "--seed has no meaning with --table live",
		"bench --table live --ablate sparse":   "--ablate has no meaning with --table live",
		"bench --text hi":                      "--text has no meaning with --table rates",
		"bench --table live":                   "qwen-tiny has no sparse experts",
		"bench --table live --text=":           "--text is empty",
		"bench --model= -n":                    "unknown shorthand flag",
		"bench --model=":                       "--model: the name is empty",
		"bench --prompt 999999":                "the prompt has 999999 tokens",
		"bench --svg /no/such/a.svg":           "--svg: stat /no/such",
		"bench --svg /":                        "--svg: / is a folder",
	} {
		o := sotto(t, strings.Split(args, " ")...)
		if o.code == 0 || !strings.Contains(o.err, want) {
			t.Errorf("%s: exit code %d, %q; want %q", args, o.code, o.err, want)
		}
	}
}
