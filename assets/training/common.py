"""What the two trainers share: data, flat AdamW with quantisation-aware
training, export of shards, RMS norm and attention helpers."""

import math
import multiprocessing as mp
import os
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
TOKDIR = os.environ.get("TOKDIR", os.path.join(HERE, "..", "tokenizer"))
EOT, IM_START, IM_END = 4093, 4094, 4095
TRAIN_SEED, HELD_SEED = 1_000_000_000, 900_000_000


class Fast:
    """A function compiled on the GPU while Fast.on is set, plain otherwise.
    Only small fusible pieces are compiled: a whole model takes minutes."""

    on = False

    def __init__(self, f):
        self.f, self.c = f, None

    def __call__(self, *a):
        if not Fast.on:
            return self.f(*a)
        if self.c is None:
            self.c = torch.compile(self.f, dynamic=False)
        return self.c(*a)


# ---------------------------------------------------------------- data
def encode_chats(tok, seeds, asst_id):
    """Token ids and loss weights of whole chats (1 on assistant text, 0.1 elsewhere)."""
    import gen

    encs = tok.encode_batch([gen.render(gen.chat(s)) for s in seeds])
    out = []
    for e in encs:
        ids = np.array(e.ids + [EOT], dtype=np.int32)
        w = np.full(len(ids), 25, dtype=np.uint8)  # in 1/250
        starts = np.nonzero(ids == IM_START)[0]
        ends = np.nonzero(ids == IM_END)[0]
        for s, t in zip(starts, ends):
            w[s : s + 3] = 5  # the header is fixed
            if ids[s + 1] == asst_id:
                w[s + 3 : t + 1] = 250
        out.append((ids, w))
    return out


class Packer:
    """Packs whole chats into rows of T tokens; every row starts with a chat."""

    def __init__(self, T, first_seed, stride=1):
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        from tokenizers import Tokenizer

        self.tok = Tokenizer.from_file(os.path.join(TOKDIR, "tokenizer.json"))
        self.asst = self.tok.token_to_id("assistant")
        self.T, self.seed, self.stride, self.pool = T, first_seed, stride, []

    def fill(self):
        seeds = [self.seed + i * self.stride for i in range(256)]
        self.seed += 256 * self.stride
        self.pool += encode_chats(self.tok, seeds, self.asst)

    def row(self):
        T = self.T
        ids, w, n = np.full(T, EOT, np.int32), np.zeros(T, np.uint8), 0
        if len(self.pool) < 64:
            self.fill()
        i = 0
        while n < T - 16 and i < min(64, len(self.pool)):
            a, b = self.pool[i]
            if len(a) <= T - n or n == 0:
                a, b = a[: T - n], b[: T - n]
                ids[n : n + len(a)], w[n : n + len(a)] = a, b
                n += len(a)
                self.pool.pop(i)
            else:
                i += 1
        return ids, w

    def batch(self, B):
        rows = [self.row() for _ in range(B)]
        return np.stack([r[0] for r in rows]).astype(np.int16), np.stack([r[1] for r in rows])


def _worker(q, B, T, k, n):
    p = Packer(T, TRAIN_SEED + k, n)
    while True:
        q.put(p.batch(B))


class Loader:
    def __init__(self, B, T, workers):
        ctx = mp.get_context("fork")
        self.qs = [ctx.Queue(4) for _ in range(workers)]
        self.ps = [ctx.Process(target=_worker, args=(q, B, T, k, workers), daemon=True) for k, q in enumerate(self.qs)]
        for p in self.ps:
            p.start()
        self.i = 0

    def next(self, dev):
        ids, w = self.qs[self.i % len(self.qs)].get()
        self.i += 1
        ids = torch.from_numpy(ids).pin_memory() if dev == "cuda" else torch.from_numpy(ids)
        w = torch.from_numpy(w).pin_memory() if dev == "cuda" else torch.from_numpy(w)
        return ids.to(dev, non_blocking=True).long(), w.to(dev, non_blocking=True).float() / 250

    def stop(self):
        for p in self.ps:
            p.terminate()


# ---------------------------------------------------------------- quantisation, as mx.quantize (affine, group 64)
def fake_quant(x, bits, group=64):
    n = float(2**bits - 1)
    w = x.view(-1, group).bfloat16().float()
    hi, lo = w.amax(1, keepdim=True), w.amin(1, keepdim=True)
    neg = lo.abs() > hi.abs()
    s = ((hi - lo) / n).clamp(min=1e-7)
    s = torch.where(neg, s, -s)
    edge = torch.where(neg, lo, hi)
    q0 = torch.round(edge / s)
    zero = q0 == 0
    s = torch.where(zero, s, edge / torch.where(zero, torch.ones_like(q0), q0))
    b = torch.where(zero, torch.zeros_like(edge), edge)
    q = torch.round((w - b) / s).clamp(0, n)
    return (q * s.bfloat16().float() + b.bfloat16().float()).view(x.shape)


class FlatAdamW:
    """AdamW over one flat fp32 buffer. The model's parameters are views of
    another buffer, into which the (fake-quantised) weights are written before
    each step: a straight-through estimator with no change to the graph."""

    def __init__(self, model, bits_of, dev):
        ps = list(model.named_parameters())
        order = sorted(ps, key=lambda kv: {4: 0, 8: 1, 0: 2, -1: 3}[bits_of(kv[0], kv[1])])
        n = sum(p.numel() for _, p in ps)
        self.P, self.G, self.M = (torch.zeros(n, device=dev) for _ in range(3))
        self.m, self.v = torch.zeros(n, device=dev), torch.zeros(n, device=dev)
        off, self.end = 0, {4: 0, 8: 0, 0: 0, -1: 0}
        for name, p in order:
            k = p.numel()
            self.P[off : off + k] = p.data.reshape(-1)
            p.data = self.P[off : off + k].view(p.shape)
            p.grad = self.G[off : off + k].view(p.shape)
            off += k
            self.end[bits_of(name, p)] = off
        self.n4 = self.end[4]
        self.n8 = max(self.n4, self.end[8])
        self.nd = max(self.n8, self.end[0])  # weight decay up to here
        self.M.copy_(self.P)
        self.t = 0
        self.fq = fake_quant

    @torch.no_grad()
    def load(self, qat):
        if qat:
            self.P[: self.n4] = self.fq(self.M[: self.n4], 4)
            if self.n8 > self.n4:
                self.P[self.n4 : self.n8] = self.fq(self.M[self.n4 : self.n8], 8)
            self.P[self.n8 :] = self.M[self.n8 :]
        else:
            self.P.copy_(self.M)

    @torch.no_grad()
    def step(self, lr, wd=0.1, b1=0.9, b2=0.95, clip=1.0):
        g = self.G
        norm = g.norm()
        g.mul_((clip / (norm + 1e-6)).clamp(max=1.0))
        self.t += 1
        self.m.lerp_(g, 1 - b1)
        self.v.mul_(b2).addcmul_(g, g, value=1 - b2)
        u = self.m / (1 - b1**self.t)
        u.div_((self.v / (1 - b2**self.t)).sqrt_().add_(1e-8))
        self.M[: self.nd].mul_(1 - lr * wd)
        self.M.add_(u, alpha=-lr)
        self.G.zero_()
        return norm

    @torch.no_grad()
    def restore(self):
        self.P.copy_(self.M)


def lr_at(f, n, peak, warm=150, decay=0.5):
    """Warm-up over steps, constant, then linear decay; f is the share of the time budget."""
    up = min(1.0, (n + 1) / warm)
    return peak * up * min(1.0, max(0.0, (1 - f) / decay)) + 1e-6


class Clock:
    """The share of the time budget that is spent; starts when compiling is done."""

    def __init__(self, deadline, born):
        self.end, self.t = born + deadline, None

    def start(self):
        self.t = time.time()

    def share(self):
        return 0.0 if self.t is None else (time.time() - self.t) / max(5.0, self.end - self.t)


# ---------------------------------------------------------------- export
def save_shards(tensors, path, prefix, limit=15 * 2**20):
    from safetensors.torch import save_file

    os.makedirs(path, exist_ok=True)
    shards, cur, size = [], {}, 0
    for k, v in tensors.items():
        nb = v.numel() * v.element_size()
        if size + nb > limit and cur:
            shards.append(cur)
            cur, size = {}, 0
        cur[k] = v.contiguous()
        size += nb
    shards.append(cur)
    for i, s in enumerate(shards):
        save_file(s, os.path.join(path, f"{prefix}-{i}.safetensors"))


def pack_q4(sd, bits_of):
    """4-bit values of a state dict as a small dict of tensors (the form in which a run's result travels to the next)."""
    out = {}
    for k, w in sd.items():
        if bits_of(k, w) != 4 or "bias" in k:
            out[k] = w
            continue
        x = w.float().view(-1, 64).bfloat16().float()
        hi, lo = x.amax(1, keepdim=True), x.amin(1, keepdim=True)
        s = ((hi - lo) / 15).clamp(min=1e-7)
        q = torch.round((x - lo) / s).clamp(0, 15).to(torch.uint8).view(-1, 2)
        out[k + "#q"], out[k + "#s"], out[k + "#b"] = q[:, 0] | (q[:, 1] << 4), s.half(), lo.half()
        out[k + "#shape"] = torch.tensor(w.shape)
    return out


def unpack_q4(sd):
    out = {}
    for k, v in sd.items():
        if k.endswith("#q"):
            n = k[:-2]
            q = torch.stack([v & 15, v >> 4], -1).view(-1, 64).float()
            out[n] = (q * sd[n + "#s"].float() + sd[n + "#b"].float()).view(*sd[n + "#shape"].tolist())
        elif "#" not in k:
            out[k] = v
    return out


def load_shards(model, path, prefix):
    import glob

    from safetensors.torch import load_file

    sd = {}
    for f in sorted(glob.glob(os.path.join(path, prefix + "-*.safetensors"))):
        sd.update(load_file(f))
    model.load_state_dict({k: v.float() for k, v in unpack_q4(sd).items()})


def bf16_state(model, keep_f32=()):
    out = {}
    for k, v in model.state_dict().items():
        v = v.detach().cpu()
        out[k] = v.float() if any(k.endswith(s) for s in keep_f32) else v.bfloat16()
    return out


# ---------------------------------------------------------------- layers
class RMSNorm(nn.Module):
    """offset=1: the zero-centred weight of the Qwen3.5 family."""

    def __init__(self, d, eps, offset=0):
        super().__init__()
        self.weight = nn.Parameter(torch.full((d,), 1.0 - offset))
        self.eps, self.offset = eps, offset

    def forward(self, x):
        return rms(x, self.weight, self.offset, self.eps)


@Fast
def rms(x, weight, offset, eps):
    y = x.float()
    y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + eps)
    return (y * (weight.float() + offset)).to(x.dtype)


@Fast
def causal_conv(x, weight, bias):
    """Depthwise causal convolution over time, then SiLU. x: [B, T, C], weight: [C, 1, K]."""
    K = weight.shape[-1]
    w = weight[:, 0].to(x.dtype)
    xp = F.pad(x, (0, 0, K - 1, 0))
    T = x.shape[1]
    y = sum(xp[:, i : i + T] * w[:, i] for i in range(K))
    if bias is not None:
        y = y + bias.to(x.dtype)
    return F.silu(y)


@Fast
def ce(logits, target, w):
    """Mean cross-entropy under the weights w. logits: [B, T, V]."""
    l = F.cross_entropy(logits.float().reshape(-1, logits.shape[-1]), target.reshape(-1), reduction="none")
    w = w.reshape(-1)
    return (l * w).sum() / w.sum().clamp(min=1)


def lin(i, o):
    return nn.Linear(i, o, bias=False)


def init_weights(model, n_res):
    for k, p in model.named_parameters():
        if p.ndim < 2 or "conv1d" in k:
            continue
        if "embed" in k:
            nn.init.normal_(p, std=0.05)
            continue
        s = 0.8 / math.sqrt(p.shape[-1])
        if any(t in k for t in ("out_proj", "o_proj", "down_proj")):
            s /= math.sqrt(n_res)
        if k.endswith("gate.weight") or "shared_expert_gate" in k:
            s *= 0.3
        nn.init.normal_(p, std=s)


class Log:
    def __init__(self, path):
        self.f = open(path, "w") if path else None
        self.t0 = time.time()

    def __call__(self, *a):
        s = f"[{time.time() - self.t0:6.1f}s] " + " ".join(str(x) for x in a)
        print(s, flush=True)
        if self.f:
            self.f.write(s + "\n")
            self.f.flush()


def greedy(model, tok, prompt, n=60, dev="cuda", T=256):
    """Simple full-recompute greedy decoding, only for the training log."""
    import gen

    ids = tok.encode(gen.render([("user", prompt)], True)).ids
    start = len(ids)
    with torch.no_grad():
        for _ in range(n):
            x = torch.full((1, T), EOT, dtype=torch.long, device=dev)
            x[0, : len(ids)] = torch.tensor(ids, device=dev)
            nx = int(model.logits(x)[0, len(ids) - 1].argmax())
            if nx in (IM_END, EOT) or len(ids) >= T - 1:
                break
            ids.append(nx)
    return tok.decode(ids[start:])
