#!/usr/bin/env python3
"""Train the tiny model of the Nemotron-3 family (nemotron_h with MoE) from scratch.

Mamba-2 ('M'), attention without positions ('*') and MoE ('E') blocks with
squared-ReLU experts, a sigmoid router with a correction bias and a shared
expert twice as wide; with a multi-token-prediction (MTP) head trained
alongside: one attention and one MoE block over [embedding of the next token,
final hidden state], applied twice (the second time to its own output, as a
draft of two tokens does). Parameter names are those of the Hugging Face
checkpoints; the experts are stacked here and split on export.

    python3 train_nemotron.py OUTDIR SECONDS
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
    hybrid_override_pattern="MEMEM*EMEMEM*E",
    mtp_hybrid_override_pattern="*E",
    layer_norm_epsilon=1e-5,
    num_attention_heads=16,
    num_key_value_heads=2,
    head_dim=64,
    mamba_num_heads=8,
    mamba_head_dim=64,
    ssm_state_size=128,
    n_groups=2,
    conv_kernel=4,
    n_routed_experts=8,
    num_experts_per_tok=2,
    moe_intermediate_size=256,
    moe_shared_expert_intermediate_size=512,
    routed_scaling_factor=2.5,
)
C = type("C", (), CFG)
EPS = C.layer_norm_epsilon


@Fast
def ssd_chunks(x, dt, A, Bm, Cm, c):
    """Everything inside the chunks: their own outputs, what they add to the state, and how they read it."""
    B, T, H, P = x.shape
    r = H // Bm.shape[2]
    x = (x * dt.unsqueeze(-1)).transpose(1, 2).reshape(B, H, T // c, c, P)
    a = (A * dt).transpose(1, 2).reshape(B, H, T // c, c).cumsum(-1)
    Bm, Cm = (m.transpose(1, 2).reshape(B, -1, 1, T // c, c, m.shape[-1]) for m in (Bm, Cm))
    up = torch.ones(c, c, dtype=torch.bool, device=x.device).triu(1)
    L = (a.unsqueeze(-1) - a.unsqueeze(-2)).masked_fill(up, float("-inf")).exp()
    G = Cm @ Bm.transpose(-1, -2)  # [B, G, 1, nc, c, c]
    M = (G * L.reshape(B, -1, r, T // c, c, c)).reshape(B, H, T // c, c, c)
    to_end = (a[..., -1:] - a).exp()
    Bh = Bm.expand(-1, -1, r, -1, -1, -1).reshape(B, H, T // c, c, -1)
    Ch = Cm.expand(-1, -1, r, -1, -1, -1).reshape(B, H, T // c, c, -1)
    S_in = (Bh * to_end.unsqueeze(-1)).transpose(-1, -2) @ x  # [B, H, nc, N, P]
    return M @ x, S_in, Ch * a.exp().unsqueeze(-1), a[..., -1].exp()[..., None, None]


def ssd(x, dt, A, Bm, Cm, c=64):
    """Chunked Mamba-2 scan. x: [B, T, H, P]; dt: [B, T, H]; A: [H]; Bm, Cm: [B, T, G, N]."""
    B, T, H, P = x.shape
    y, S_in, Cd, last = ssd_chunks(x, dt, A, Bm, Cm, c)
    S, prev = torch.zeros_like(S_in[:, :, 0]), []
    for s, l in zip(S_in.unbind(2), last.unbind(2)):
        prev.append(S)
        S = S * l + s
    y = y + Cd @ torch.stack(prev, 2)
    return y.reshape(B, H, T, P).transpose(1, 2)


@Fast
def mamba_out(y, x, D, gate, weight, groups):
    """Skip connection, gate, grouped RMS norm."""
    B, T = gate.shape[:2]
    y = (y + x * D.float()[:, None]).reshape(B, T, -1) * F.silu(gate.float())
    y = y.view(B, T, groups, -1)
    return ((y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + EPS)).view(B, T, -1) * weight.float()).to(gate.dtype)


class Mamba2(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = C.mamba_num_heads * C.mamba_head_dim
        self.gn = C.n_groups * C.ssm_state_size
        H = C.mamba_num_heads
        self.in_proj = lin(C.hidden_size, 2 * self.d + 2 * self.gn + H)
        self.conv1d = nn.Conv1d(
            self.d + 2 * self.gn, self.d + 2 * self.gn, C.conv_kernel, groups=self.d + 2 * self.gn, bias=True
        )
        dt = torch.exp(torch.linspace(math.log(0.002), math.log(0.1), H))
        self.dt_bias = nn.Parameter(dt + torch.log(-torch.expm1(-dt)))
        self.A_log = nn.Parameter(torch.log(torch.linspace(1, 16, H)))
        self.D = nn.Parameter(torch.ones(H))
        self.norm = RMSNorm(self.d, EPS)
        self.out_proj = lin(self.d, C.hidden_size)

    def forward(self, u):
        B, T, _ = u.shape
        H = C.mamba_num_heads
        gate, xbc, dt = self.in_proj(u).split([self.d, self.d + 2 * self.gn, H], -1)
        xbc = causal_conv(xbc, self.conv1d.weight, self.conv1d.bias)
        x, Bm, Cm = xbc.split([self.d, self.gn, self.gn], -1)
        dt = F.softplus(dt.float() + self.dt_bias.float())
        with torch.autocast("cuda", enabled=False):
            x = x.float().reshape(B, T, H, -1)
            y = ssd(
                x,
                dt,
                -self.A_log.float().exp(),
                Bm.float().reshape(B, T, C.n_groups, -1),
                Cm.float().reshape(B, T, C.n_groups, -1),
            )
            y = mamba_out(y, x, self.D, gate, self.norm.weight, C.n_groups)
        return self.out_proj(y)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        H, K, d = C.num_attention_heads, C.num_key_value_heads, C.head_dim
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            lin(C.hidden_size, H * d),
            lin(C.hidden_size, K * d),
            lin(C.hidden_size, K * d),
            lin(H * d, C.hidden_size),
        )

    def qkv(self, x):
        B, T, _ = x.shape
        H, K, d = C.num_attention_heads, C.num_key_value_heads, C.head_dim
        q = self.q_proj(x).view(B, T, H, d).transpose(1, 2)
        k, v = (p(x).view(B, T, K, d).transpose(1, 2) for p in (self.k_proj, self.v_proj))
        return q, k, v

    def out(self, o):
        return self.o_proj(o.transpose(1, 2).reshape(o.shape[0], o.shape[2], -1))

    def forward(self, x):
        q, k, v = self.qkv(x)
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True))


class MLP(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.up_proj, self.down_proj = lin(C.hidden_size, n), lin(n, C.hidden_size)


class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(C.n_routed_experts, C.hidden_size))
        self.register_buffer("e_score_correction_bias", torch.zeros(C.n_routed_experts))


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.up_proj = nn.Parameter(torch.empty(C.n_routed_experts, C.moe_intermediate_size, C.hidden_size))
        self.down_proj = nn.Parameter(torch.empty(C.n_routed_experts, C.hidden_size, C.moe_intermediate_size))


@Fast
def relu2(u, w, chosen):
    """Squared ReLU of [..., experts, neurons], weighted by the router; with a scale-free
    measure of density, (sum r)^2 / (n sum r^2), and the share of live neurons."""
    r = F.relu(u)
    f = r.float()
    dense = f.sum(-1).pow(2) / (f.shape[-1] * f.pow(2).sum(-1) + 1e-6)
    live = (f > 0).float().mean(-1)
    h = r * r
    if w is None:
        return h.flatten(-2), dense.mean(), live.detach().mean()
    h = h * w.unsqueeze(-1).to(h.dtype)
    n = chosen.sum()
    return h.flatten(-2), (dense * chosen).sum() / n, (live.detach() * chosen).sum() / n


class MoE(nn.Module):
    """All experts are computed and weighted (zero for those not chosen)."""

    def __init__(self):
        super().__init__()
        self.gate, self.experts, self.shared_experts = Router(), Experts(), MLP(C.moe_shared_expert_intermediate_size)

    def forward(self, x):
        E, n, D = C.n_routed_experts, C.moe_intermediate_size, C.hidden_size
        s = torch.sigmoid(F.linear(x.float(), self.gate.weight.float()))
        idx = (s.detach() + self.gate.e_score_correction_bias).topk(C.num_experts_per_tok, -1)[1]
        chosen = torch.zeros_like(s).scatter(-1, idx, 1.0)
        w = s * chosen
        w = w / (w.sum(-1, keepdim=True) + 1e-20) * C.routed_scaling_factor
        load = chosen.mean((0, 1)) * E / C.num_experts_per_tok
        u = F.linear(x, self.experts.up_proj.reshape(E * n, D)).view(*x.shape[:-1], E, n)
        h, sp1, live1 = relu2(u, w, chosen)
        hs, sp2, live2 = relu2(self.shared_experts.up_proj(x).unsqueeze(-2), None, None)
        y = F.linear(h, self.experts.down_proj.permute(1, 0, 2).reshape(D, E * n))
        return y + self.shared_experts.down_proj(hs), (sp1 + sp2, load.detach(), torch.stack([live1, live2]))


class Block(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.norm = RMSNorm(C.hidden_size, EPS)
        self.mixer = {"M": Mamba2, "*": Attention, "E": MoE}[kind]()

    def forward(self, x):
        y = self.mixer(self.norm(x))
        if self.kind == "E":
            return x + y[0], y[1]
        return x + y, None


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = nn.Embedding(C.vocab_size, C.hidden_size)
        self.layers = nn.ModuleList(Block(k) for k in C.hybrid_override_pattern)
        self.norm_f = RMSNorm(C.hidden_size, EPS)

    def embed(self, ids):
        x = self.embeddings(ids)
        return x.bfloat16() if torch.is_autocast_enabled() else x

    def forward(self, ids):
        x, stats = self.embed(ids), []
        for l in self.layers:
            x, s = l(x)
            if s is not None:
                stats.append(s)
        return self.norm_f(x), stats


class MTP(nn.Module):
    """layers.0: enorm, hnorm, eh_proj, norm, attention; layers.1: norm, MoE, final_layernorm."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Block("*"), Block("E")])
        a, b = self.layers
        a.enorm, a.hnorm, a.eh_proj = (
            RMSNorm(C.hidden_size, EPS),
            RMSNorm(C.hidden_size, EPS),
            lin(2 * C.hidden_size, C.hidden_size),
        )
        b.final_layernorm = RMSNorm(C.hidden_size, EPS)

    def fuse(self, emb, h):
        a = self.layers[0]
        return a.eh_proj(torch.cat([a.enorm(emb), a.hnorm(h)], -1))

    def tail(self, x):
        b = self.layers[1]
        x, s = b(x)
        return b.final_layernorm(x), s

    def forward(self, emb_next, h):
        """First draft at every position j: h_j and the embedding of token j+1 give token j+2.
        Second draft: the own output at j-1 and token j+1 give token j+2; its attention sees the
        first-pass keys of the positions before j and its own key, as in decoding."""
        att = self.layers[0]
        T = h.shape[1]
        x = self.fuse(emb_next, h)
        q, k, v = att.mixer.qkv(att.norm(x))
        m, s1 = self.tail(x + att.mixer.out(F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)))
        half = (h.shape[0] + 1) // 2  # the second draft is trained on half of the rows
        m1, emb_next, k, v = m[:half], emb_next[:half], k[:half], v[:half]
        x = self.fuse(emb_next, torch.cat([m1[:, :1], m1[:, :-1]], 1))
        q, k2, v2 = att.mixer.qkv(att.norm(x))
        one = torch.ones(T, T, dtype=torch.bool, device=h.device)
        mask = torch.cat([one.tril(-1), torch.eye(T, dtype=torch.bool, device=h.device)], 1)
        rep = C.num_attention_heads // C.num_key_value_heads
        kk, vv = (torch.cat(t, 2).repeat_interleave(rep, 1) for t in ((k, k2), (v, v2)))
        o = F.scaled_dot_product_attention(q, kk, vv, attn_mask=mask)
        m2, s2 = self.tail(x + att.mixer.out(o))
        return m, m2, s1


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone, self.lm_head, self.mtp = Backbone(), lin(C.hidden_size, C.vocab_size), MTP()

    def logits(self, ids):
        return self.lm_head(self.backbone(ids)[0])

    def forward(self, ids, w, l1):
        h, stats = self.backbone(ids)
        loss = ce(self.lm_head(h[:, :-1]), ids[:, 1:], w[:, 1:])
        m, m2, s = self.mtp(self.backbone.embed(ids.roll(-1, 1)), h)
        wa = (w > 0.9).float()
        d1 = ce(self.lm_head(m[:, :-2]), ids[:, 2:], wa[:, 2:])
        n2 = m2.shape[0]
        d2 = ce(self.lm_head(m2[:, 1:-2]), ids[:n2, 3:], wa[:n2, 3:])
        stats = stats + [s]
        sparse = sum(x[0] for x in stats) / len(stats)
        return (
            loss + 0.1 * d1 + 0.05 * d2 + l1 * sparse,
            loss,
            d1,
            d2,
            torch.stack([x[1] for x in stats]),
            torch.stack([x[2] for x in stats]),
        )


def bits_of(name, p):
    if p.ndim < 2:
        return -1
    return 0 if "conv1d" in name or name.endswith("gate.weight") else 4


def main(out, deadline, B=32, T=1024, peak=2.5e-3, l1=0.02, dev="cuda", workers=12, init=None):
    born = time.time()
    os.makedirs(out, exist_ok=True)
    log = Log(os.path.join(out, "nemotron.log"))
    loader = Loader(B, T, workers)
    torch.manual_seed(2)
    torch.backends.cuda.matmul.allow_tf32 = True
    model = Model().to(dev)
    init_weights(model, len(C.hybrid_override_pattern))
    if init:
        load_shards(model, init, "nemotron")
    opt = FlatAdamW(model, bits_of, dev)
    log("parameters", opt.P.numel(), "of which 4-bit", opt.n4, "MTP", sum(p.numel() for p in model.mtp.parameters()))
    ids_h, w_h = (torch.from_numpy(a).to(dev) for a in Packer(T, HELD_SEED).batch(32))
    ids_h, w_h = ids_h.long(), (w_h == 250).float()
    routers = [b.mixer.gate for b in model.backbone.layers if b.kind == "E"] + [model.mtp.layers[1].mixer.gate]
    names = [str(i) for i, b in enumerate(model.backbone.layers) if b.kind == "E"] + ["mtp"]
    clock = Clock(deadline, born)

    def evaluate(qat):
        Fast.on = False
        opt.load(qat)
        with torch.no_grad(), torch.autocast(dev, torch.bfloat16):
            _, loss, d1, d2, _, live = model(ids_h, w_h, 0.0)
        return f"loss {loss.item():.4f} draft1 {d1.item():.4f} draft2 {d2.item():.4f}", live

    n = 0
    while clock.share() < 1:
        f = clock.share()
        qat = f > (0.2 if init else 0.5)
        Fast.on = dev == "cuda" and not os.environ.get("EAGER")
        ids, w = loader.next(dev)
        opt.load(qat)
        lam = l1 if init else l1 * min(1.0, max(0.0, (f - 0.05) / 0.25))
        with torch.autocast(dev, torch.bfloat16):
            tot, loss, d1, d2, load, live = model(ids, w, lam)
        tot.backward()
        norm = opt.step(lr_at(f, n, peak))
        with torch.no_grad():  # keep the experts evenly loaded, without an auxiliary loss
            rate = 0.001 if f < 0.9 else 0.0
            for r, l in zip(routers, load):
                r.e_score_correction_bias.add_(torch.sign(1 - l), alpha=rate)
        n += 1
        if n == 3:
            loss.item()
            log("compiled")
            clock.start()
        if n <= 3 or n % 200 == 0:
            lv = live.mean(0).tolist()
            log(
                f"step {n} loss {loss.item():.4f} draft {d1.item():.3f} {d2.item():.3f} live routed {lv[0]:.3f} shared {lv[1]:.3f} load max {load.max().item():.2f} min {load.min().item():.2f} norm {norm.item():.2f} qat {int(qat)} tok/s {(n - 3) * B * T / (time.time() - (clock.t or 0)) / 1e3:.0f}k"
            )
        if n % 2000 == 0:
            log("   held-out assistant: full", evaluate(False)[0], "| 4-bit", evaluate(True)[0])
    log(
        f"done: {n} steps, {n * B * T / 1e6:.0f}M tokens; held-out assistant: full {evaluate(False)[0]} | 4-bit {evaluate(True)[0]}"
    )
    live = evaluate(True)[1]
    log(
        "live neurons (routed, shared) by layer, all positions:",
        {k: [round(x, 4) for x in v.tolist()] for k, v in zip(names, live)},
    )
    opt.restore()
    save_shards(bf16_state(model, ("A_log", "dt_bias", "e_score_correction_bias", ".D")), out, "nemotron")
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
