"""One run of mlx-lm on the processor: greedy continuation of given token ids by its own generate_step.

    bench-peer-mlx.py MODEL_DIR TOKENS < prompt_ids.json

Prints one JSON object: ids; gaps (first minus second log-probability at each); prefill_s, from the call to the first
token; decode_s, from the first token to the last. The model's stop ids do not end it. A few tokens are generated
before the clock starts, so that compiling kernels and touching weights for the first time is not counted.
"""
import json
import sys
import time
from pathlib import Path

import mlx.core as mx
from mlx_lm.generate import generate_step
from mlx_lm.utils import load_model

WARM_UP = 4  # tokens


def generate(model, prompt, tokens):
    ids, rows, times = [], [], [time.perf_counter()]
    for token, logprobs in generate_step(mx.array(prompt), model, max_tokens=tokens):
        times.append(time.perf_counter())
        ids.append(int(token))
        rows.append(logprobs)
    return ids, rows, times


def main():
    folder, tokens = Path(sys.argv[1]), int(sys.argv[2])
    prompt = json.load(sys.stdin)
    mx.set_default_device(mx.cpu)
    model, _ = load_model(folder)
    generate(model, prompt[:WARM_UP], WARM_UP)
    ids, rows, times = generate(model, prompt, tokens)
    best = [sorted(r.astype(mx.float32).tolist())[-2:] for r in rows]
    json.dump({
        "ids": ids,
        "gaps": [first - second for second, first in best],
        "prefill_s": times[1] - times[0],
        "decode_s": times[-1] - times[1],
    }, sys.stdout)


if __name__ == "__main__":
    main()
