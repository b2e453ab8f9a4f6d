"""Sotto against mlx-lm on this machine's processor, and against Sotto's own GEMV benchmark.

    bench-peer.py [--pairs 5] [--tokens 200] [--model assets/models/qwen-tiny]

Both read the same files and continue the same prompt ids greedily, each run in a process of its own, in turn: Sotto,
mlx-lm, mlx-lm, Sotto, Sotto, ... With each pair the GEMV benchmark runs too, and Sotto answers once more as text, for
the time from the start of the process to the first letter. Rates: tokens of the prompt over the time to read it;
tokens after the first over the time from the first to the last. mlx-lm is warmed up in its process, Sotto is not.

Prints a table and writes build/bench/peer.json.
"""
import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build/bench"
PROMPT = ROOT / "packaging/bench-peer.txt"
DENSE_MODEL = ROOT / "assets/models/qwen-tiny"
DECODE_PROGRAM = ROOT / "engine/nn/testdata/tiny_decode1.txt"
CORES = len(os.sched_getaffinity(0))
SPEEDUP, SHARE, FIRST_TOKEN = 15, 0.5, 1.0  # the goals


class Arms:
    """What is run in turn."""

    def __init__(self, options):
        self.model = str(Path(options.model).resolve())
        self.ask = [str(ROOT / "bin/sotto"), "ask", "--model", self.model, "--raw",
                    "--temperature", "0", "--max-tokens", str(options.tokens), "-f", str(PROMPT)]
        self.env = dict(os.environ, XDG_CACHE_HOME=str(OUT / "cache"), XDG_DATA_HOME=str(OUT / "data"))
        self.gemv_test = OUT / "gemv.test"
        self.gemv_case = f"Gemv/threads={CORES}$/q4/K=/rows=1$"

    def run(self, command, **more):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        if done.returncode != 0:
            sys.exit(f"bench-peer: {' '.join(map(str, command[:3]))} ...: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def sotto(self):
        a = json.loads(self.run(self.ask + ["--json"], env=self.env, stdin=subprocess.DEVNULL))
        t = a["timings"]
        return {"prompt": a["prompt_ids"], "ids": a["completion_ids"], "reason": a["finish_reason"],
                "prefill": t["prefill_tokens_per_second"], "decode": t["decode_tokens_per_second"]}

    def mlx(self, prompt, tokens):
        a = json.loads(self.run([sys.executable, ROOT / "packaging/bench-peer-mlx.py", self.model, str(tokens)],
                                input=json.dumps(prompt)))
        return {"ids": a["ids"], "gaps": a["gaps"],
                "prefill": len(prompt) / a["prefill_s"], "decode": (tokens - 1) / a["decode_s"]}

    def first_letter(self):
        """Seconds from the start of the process to the first byte of the answer."""
        begin = time.perf_counter()
        with subprocess.Popen(self.ask, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as p:
            p.stdout.read(1)
            took = time.perf_counter() - begin
            p.stdout.read()
        return took

    def build_gemv(self):
        self.run(["go", "test", "-c", "-o", self.gemv_test, "./engine/gpu/host"], cwd=ROOT,
                 env=dict(os.environ, CGO_ENABLED="0"))

    def gemv(self):
        """Bytes a second of one row by 4-bit weights, in the fastest of the benchmark's widths."""
        text = self.run([self.gemv_test, "-test.run", "^$", "-test.bench", self.gemv_case, "-test.benchtime", "300ms"],
                        cwd=ROOT / "engine/gpu/host")
        rates = [float(n) * {"G": 1e9, "M": 1e6}[unit] for n, unit in re.findall(r"([0-9.]+) ([GM])B/s", text)]
        if not rates:
            sys.exit(f"bench-peer: the benchmark {self.gemv_case} in engine/gpu/host printed no rate:\n{text}")
        return max(rates)


def bytes_per_token(position):
    """What one token moves, by the printed decode program: that of qwen-tiny, which the tests hold. The program
    counts 4,096 positions of the cache, or the window; a token at a position reads that share of it."""
    text = DECODE_PROGRAM.read_text()
    moved = {name: int(n) for name, n in re.findall(r"region (\w+): size \d+, bytes a step (\d+)", text)}
    config = json.loads((DENSE_MODEL / "config.json").read_text())["text_config"]
    cache = moved["kv"] * position / min(4096, config["max_position_embeddings"])
    return {"weights": moved["weights"], "state": moved["recurrent"] + moved["conv"], "cache": round(cache)}


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def figure(s, scale=1.0, digits=0):
    a, low, high = (f"{s[k] * scale:,.{digits}f}" for k in ("median", "min", "max"))
    return f"{a} ({low} to {high})"


def agreement(ours, theirs, gaps):
    same = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
    if same == len(ours):
        return {"agree": same, "text": f"all {same} agree"}
    return {"agree": same, "gap": gaps[same],
            "text": f"the first {same} agree; there mlx-lm's two best are {gaps[same]:.3f} apart"}


def measure(options):
    arms, pairs = Arms(options), []
    arms.build_gemv()
    arms.gemv()
    warm = arms.sotto()  # packs the weights, and says what the prompt's ids are
    prompt, tokens = warm["prompt"], len(warm["ids"])
    if tokens < 2:
        sys.exit("bench-peer: Sotto's answer is shorter than two tokens")
    for i in range(options.pairs):
        order = [("sotto", arms.sotto), ("mlx", lambda: arms.mlx(prompt, tokens))]
        pair = {name: arm() for name, arm in (order if i % 2 == 0 else order[::-1])}
        pair |= {"gemv": arms.gemv(), "first_letter": arms.first_letter()}
        if pair["sotto"]["prompt"] != prompt or pair["sotto"]["ids"] != warm["ids"]:
            sys.exit("bench-peer: two greedy answers of Sotto differ")
        pairs.append(pair)
        print(f"pair {i + 1} of {options.pairs}: decode {pair['sotto']['decode']:,.0f} and {pair['mlx']['decode']:.1f} "
              f"tokens/s", file=sys.stderr)
    return prompt, warm, pairs


def summary(options, prompt, warm, pairs):
    tokens = len(warm["ids"])
    rate = {f"{arm}_{phase}": spread([p[arm][phase] for p in pairs])
            for arm in ("sotto", "mlx") for phase in ("prefill", "decode")}
    ratio = {phase: spread([p["sotto"][phase] / p["mlx"][phase] for p in pairs]) for phase in ("prefill", "decode")}
    s = {
        "model": options.model, "processor": processor(), "cores": CORES,
        "prompt_tokens": len(prompt), "tokens": tokens, "pairs": len(pairs), "tokens_per_second": rate, "ratio": ratio,
        "greedy": agreement(warm["ids"], pairs[0]["mlx"]["ids"], pairs[0]["mlx"]["gaps"]),
        "first_letter_s": spread([p["first_letter"] for p in pairs]),
        "goals": {"decode_ratio": ratio["decode"]["median"] >= SPEEDUP,
                  "first_letter": statistics.median(p["first_letter"] for p in pairs) <= FIRST_TOKEN},
        "runs": pairs,
    }
    if Path(options.model).resolve() == DENSE_MODEL:  # where experts are sparse, bytes depend on the text
        moved = bytes_per_token(len(prompt) + tokens / 2)
        share = spread([p["sotto"]["decode"] * sum(moved.values()) / p["gemv"] for p in pairs])
        s |= {"gemv_bytes_per_second": spread([p["gemv"] for p in pairs]), "bytes_per_token": moved,
              "share_of_gemv": share,
              "share_of_gemv_weights_only": spread([p["sotto"]["decode"] * moved["weights"] / p["gemv"] for p in pairs])}
        s["goals"]["share_of_gemv"] = share["median"] >= SHARE
    return s


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def table(s):
    rate, ratio, goals = s["tokens_per_second"], s["ratio"], s["goals"]
    goal = {k: "reached" if ok else "MISSED" for k, ok in goals.items()}
    print(f"{s['model']}: {s['prompt_tokens']} prompt tokens, {s['tokens']} generated, {s['pairs']} pairs in turn, "
          f"{s['processor']}, {s['cores']} cores\nmedian (least to most)\n")
    print(f"{'':20} {'Sotto':26} {'mlx-lm, CPU':26} times as fast")
    for phase in ("decode", "prefill"):
        print(f"{phase + ', tokens/s':20} {figure(rate['sotto_' + phase]):26} "
              f"{figure(rate['mlx_' + phase], digits=1):26} {figure(ratio[phase], digits=1)}")
    print(f"\nGreedy ids: {s['greedy']['text']}.")
    print(f"First letter, from the start of the process: {figure(s['first_letter_s'], 1e3)} ms.")
    told = f"Goals: decode {SPEEDUP} times mlx-lm's: {goal['decode_ratio']}; "
    if moved := s.get("bytes_per_token"):
        print(f"A token moves {sum(moved.values()) / 1e6:.2f} MB (weights {moved['weights'] / 1e6:.2f}, recurrent state "
              f"{moved['state'] / 1e6:.2f}, keys and values {moved['cache'] / 1e6:.2f}).")
        print(f"GEMV benchmark: {figure(s['gemv_bytes_per_second'], 1e-9, 2)} GB/s; decode moves its bytes at "
              f"{figure(s['share_of_gemv'], 100)} % of that rate, weights alone "
              f"{figure(s['share_of_gemv_weights_only'], 100)} %.")
        told += f"{SHARE:.0%} of the GEMV rate: {goal['share_of_gemv']}; "
    print(f"{told}first letter within {FIRST_TOKEN:.0f} s: {goal['first_letter']}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--model", default="assets/models/qwen-tiny")
    options = parser.parse_args()
    if options.pairs < 1 or options.tokens < 2:
        parser.error("--pairs wants 1 or more, --tokens 2 or more")
    prompt, warm, pairs = measure(options)
    result = summary(options, prompt, warm, pairs)
    (OUT / "peer.json").write_text(json.dumps(result, indent=1) + "\n")
    table(result)


if __name__ == "__main__":
    main()
