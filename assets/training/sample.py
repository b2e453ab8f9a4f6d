#!/usr/bin/env python3
"""Greedy chat samples of an MLX folder on the CPU:  python3 sample.py FOLDER [prompt ...]"""

import sys

import mlx.core as mx
from mlx_lm import load
from mlx_lm.generate import generate_step

mx.set_default_device(mx.cpu)
STOP = {4095, 4093}


def reply(model, tok, msgs, n=300):
    ids = tok.apply_chat_template(msgs, add_generation_prompt=True, tokenize=True, return_dict=False)
    out = []
    for t, _ in generate_step(mx.array(ids), model, max_tokens=n):
        t = int(t)
        if t in STOP:
            break
        out.append(t)
    return tok.decode(out)


if __name__ == "__main__":
    model, tok = load(sys.argv[1])
    for p in sys.argv[2:]:
        msgs = []
        for u in p.split(" || "):
            msgs.append({"role": "user", "content": u.replace("\\n", "\n")})
            a = reply(model, tok, msgs)
            msgs.append({"role": "assistant", "content": a})
            print(f"> {u}\n{a}\n")
        print("-----")
