#!/usr/bin/env python3
"""What mlx-lm answers greedily with a built-in model, for greedy_test.go and `sotto doctor`.

    pip install "mlx[cpu]==0.32.4" mlx-lm==0.32.2
    python make_greedy.py ../../../assets/models/qwen-tiny > greedy-qwen-tiny.json

Of every question: the ids of the prompt by the checkpoint's own template, and with bf16 and f32 activations the ids of
the answer, end id included, and at each the first minus the second logit: where that is small, two right computations
may choose differently, and what follows is another text. g++ is needed, because mlx compiles kernels.
"""
import json
import sys
from pathlib import Path

import mlx.core as mx
from mlx_lm.utils import load_model, load_tokenizer

QUESTIONS = [
    "Hello! Who are you?",
    "Tell me a story about a dragon in a castle.",
    "What is 48 + 75?",
    "Write a function that adds two numbers in Go",
    "Translate to French: Good morning, how are you?",
    "Rewrite as bullet list: apples, some bread, two bottles of milk",
]
LONGEST = 120  # tokens


def answer(model, prompt, ends):
    cache, ids, gaps, feed = model.make_cache(), [], [], prompt
    while len(ids) < LONGEST and not (ids and ids[-1] in ends):
        logits = model(mx.array([feed]), cache=cache)[0, -1].astype(mx.float32)
        second, first = mx.sort(logits)[-2:].tolist()
        feed = [int(mx.argmax(logits))]
        ids += feed
        gaps.append(round(first - second, 4))
    return {"ids": ids, "gaps": gaps}


def main():
    folder = Path(sys.argv[1])
    mx.set_default_device(mx.cpu)
    tokenizer = load_tokenizer(folder)
    ends = set(json.loads((folder / "generation_config.json").read_text())["eos_token_id"])
    out = []
    for question in QUESTIONS:
        ids = tokenizer.apply_chat_template([{"role": "user", "content": question}], add_generation_prompt=True)
        out.append({"question": question, "prompt_ids": list(map(int, ids))})
    model, _ = load_model(folder)
    for dtype, name in (mx.bfloat16, "bf16"), (mx.float32, "f32"):
        model.set_dtype(dtype)
        for case in out:
            case[name] = answer(model, case["prompt_ids"], ends)
    rows = (",\n  ".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in case.items()) for case in out)
    print("[{\n  " + "\n}, {\n  ".join(rows) + "\n}]")


if __name__ == "__main__":
    main()
