"""Compares what Sotto makes of one token with what the checkpoint says it should be.

    full-size.py SOTTO DIR

DIR is a folder of `fullsize write`. Two tokens are tried, one near each end of the vocabulary. The model is computed
here anew, in numpy, from config.json and the weight files, without Sotto's code: what lies where in files of 20 GB,
which experts are taken, and every block of both families, but for what needs a second token (convolutions, recurrences
and attention over a past). Exits with 1 if a log-probability of the 20 best tokens, with f32 activations, differs by
more than TOLERANCE, or if others are better by more than that.
"""
import json
import struct
import subprocess
import sys

import numpy as np

TOLERANCE = 1e-4


class Checkpoint:
    """Tensors of a folder, read when they are asked for."""

    def __init__(self, folder):
        self.folder, self.files = folder, {}
        with open(f"{folder}/config.json") as f:
            self.config = json.load(f)
        with open(f"{folder}/model.safetensors.index.json") as f:
            self.index = json.load(f)["weight_map"]

    def file(self, name):
        if name not in self.files:
            f = open(f"{self.folder}/{name}", "rb")
            size = struct.unpack("<Q", f.read(8))[0]
            self.files[name] = f, 8 + size, json.loads(f.read(size))
        return self.files[name]

    def raw(self, name, first=None, count=1):
        """A tensor, or some rows of it, bf16 as f32."""
        f, start, head = self.file(self.index[name])
        t = head[name]
        shape, dtype = t["shape"], np.dtype({"BF16": "<u2", "F32": "<f4", "U32": "<u4"}[t["dtype"]])
        row = int(np.prod(shape[1:], dtype=np.int64)) * dtype.itemsize
        if first is not None:
            shape = [count] + shape[1:]
        f.seek(start + t["data_offsets"][0] + (first or 0) * row)
        a = np.frombuffer(f.read(shape[0] * row), dtype).reshape(shape)
        return (a.astype("<u4") << 16).view("<f4") if t["dtype"] == "BF16" else a

    def matrix(self, module, first=None, count=1):
        """A matrix as numbers, or some rows of it; an expert is a row."""
        if module + ".scales" not in self.index:
            return self.raw(module + ".weight")
        w, s, b = (self.raw(f"{module}.{part}", first, count) for part in ("weight", "scales", "biases"))
        groups = s.shape[-1]
        bits = w.shape[-1] * 32 // (groups * 64)
        codes = w[..., None] >> (np.arange(32 // bits, dtype="<u4") * bits) & ((1 << bits) - 1)
        codes = codes.reshape(*w.shape[:-1], groups, 64).astype("<f4")
        return (codes * s[..., None] + b[..., None]).reshape(*w.shape[:-1], groups * 64)

    def linear(self, module, x):
        return self.matrix(module) @ x

    def expert(self, module, e, x):
        return self.matrix(module, e)[0] @ x


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def rms(x, weight, eps):
    return weight * x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)


def unit(x):
    return x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6)


def delta(c, t, a, x, eps):
    """A gated delta net with an empty past: the state is beta v k^T."""
    kh, vh, kd, vd = (t["linear_" + k] for k in
                      ("num_key_heads", "num_value_heads", "key_head_dim", "value_head_dim"))
    taps = c.raw(a + "conv1d.weight").reshape(-1, t["linear_conv_kernel_dim"])
    u = silu(taps[:, -1] * c.linear(a + "in_proj_qkv", x))
    q, k, v = np.split(u, [kh * kd, 2 * kh * kd])
    q, k = (np.repeat(unit(y.reshape(kh, kd)), vh // kh, 0) for y in (q, k))
    beta = sigmoid(c.linear(a + "in_proj_b", x))[:, None]
    o = v.reshape(vh, vd) * beta * (k * q).sum(-1, keepdims=True) / np.sqrt(kd)
    z = c.linear(a + "in_proj_z", x).reshape(vh, vd)
    return c.linear(a + "out_proj", (rms(o, c.raw(a + "norm.weight"), eps) * silu(z)).reshape(-1))


def gated_attention(c, t, a, x):
    """Attention to the token itself alone: its value, gated."""
    heads, kv, dim = t["num_attention_heads"], t["num_key_value_heads"], t["head_dim"]
    gate = c.linear(a + "q_proj", x).reshape(heads, 2, dim)[:, 1]
    v = np.repeat(c.linear(a + "v_proj", x).reshape(kv, dim), heads // kv, 0)
    return c.linear(a + "o_proj", (v * sigmoid(gate)).reshape(-1))


def gated_experts(c, t, m, x):
    def ffn(down, gate, up):
        return down(silu(gate(x)) * up(x))

    r = c.linear(m + "gate", x)
    chosen = np.argsort(-r, kind="stable")[:t["num_experts_per_tok"]]
    w = np.exp(r[chosen] - r[chosen].max())
    y = sigmoid(c.linear(m + "shared_expert_gate", x)) * ffn(
        *(lambda v, p=p: c.linear(f"{m}shared_expert.{p}_proj", v) for p in ("down", "gate", "up")))
    for e, share in zip(chosen, w / w.sum()):
        y = y + share * ffn(
            *(lambda v, p=p: c.expert(f"{m}switch_mlp.{p}_proj", e, v) for p in ("down", "gate", "up")))
    return y


def qwen(c, token):
    t, body = c.config["text_config"], "language_model.model."
    eps = t["rms_norm_eps"]
    x = c.matrix(body + "embed_tokens", token)[0]
    for layer in range(t["num_hidden_layers"]):
        p = f"{body}layers.{layer}."
        h = rms(x, c.raw(p + "input_layernorm.weight"), eps)
        full = (layer + 1) % t["full_attention_interval"] == 0
        x = x + (gated_attention(c, t, p + "self_attn.", h) if full else delta(c, t, p + "linear_attn.", h, eps))
        x = x + gated_experts(c, t, p + "mlp.", rms(x, c.raw(p + "post_attention_layernorm.weight"), eps))
    return rms(x, c.raw(body + "norm.weight"), eps), "language_model.lm_head"


def mamba(c, t, a, x, eps):
    """A Mamba-2 with an empty past: the state is dt x B^T."""
    heads, dim, groups, state = t["mamba_num_heads"], t["mamba_head_dim"], t["n_groups"], t["ssm_state_size"]
    inner = heads * dim
    z, u, dt = np.split(c.linear(a + "in_proj", x), [inner, 2 * inner + 2 * groups * state])
    taps = c.raw(a + "conv1d.weight").reshape(-1, t["conv_kernel"])
    u = silu(taps[:, -1] * u + c.raw(a + "conv1d.bias"))
    v, b, k = np.split(u, [inner, inner + groups * state])
    dt = np.log1p(np.exp(dt + c.raw(a + "dt_bias")))
    bc = np.repeat((b * k).reshape(groups, state).sum(-1), heads // groups)
    y = v.reshape(heads, dim) * (dt * bc + c.raw(a + "D"))[:, None]
    y = rms((y.reshape(-1) * silu(z)).reshape(groups, -1), 1, eps).reshape(-1)
    return c.linear(a + "out_proj", y * c.raw(a + "norm.weight"))


def attention(c, t, a, x):
    heads, kv = t["num_attention_heads"], t["num_key_value_heads"]
    v = np.repeat(c.linear(a + "v_proj", x).reshape(kv, t["head_dim"]), heads // kv, 0)
    return c.linear(a + "o_proj", v.reshape(-1))


def relu2_experts(c, t, m, x):
    def relu2(v):
        return np.maximum(v, 0) ** 2

    s = sigmoid(c.raw(m + "gate.weight") @ x)
    chosen = np.argsort(-(s + c.raw(m + "gate.e_score_correction_bias")), kind="stable")[:t["num_experts_per_tok"]]
    w = s[chosen] / (s[chosen].sum() + 1e-20) * t["routed_scaling_factor"]
    y = c.linear(m + "shared_experts.down_proj", relu2(c.linear(m + "shared_experts.up_proj", x)))
    for e, share in zip(chosen, w):
        y = y + share * c.expert(m + "switch_mlp.fc2", e, relu2(c.expert(m + "switch_mlp.fc1", e, x)))
    return y


def nemotron(c, token):
    t, eps = c.config, c.config["layer_norm_epsilon"]
    x = c.matrix("backbone.embeddings", token)[0]
    for layer, kind in enumerate(t["layers_block_type"]):
        p = f"backbone.layers.{layer}."
        h = rms(x, c.raw(p + "norm.weight"), eps)
        if kind == "mamba":
            x = x + mamba(c, t, p + "mixer.", h, eps)
        elif kind == "attention":
            x = x + attention(c, t, p + "mixer.", h)
        else:
            x = x + relu2_experts(c, t, p + "mixer.", h)
    return rms(x, c.raw("backbone.norm_f.weight"), eps), "lm_head"


def texts(folder):
    """The first and the last token that is a word of letters, whose first two are merged before the last two are."""
    with open(f"{folder}/tokenizer.json") as f:
        vocab = json.load(f)["model"]["vocab"]
    order = " abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    words = [(i, t.replace("\u0120", " ")) for t, i in vocab.items()]
    words = sorted((i, t) for i, t in words if set(t) <= set(order) and t.strip())
    long = [t for _, t in words if len(t) == 3 and " " not in t[1:] and order.index(t[0]) < order.index(t[1])]
    return words[0][1], long[-1]


def compare(sotto, folder, c, text):
    out = subprocess.run(
        [sotto, "ask", "--model", folder, "--raw", "--dtype", "f32", "--temperature", "0", "--max-tokens", "1",
         "--json", "--logprobs", "20", text], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    answer = json.loads(out.stdout)
    if len(answer["prompt_ids"]) != 1:
        sys.exit(f"full-size: {text!r} is {len(answer['prompt_ids'])} tokens, not one")
    token = answer["prompt_ids"][0]
    x, head = (qwen if "text_config" in c.config else nemotron)(c, token)
    vocab, step = c.raw(head + ".scales").shape[0], 8192
    logits = np.concatenate([c.matrix(head, i, min(step, vocab - i)) @ x for i in range(0, vocab, step)])
    logits = logits.astype("<f8")
    want = logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())
    top = answer["logprobs"][0]["top"]
    worst = max(abs(want[t["id"]] - t["logprob"]) for t in top)
    missed = (np.sort(want)[::-1][:len(top)] - want[[t["id"] for t in top]]).max()
    same = bool(max(worst, missed) <= TOLERANCE)
    print(json.dumps({
        "step": "reference", "token": token, "best": top[0]["id"], "logit_deviation": round(float(logits.std()), 3),
        "largest_difference": float(worst), "same": same,
    }), flush=True)
    if not same:
        sys.exit("full-size: Sotto computes another model than the checkpoint is")


def main():
    sotto, folder = sys.argv[1:]
    c = Checkpoint(folder)
    for text in texts(folder):
        compare(sotto, folder, c, text)


if __name__ == "__main__":
    main()
