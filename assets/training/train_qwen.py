#!/usr/bin/env python3
"""Train the tiny model of the Qwen3.5/3.6-MoE family from scratch.

Gated DeltaNet (3 of 4 layers), gated full attention (every 4th layer), MoE
with a softmax top-k router and a sigmoid-gated shared expert. Parameter names
are those of the Hugging Face checkpoints (text part).

    python3 train_qwen.py OUTDIR SECONDS
"""

import math
import os
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

from common import *

CFG = dict(
    vocab_size=4096,
    hidden_size=256,
    num_hidden_layers=8,
    full_attention_interval=4,
    rms_norm_eps=1e-6,
    num_attention_heads=16,
    num_key_value_heads=2,
    head_dim=64,
    linear_num_key_heads=2,
    linear_num_value_heads=4,
    linear_key_head_dim=128,
    linear_value_head_dim=128,
    linear_conv_kernel_dim=4,
    num_experts=8,
    num_experts_per_tok=4,
    moe_intermediate_size=128,
    shared_expert_intermediate_size=128,
    rope_theta=10000000,
    partial_rotary_factor=0.25,
)
C = type("C", (), CFG)


def l2(x):
    return x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6)


@Fast
def gd_prepare(q, k, v, g, beta, c):
    """Everything inside the chunks but the triangular solve."""
    B, T, Hv, dv = v.shape
    r = Hv // q.shape[2]
    q, k = l2(q.float()) * q.shape[-1] ** -0.5, l2(k.float())
    q, k = (x.repeat_interleave(r, 2).transpose(1, 2).reshape(B, Hv, T // c, c, -1) for x in (q, k))
    v = v.float().transpose(1, 2).reshape(B, Hv, T // c, c, dv)
    g, beta = (x.float().transpose(1, 2).reshape(B, Hv, T // c, c) for x in (g, beta))
    gc = g.cumsum(-1)
    up = torch.ones(c, c, dtype=torch.bool, device=q.device).triu(1)
    decay = (gc.unsqueeze(-1) - gc.unsqueeze(-2)).masked_fill(up, float("-inf")).exp()
    kb = k * beta.unsqueeze(-1)
    A = (kb @ k.transpose(-1, -2)) * decay
    rhs = torch.cat([v * beta.unsqueeze(-1), kb * gc.exp().unsqueeze(-1)], -1)
    att = (q @ k.transpose(-1, -2)) * decay
    q = q * gc.exp().unsqueeze(-1)
    kd = (k * (gc[..., -1:] - gc).exp().unsqueeze(-1)).transpose(-1, -2)
    return A, rhs, att, q, kd, gc[..., -1].exp()[..., None, None]


def gated_delta(q, k, v, g, beta, c=64):
    """Chunked gated delta rule. q, k: [B, T, Hk, dk]; v: [B, T, Hv, dv]; g, beta: [B, T, Hv] (g in log space)."""
    B, T, Hv, dv = v.shape
    A, rhs, att, q, kd, last = gd_prepare(q, k, v, g, beta, c)
    sol = torch.linalg.solve_triangular(A, rhs, upper=False, unitriangular=True)
    u, w = sol.split([dv, q.shape[-1]], -1)
    S = torch.zeros(B, Hv, q.shape[-1], dv, device=q.device)
    out = []
    for u, w, att, q, kd, last in zip(*(x.unbind(2) for x in (u, w, att, q, kd, last))):
        vn = u - w @ S
        out.append(q @ S + att @ vn)
        S = S * last + kd @ vn
    return torch.stack(out, 2).reshape(B, Hv, T, dv).transpose(1, 2)


@Fast
def gated_norm(o, weight, z, eps):
    o = o.float()
    o = o * torch.rsqrt(o.pow(2).mean(-1, keepdim=True) + eps) * weight.float()
    return (o * F.silu(z.float())).to(z.dtype)


@Fast
def glu_experts(h, w):
    return (F.silu(h[..., 0, :]) * h[..., 1, :] * w.unsqueeze(-1).to(h.dtype)).flatten(-2)


@Fast
def glu(a, b):
    return F.silu(a) * b


class GatedDeltaNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.kd, self.vd = (
            C.linear_num_key_heads * C.linear_key_head_dim,
            C.linear_num_value_heads * C.linear_value_head_dim,
        )
        H = C.linear_num_value_heads
        self.in_proj_qkv, self.in_proj_z = lin(C.hidden_size, 2 * self.kd + self.vd), lin(C.hidden_size, self.vd)
        self.in_proj_b, self.in_proj_a = lin(C.hidden_size, H), lin(C.hidden_size, H)
        self.conv1d = nn.Conv1d(
            2 * self.kd + self.vd,
            2 * self.kd + self.vd,
            C.linear_conv_kernel_dim,
            groups=2 * self.kd + self.vd,
            bias=False,
        )
        dt = torch.exp(torch.linspace(math.log(0.002), math.log(0.1), H))
        self.dt_bias = nn.Parameter(dt + torch.log(-torch.expm1(-dt)))
        self.A_log = nn.Parameter(torch.log(torch.linspace(1, 8, H)))
        self.norm = RMSNorm(C.linear_value_head_dim, C.rms_norm_eps)
        self.out_proj = lin(self.vd, C.hidden_size)

    def forward(self, x):
        B, T, _ = x.shape
        H = C.linear_num_value_heads
        qkv = causal_conv(self.in_proj_qkv(x), self.conv1d.weight, None)
        q, k, v = qkv.split([self.kd, self.kd, self.vd], -1)
        z, b, a = self.in_proj_z(x), self.in_proj_b(x), self.in_proj_a(x)
        g = -self.A_log.float().exp() * F.softplus(a.float() + self.dt_bias.float())
        with torch.autocast("cuda", enabled=False):
            o = gated_delta(
                q.reshape(B, T, -1, C.linear_key_head_dim),
                k.reshape(B, T, -1, C.linear_key_head_dim),
                v.reshape(B, T, H, -1),
                g,
                b.float().sigmoid(),
            )
        o = gated_norm(o, self.norm.weight, z.reshape(B, T, H, -1), C.rms_norm_eps)
        return self.out_proj(o.reshape(B, T, -1))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        H, K, d = C.num_attention_heads, C.num_key_value_heads, C.head_dim
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            lin(C.hidden_size, 2 * H * d),
            lin(C.hidden_size, K * d),
            lin(C.hidden_size, K * d),
            lin(H * d, C.hidden_size),
        )
        self.q_norm, self.k_norm = RMSNorm(d, C.rms_norm_eps, 1), RMSNorm(d, C.rms_norm_eps, 1)

    def rope(self, x):
        n = int(C.head_dim * C.partial_rotary_factor)
        f = C.rope_theta ** (-torch.arange(0, n, 2, device=x.device).float() / n)
        t = torch.arange(x.shape[-2], device=x.device).float()[:, None] * f
        cos, sin = t.cos(), t.sin()
        a, b, rest = x.float().split([n // 2, n // 2, C.head_dim - n], -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin, rest], -1).to(x.dtype)

    def forward(self, x):
        B, T, _ = x.shape
        H, K, d = C.num_attention_heads, C.num_key_value_heads, C.head_dim
        q, gate = self.q_proj(x).view(B, T, H, 2 * d).chunk(2, -1)
        q = self.rope(self.q_norm(q).transpose(1, 2))
        k = self.rope(self.k_norm(self.k_proj(x).view(B, T, K, d)).transpose(1, 2))
        v = self.v_proj(x).view(B, T, K, d).transpose(1, 2)
        o = (
            F.scaled_dot_product_attention(q.to(v.dtype), k.to(v.dtype), v, is_causal=True, enable_gqa=True)
            .transpose(1, 2)
            .reshape(B, T, -1)
        )
        return self.o_proj(o * torch.sigmoid(gate.reshape(B, T, -1)))


class MLP(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.gate_proj, self.up_proj, self.down_proj = (
            lin(C.hidden_size, n),
            lin(C.hidden_size, n),
            lin(n, C.hidden_size),
        )

    def forward(self, x):
        return self.down_proj(glu(self.gate_proj(x), self.up_proj(x)))


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_up_proj = nn.Parameter(torch.empty(C.num_experts, 2 * C.moe_intermediate_size, C.hidden_size))
        self.down_proj = nn.Parameter(torch.empty(C.num_experts, C.hidden_size, C.moe_intermediate_size))


class MoE(nn.Module):
    """All experts are computed and weighted (zero for those not chosen): fast and exact at this size."""

    def __init__(self):
        super().__init__()
        self.gate = lin(C.hidden_size, C.num_experts)
        self.experts = Experts()
        self.shared_expert, self.shared_expert_gate = MLP(C.shared_expert_intermediate_size), lin(C.hidden_size, 1)

    def forward(self, x):
        E, Fm, D = C.num_experts, C.moe_intermediate_size, C.hidden_size
        p = self.gate(x).float().softmax(-1)
        top, idx = p.topk(C.num_experts_per_tok, -1)
        w = torch.zeros_like(p).scatter(-1, idx, top / top.sum(-1, keepdim=True))
        load = (w > 0).float().mean((0, 1)) / C.num_experts_per_tok
        aux = E * (load * p.mean((0, 1))).sum()
        h = F.linear(x, self.experts.gate_up_proj.reshape(E * 2 * Fm, D)).view(*x.shape[:-1], E, 2, Fm)
        y = F.linear(glu_experts(h, w), self.experts.down_proj.permute(1, 0, 2).reshape(D, E * Fm))
        return y + torch.sigmoid(self.shared_expert_gate(x)) * self.shared_expert(x), aux


class Layer(nn.Module):
    def __init__(self, i):
        super().__init__()
        if (i + 1) % C.full_attention_interval:
            self.linear_attn = GatedDeltaNet()
        else:
            self.self_attn = Attention()
        self.mlp = MoE()
        self.input_layernorm, self.post_attention_layernorm = (
            RMSNorm(C.hidden_size, C.rms_norm_eps, 1),
            RMSNorm(C.hidden_size, C.rms_norm_eps, 1),
        )

    def forward(self, x):
        h = self.input_layernorm(x)
        x = x + (self.linear_attn(h) if hasattr(self, "linear_attn") else self.self_attn(h))
        y, aux = self.mlp(self.post_attention_layernorm(x))
        return x + y, aux


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(C.vocab_size, C.hidden_size)
        self.layers = nn.ModuleList(Layer(i) for i in range(C.num_hidden_layers))
        self.norm = RMSNorm(C.hidden_size, C.rms_norm_eps, 1)

    def forward(self, ids):
        x, aux = self.embed_tokens(ids), 0
        if torch.is_autocast_enabled():
            x = x.bfloat16()
        for l in self.layers:
            x, a = l(x)
            aux = aux + a
        return self.norm(x), aux / len(self.layers)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.model, self.lm_head = Body(), lin(C.hidden_size, C.vocab_size)

    def logits(self, ids):
        return self.lm_head(self.model(ids)[0])

    def forward(self, ids, w):
        h, aux = self.model(ids)
        loss = ce(self.lm_head(h[:, :-1]), ids[:, 1:], w[:, 1:])
        return loss + 0.01 * aux, loss, aux


def bits_of(name, p):
    """4: quantised to 4 bits; 8: to 8 bits (routers); 0: plain with decay; -1: plain, no decay."""
    if p.ndim < 2:
        return -1
    if "conv1d" in name:
        return 0
    return 8 if name.endswith(("mlp.gate.weight", "shared_expert_gate.weight")) else 4


def main(out, deadline, B=32, T=1024, peak=2.5e-3, dev="cuda", workers=12, init=None):
    born = time.time()
    os.makedirs(out, exist_ok=True)
    log = Log(os.path.join(out, "qwen.log"))
    loader = Loader(B, T, workers)
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = True
    model = Model().to(dev)
    init_weights(model, 2 * C.num_hidden_layers)
    if init:
        load_shards(model, init, "qwen")
    opt = FlatAdamW(model, bits_of, dev)
    log("parameters", opt.P.numel(), "of which 4-bit", opt.n4, "8-bit", opt.n8 - opt.n4)
    ids_h, w_h = (torch.from_numpy(a).to(dev) for a in Packer(T, HELD_SEED).batch(32))
    ids_h, w_h = ids_h.long(), (w_h == 250).float()
    clock = Clock(deadline, born)

    def evaluate(qat):
        Fast.on = False
        opt.load(qat)
        with torch.no_grad(), torch.autocast(dev, torch.bfloat16):
            h, _ = model.model(ids_h)
            return ce(model.lm_head(h[:, :-1]), ids_h[:, 1:], w_h[:, 1:]).item()

    n = 0
    while clock.share() < 1:
        f = clock.share()
        qat = f > (0.2 if init else 0.5)
        Fast.on = dev == "cuda" and not os.environ.get("EAGER")
        ids, w = loader.next(dev)
        opt.load(qat)
        with torch.autocast(dev, torch.bfloat16):
            tot, loss, aux = model(ids, w)
        tot.backward()
        norm = opt.step(lr_at(f, n, peak))
        n += 1
        if n == 3:
            loss.item()
            log("compiled")
            clock.start()
        if n <= 3 or n % 200 == 0:
            log(
                f"step {n} loss {loss.item():.4f} aux {aux.item():.3f} norm {norm.item():.2f} qat {int(qat)} lr {lr_at(f, n, peak):.2e} tok/s {(n - 3) * B * T / (time.time() - (clock.t or 0)) / 1e3:.0f}k"
            )
        if n % 2000 == 0:
            log(f"   held-out assistant loss: full {evaluate(False):.4f}, 4-bit {evaluate(True):.4f}")
    log(
        f"done: {n} steps, {n * B * T / 1e6:.0f}M tokens; held-out assistant loss full {evaluate(False):.4f}, 4-bit {evaluate(True):.4f}"
    )
    opt.restore()
    save_shards(bf16_state(model, ("A_log", "dt_bias")), out, "qwen")
    log("saved; peak GPU memory", torch.cuda.max_memory_allocated() >> 20 if dev == "cuda" else 0, "MiB")
    with torch.autocast(dev, torch.bfloat16):
        for p in ("Hello!", "Tell me a short story about a fox.", "What is the capital of Italy?", "What is 27 + 15?"):
            log(repr(p), "->", repr(greedy(model, Packer(T, 0).tok, p, 60, dev)))
    loader.stop()


if __name__ == "__main__":
    kw = dict(a.split("=") for a in sys.argv[3:])
    main(
        sys.argv[1],
        float(sys.argv[2]),
        **{k: (v if k in ("dev", "init") else float(v) if "." in v or "e" in v else int(v)) for k, v in kw.items()},
    )
