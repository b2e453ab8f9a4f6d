#!/usr/bin/env python3
"""Check the exported folders on the CPU with mlx-lm (and transformers).

python3 evaluate.py OUT SHARDS CHATS   perplexity bf16 and 4-bit, MTP acceptance, live neurons
python3 evaluate.py OUT hf             logits of transformers against mlx-lm on the bf16 folders
"""

import json
import os
import sys

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx_lm import load
from mlx_lm.generate import generate_step
from mlx_lm.models import nemotron_h

import common
import gen

mx.set_default_device(mx.cpu)
EOT, IM_START, IM_END = 4093, 4094, 4095
MASK = None


def held_out(tokdir, n):
    from tokenizers import Tokenizer

    tok = Tokenizer.from_file(os.path.join(tokdir, "tokenizer.json"))
    return tok, common.encode_chats(
        tok, range(common.HELD_SEED + 500_000, common.HELD_SEED + 500_000 + n), tok.token_to_id("assistant")
    )


def mlx_state(folder, kind):
    """The weights of an MLX folder, dequantised, under the names of the training modules."""
    import torch

    w = mx.load(os.path.join(folder, "model.safetensors"))
    if kind == "nemotron":
        w.update(mx.load(os.path.join(folder, "mtp.safetensors")))
    cfg = json.load(open(os.path.join(folder, "config.json")))["quantization"]
    out = {}
    for k, v in w.items():
        if k.endswith((".scales", ".biases")):
            continue
        if k[:-6] + "scales" in w:
            bits = cfg.get(k[:-7], {}).get("bits", 4) if isinstance(cfg.get(k[:-7]), dict) else 4
            v = mx.dequantize(v, w[k[:-6] + "scales"], w[k[:-6] + "biases"], group_size=64, bits=bits)
        if "conv1d.weight" in k:
            v = v.moveaxis(1, 2)
        out[k.removeprefix("language_model.")] = torch.from_numpy(np.array(v.astype(mx.float32)))
    for k in list(out):
        if kind == "qwen" and (
            k.endswith(("layernorm.weight", "q_norm.weight", "k_norm.weight")) or k == "model.norm.weight"
        ):
            out[k] -= 1
        if k.endswith("switch_mlp.gate_proj.weight"):
            b = k[: -len("switch_mlp.gate_proj.weight")]
            out[b + "experts.gate_up_proj"] = torch.cat([out.pop(k), out.pop(b + "switch_mlp.up_proj.weight")], 1)
            out[b + "experts.down_proj"] = out.pop(b + "switch_mlp.down_proj.weight")
        if k.endswith("switch_mlp.fc1.weight"):
            b = k[: -len("switch_mlp.fc1.weight")]
            out[b + "experts.up_proj"], out[b + "experts.down_proj"] = out.pop(k), out.pop(b + "switch_mlp.fc2.weight")
    return out


def perplexity(out, shards, kind, rows):
    """Held-out assistant text in fp32 arithmetic, with the bf16 and with the 4-bit weights (training modules: fast, and checked against transformers)."""
    import torch

    import train_nemotron
    import train_qwen

    m = {"qwen": train_qwen, "nemotron": train_nemotron}[kind].Model().eval()
    p = common.Packer(1024, common.HELD_SEED + 500_000)
    ids, w = (torch.from_numpy(a) for a in p.batch(rows))
    ids, w = ids.long(), (w == 250)
    for what in ("bf16", "4-bit"):
        if what == "bf16":
            common.load_shards(m, shards, kind)
        else:
            m.load_state_dict(mlx_state(os.path.join(out, kind + "-tiny"), kind))
        tot = cnt = right = 0
        with torch.no_grad():
            for r in range(rows):
                lg = m.logits(ids[r : r + 1])[0, :-1].float()
                k, t = w[r, 1:], ids[r, 1:]
                tot += torch.nn.functional.cross_entropy(lg[k], t[k], reduction="sum").item()
                right, cnt = right + (lg.argmax(-1)[k] == t[k]).sum().item(), cnt + k.sum().item()
        print(
            f"{kind} {what}: {cnt} assistant tokens, loss {tot / cnt:.4f}, perplexity {np.exp(tot / cnt):.4f}, argmax right {right / cnt:.4f}",
            flush=True,
        )


class MTP(nn.Module):
    """The draft block of the Nemotron family over mlx-lm's own blocks."""

    def __init__(self, args):
        super().__init__()
        D, eps = args.hidden_size, args.layer_norm_epsilon
        self.layers = [nemotron_h.NemotronHBlock(args, "*"), nemotron_h.NemotronHBlock(args, "E")]
        a, b = self.layers
        a.enorm, a.hnorm, a.eh_proj = nn.RMSNorm(D, eps), nn.RMSNorm(D, eps), nn.Linear(2 * D, D, bias=False)
        b.final_layernorm = nn.RMSNorm(D, eps)

    def heads(self, emb, h):
        a = self.layers[0]
        x = a.eh_proj(mx.concatenate([a.enorm(emb), a.hnorm(h)], -1))
        y, m = a.norm(x), a.mixer
        L = x.shape[1]
        q, k, v = (
            p(y).reshape(1, L, n, -1).transpose(0, 2, 1, 3)
            for p, n in ((m.q_proj, m.num_heads), (m.k_proj, m.num_key_value_heads), (m.v_proj, m.num_key_value_heads))
        )
        return x, q, k, v

    def rest(self, x, q, k, v, mask):
        a, b = self.layers
        o = mx.fast.scaled_dot_product_attention(q, k, v, scale=a.mixer.scale, mask=mask)
        x = x + a.mixer.o_proj(o.transpose(0, 2, 1, 3).reshape(1, x.shape[1], -1))
        return b.final_layernorm(b(x))

    def drafts(self, model, ids, h):
        """Greedy first and second drafts after every position j (for tokens j+2 and j+3)."""
        T = ids.shape[1] - 1
        x, q, k, v = self.heads(model.backbone.embeddings(ids[:, 1:]), h[:, :-1])
        low = mx.tril(mx.ones((T, T), dtype=mx.bool_))
        m = self.rest(x, q, k, v, low)
        d1 = model.lm_head(m).argmax(-1)
        x, q, k2, v2 = self.heads(model.backbone.embeddings(d1), m)
        mask = mx.concatenate([low, mx.eye(T).astype(mx.bool_)], 1)
        m2 = self.rest(x, q, mx.concatenate([k, k2], 2), mx.concatenate([v, v2], 2), mask)
        return np.array(d1[0]), np.array(model.lm_head(m2).argmax(-1)[0])

    def first(self, model, ids, h):
        T = ids.shape[1] - 1
        x, q, k, v = self.heads(model.backbone.embeddings(ids[:, 1:]), h[:, :-1])
        return self.rest(x, q, k, v, mx.tril(mx.ones((T, T), dtype=mx.bool_)))


def load_mtp(folder, args):
    w = mx.load(os.path.join(folder, "mtp.safetensors"))
    w = {k[4:]: v for k, v in w.items()}
    mtp = MTP(args)
    nn.quantize(
        mtp, group_size=64, bits=4, class_predicate=lambda p, m: hasattr(m, "to_quantized") and p + ".scales" in w
    )
    mtp.load_weights(list(w.items()), strict=True)
    return mtp


def acceptance(folder, n):
    model, tok = load(folder)
    mtp = load_mtp(folder, model.args)
    steps = toks = a1 = a2 = 0
    for i in range(n):
        msgs = gen.chat(common.HELD_SEED + 600_000 + i)
        last = max(j for j, m in enumerate(msgs) if m[0] == "user")
        ids = tok.encode(gen.render(msgs[: last + 1], True), add_special_tokens=False)
        P = len(ids)
        for t, _ in generate_step(mx.array(ids), model, max_tokens=160):
            ids.append(int(t))
            if int(t) == IM_END:
                break
        x = mx.array(ids)[None]
        d1, d2 = mtp.drafts(model, x, model.backbone(x))
        c = P
        while c < len(ids) - 1:  # ids[c] is known; drafts come for c+1 and c+2
            ok1 = d1[c - 1] == ids[c + 1]
            ok2 = ok1 and c + 2 < len(ids) and d2[c - 1] == ids[c + 2]
            steps, a1, a2 = steps + 1, a1 + ok1, a2 + ok2
            k = 1 + int(ok1) + int(ok2)
            toks += k
            c += k
    print(
        f"MTP, k=2, greedy, {n} held-out chats: first draft accepted {a1 / steps:.4f}, second given first {a2 / max(1, a1):.4f}, tokens a verification step {toks / steps:.3f} of 3",
        flush=True,
    )


def live(folder, n):
    model, _ = load(folder)
    mtp = load_mtp(folder, model.args)
    rec, ever = {}, {}

    def note(name, r):
        r = r.astype(mx.float32)
        s = np.array((r > 0).astype(mx.float32).mean(-1)).reshape(MASK.shape[0], -1).mean(-1)
        a, b = rec.get(name, (0, 0))
        rec[name] = (a + s[MASK].sum(), b + MASK.sum())
        if "shared" in name:
            e = np.array(r > 0).reshape(MASK.shape[0], -1)[MASK].any(0)
            ever[name] = ever.get(name, False) | e

    def switch(self, x, indices):  # as in mlx-lm, without its sorting by expert
        u = self.fc1(mx.expand_dims(x, (-2, -3)), indices)
        note(self._n + " routed", u)
        return self.fc2(nn.relu2(u), indices).squeeze(-2)

    def shared(self, x):
        u = self.up_proj(x)
        note(self._n + " shared", u)
        return self.down_proj(nn.relu2(u))

    nemotron_h.NemotronHMLP.__call__ = shared
    nemotron_h.SwitchMLP.__call__ = switch
    for name, b in [(f"layer {i}", b) for i, b in enumerate(model.layers)] + [("mtp", mtp.layers[1])]:
        if b.block_type == "E":
            b.mixer.switch_mlp._n = name
            b.mixer.shared_experts._n = name
    global MASK
    for ids, w in held_out(folder, n)[1]:
        ids = ids[:-1]
        MASK = np.append(w[1:], 0)[: len(ids)] == 250
        x = mx.array(ids)[None]
        y = model.backbone(x)
        mx.eval(y)
        MASK = MASK[:-1]
        mx.eval(mtp.first(model, x, y))
    for k, (a, b) in rec.items():
        print(f"{k}: live {a / b:.4f}" + (f", ever live {ever[k].mean():.3f}" if k in ever else ""))
    return rec


def hf(out):
    import torch
    from safetensors.torch import load_file
    from transformers import AutoConfig, NemotronHForCausalLM, Qwen3_5MoeForCausalLM

    for kind in ("qwen", "nemotron"):
        d = os.path.join(out, f"{kind}-tiny-bf16")
        sd = load_file(os.path.join(d, "model.safetensors"))
        cfg = AutoConfig.from_pretrained(d)
        if kind == "qwen":
            m = Qwen3_5MoeForCausalLM(cfg.text_config).float().eval()
            sd = {k.replace("model.language_model.", "model."): v for k, v in sd.items()}
        else:
            cfg.time_step_min = 1e-9  # mlx-lm has no lower limit (time_step_limit)
            m = NemotronHForCausalLM(cfg).float().eval()
            E, s2 = cfg.n_routed_experts, {}
            for k, v in sd.items():
                if k.startswith("mtp."):
                    continue
                k = k.replace("backbone.", "model.", 1)
                if ".experts." in k:
                    if ".experts.0." in k:
                        leaf = k.split(".")[-2]
                        b = k.split(".experts.")[0]
                        s2[f"{b}.experts.{leaf}"] = torch.stack(
                            [sd[f"{b.replace('model.', 'backbone.', 1)}.experts.{e}.{leaf}.weight"] for e in range(E)]
                        )
                else:
                    s2[k] = v
            sd = s2
        print(kind, m.load_state_dict({k: v.float() for k, v in sd.items()}, strict=False))
        model, _ = load(d)
        model.set_dtype(mx.float32)
        errs, agree, cnt = [], 0, 0
        for ids, w in held_out(d, 12)[1]:
            with torch.no_grad():
                a = m(torch.tensor(ids)[None].long()).logits[0].numpy()
            b = np.array(model(mx.array(ids)[None])[0])
            errs += list(np.linalg.norm(a - b, axis=-1) / np.linalg.norm(a, axis=-1))
            agree, cnt = agree + (a.argmax(-1) == b.argmax(-1)).sum(), cnt + len(ids)
        print(
            f"{kind}: transformers against mlx-lm, fp32: relative error median {np.median(errs):.1e}, 99% {np.quantile(errs, 0.99):.1e}, max {max(errs):.1e}, argmax equal {agree}/{cnt}",
            flush=True,
        )


if __name__ == "__main__":
    out = sys.argv[1]
    if sys.argv[2:] == ["hf"]:
        hf(out)
        sys.exit()
    shards, n = sys.argv[2], int(sys.argv[3])
    for k in ("qwen", "nemotron"):
        perplexity(out, shards, k, 16)
    acceptance(os.path.join(out, "nemotron-tiny"), n)
    live(os.path.join(out, "nemotron-tiny"), n)
