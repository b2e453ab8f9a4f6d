#!/usr/bin/env python3
"""Small random checkpoints in the mlx on-disk format, and what mlx-lm computes from them.

    pip install "mlx[cpu]==0.32.4" mlx-lm==0.32.2
    python make_golden.py OUT [CASE ...]
    python make_golden.py OUT --chat MODEL
    python make_golden.py OUT --held-out MODEL

The third form writes OUT/held-out-MODEL.json: chats that the built-in models were not trained on, as ids, each with
the runs of ids [from, to) that the assistant writes. The second form writes OUT/chat-MODEL.json: greedy answers of a checkpoint, with the ids of prompts and answers. The first
writes OUT/CASE/config.json, generation_config.json, model*.safetensors.gz (with an index where there are several
shards) and golden.safetensors.gz. Weights are drawn from generators seeded by case and tensor name, so a checkpoint is
the same everywhere; the last bits of a golden may depend on the processor. g++ is needed, because mlx compiles kernels.

Keys of golden.safetensors, all from f32 activations:
    prompt, prompt.long             i32 ids: 70 and 300
    prefill.logits                  [70, V]
    prefill.hidden.I                [70, D], the residual stream after layer I
    prefill.state.I.conv, .rec      of layer I: [3, C] raw rows of the convolution, [heads, Dv, Dk] or [heads, Dim, N]
    prefill.state.I.keys, .values   [heads, 70, Dim], keys after rotation
    greedy.tokens, greedy.gap       64 greedy tokens, and at each the first minus the second logit
    decode.logits                   [16, V]; row s follows feeding greedy.tokens[s]
    long.logits                     [V], last row of the long prompt
"""
import functools
import gzip
import hashlib
import json
import math
import shutil
import sys
import tempfile
from pathlib import Path

import mlx.core as mx
import mlx_lm.utils
import numpy as np
from mlx_lm import convert
from safetensors.numpy import save

VOCAB = 512  # rows of the embedding; the ids in use are fewer, as in real checkpoints
TOKENS = 480


def config(**changes):
    text = dict(
        model_type="qwen3_5_moe_text", attention_bias=False, attention_dropout=0.0, attn_output_gate=True,
        bos_token_id=None, eos_token_id=1, dtype="bfloat16", full_attention_interval=4, head_dim=64,
        hidden_act="silu", hidden_size=256, linear_conv_kernel_dim=4, linear_key_head_dim=64,
        linear_num_key_heads=2, linear_num_value_heads=4, linear_value_head_dim=64, mamba_ssm_dtype="float32",
        max_position_embeddings=4096, moe_intermediate_size=64, mtp_num_hidden_layers=1,
        mtp_use_dedicated_embeddings=False, num_attention_heads=8, num_experts=8, num_experts_per_tok=2,
        num_hidden_layers=4, num_key_value_heads=2, partial_rotary_factor=0.25, rms_norm_eps=1e-6,
        rope_parameters=dict(mrope_interleaved=True, mrope_section=[3, 3, 2], partial_rotary_factor=0.25,
                             rope_theta=10000000, rope_type="default"),
        router_aux_loss_coef=0.001, shared_expert_intermediate_size=64, tie_word_embeddings=False,
        use_cache=True, vocab_size=VOCAB)
    text.update(changes)
    text["layer_types"] = ["full_attention" if (i + 1) % text["full_attention_interval"] == 0 else "linear_attention"
                           for i in range(text["num_hidden_layers"])]
    return dict(architectures=["Qwen3_5MoeForConditionalGeneration"], model_type="qwen3_5_moe", text_config=text,
                image_token_id=100, video_token_id=101, vision_start_token_id=102, vision_end_token_id=103,
                tie_word_embeddings=False,
                vision_config=dict(model_type="qwen3_5_moe", depth=1, hidden_size=64))


def nemotron(pattern, **changes):
    names = {"M": "mamba", "E": "moe", "*": "attention"}
    out = dict(
        architectures=["NemotronHForCausalLM"], model_type="nemotron_h", attention_bias=False, attention_dropout=0.0,
        bos_token_id=1, eos_token_id=[1, 2], pad_token_id=0, chunk_size=128, conv_kernel=4, dtype="bfloat16", expand=2,
        head_dim=64, hidden_size=256, intermediate_size=128, layer_norm_epsilon=1e-5,
        layers_block_type=[names[p] for p in pattern], mamba_head_dim=32, mamba_hidden_act="silu", mamba_num_heads=8,
        mamba_proj_bias=False, mamba_ssm_cache_dtype="float32", max_position_embeddings=4096, mlp_bias=False,
        mlp_hidden_act="relu2", moe_intermediate_size=128, moe_latent_size=None,
        moe_shared_expert_intermediate_size=256, moe_shared_expert_overlap=True,
        mtp_layers_block_type=["attention", "moe"], n_group=1, n_groups=2, n_routed_experts=8, n_shared_experts=1,
        norm_eps=1e-5, norm_topk_prob=True, num_attention_heads=8, num_experts_per_tok=2,
        num_hidden_layers=len(pattern), num_key_value_heads=2, num_nextn_predict_layers=1, residual_in_fp32=False,
        routed_scaling_factor=2.5, ssm_state_size=64, tie_word_embeddings=False, time_step_floor=1e-4,
        time_step_max=0.1, time_step_min=0.001, topk_group=1, use_bias=False, use_cache=True, use_conv_bias=True,
        use_mamba_kernels=True, vocab_size=VOCAB)
    out.update(changes)
    return out


CASES = {
    "qwen_a": config(),  # small everything
    # the head sizes of the 35B model, one key head, several shards
    "qwen_b": config(head_dim=256, num_attention_heads=4, num_key_value_heads=1, linear_key_head_dim=128,
                     linear_value_head_dim=128, num_experts=8, num_experts_per_tok=4,
                     rope_parameters=dict(mrope_interleaved=True, mrope_section=[11, 11, 10],
                                          partial_rotary_factor=0.25, rope_theta=10000000, rope_type="default")),
    # every expert is chosen, so rounding cannot change the choice: for bf16
    "qwen_c": config(num_experts=4, num_experts_per_tok=4),
    "nemotron_a": nemotron("MEM*EME"),
    # the head sizes of the 30B model, one key head, several shards, and a bare Infinity in config.json
    "nemotron_b": nemotron("MEM*EME", head_dim=128, num_attention_heads=4, num_key_value_heads=1, mamba_head_dim=64,
                           ssm_state_size=128, n_groups=4, n_routed_experts=8, num_experts_per_tok=6,
                           moe_intermediate_size=64, moe_shared_expert_intermediate_size=128,
                           time_step_limit=[0.0, math.inf]),
    "nemotron_c": nemotron("MEM*EME", n_routed_experts=4, num_experts_per_tok=4),
}
SHARD_BYTES = {"qwen_b": 700_000, "nemotron_b": 800_000}


def is_nemotron(case):
    return CASES[case]["model_type"] == "nemotron_h"


def draw(case, name, shape):
    """One tensor of the original release's names, with a believable distribution."""
    seed = hashlib.sha256(f"{case}/{name}".encode()).digest()
    r = np.random.Generator(np.random.PCG64(int.from_bytes(seed[:8], "little")))

    def normal(scale):
        return r.standard_normal(shape).astype(np.float32) * scale

    leaf = name.rsplit(".", 1)[-1]
    if leaf == "A_log":
        return np.log(r.uniform(1.0, 16.0, shape)).astype(np.float32)
    if leaf == "dt_bias":  # the inverse of softplus
        x = np.exp(r.uniform(math.log(1e-3), math.log(0.1), shape))
        return (x + np.log(-np.expm1(-x))).astype(np.float32)
    if leaf == "D":
        return 1 + normal(0.2)
    if leaf == "e_score_correction_bias":
        return normal(0.15)
    if "norm" in name and len(shape) == 1:  # of the Qwen family zero-centred but for the norm inside the delta net
        w = 1 + normal(0.15)
        return w if is_nemotron(case) or name.endswith("linear_attn.norm.weight") else w - 1
    if "conv1d.weight" in name:
        return normal(0.45)
    if "conv1d.bias" in name:
        return normal(0.1)
    if "embed" in name:
        return normal(0.7)
    if name.endswith(("mlp.gate.weight", "mixer.gate.weight")):
        return normal(2.0 / math.sqrt(shape[-1]))
    if name.endswith("lm_head.weight"):
        w = normal(2.5 / math.sqrt(shape[-1]))
        w[TOKENS:] *= 0.05
        return w
    gain = 1.0 if name.endswith(("o_proj.weight", "out_proj.weight", "down_proj", "down_proj.weight")) else 1.3
    return normal(gain / math.sqrt(shape[-1]))


def nemotron_shapes(cfg):
    out = {}
    hidden, inner = cfg["hidden_size"], cfg["mamba_num_heads"] * cfg["mamba_head_dim"]
    channels = inner + 2 * cfg["n_groups"] * cfg["ssm_state_size"]
    out["backbone.embeddings.weight"] = (VOCAB, hidden)
    for i, kind in enumerate(cfg["layers_block_type"]):
        p = f"backbone.layers.{i}."
        out[p + "norm.weight"] = (hidden,)
        p += "mixer."
        if kind == "attention":
            queries, keys = (cfg[k] * cfg["head_dim"] for k in ("num_attention_heads", "num_key_value_heads"))
            out[p + "q_proj.weight"] = (queries, hidden)
            for v in "kv":
                out[p + v + "_proj.weight"] = (keys, hidden)
            out[p + "o_proj.weight"] = (hidden, queries)
        elif kind == "moe":
            out[p + "gate.weight"] = (cfg["n_routed_experts"], hidden)
            out[p + "gate.e_score_correction_bias"] = (cfg["n_routed_experts"],)
            modules = {f"experts.{e}": cfg["moe_intermediate_size"] for e in range(cfg["n_routed_experts"])}
            modules["shared_experts"] = cfg["moe_shared_expert_intermediate_size"]
            for module, width in modules.items():
                out[f"{p}{module}.up_proj.weight"] = (width, hidden)
                out[f"{p}{module}.down_proj.weight"] = (hidden, width)
        else:
            out[p + "in_proj.weight"] = (inner + channels + cfg["mamba_num_heads"], hidden)
            out[p + "conv1d.weight"] = (channels, 1, cfg["conv_kernel"])
            out[p + "conv1d.bias"] = (channels,)
            for v in ("A_log", "D", "dt_bias"):
                out[p + v] = (cfg["mamba_num_heads"],)
            out[p + "norm.weight"] = (inner,)
            out[p + "out_proj.weight"] = (hidden, inner)
    out["backbone.norm_f.weight"] = (hidden,)
    out["lm_head.weight"] = (VOCAB, hidden)
    return out


def shapes(cfg):
    """The tensors of the original release."""
    if cfg["model_type"] == "nemotron_h":
        return nemotron_shapes(cfg)
    t, out = cfg["text_config"], {}
    hidden, dim = t["hidden_size"], t["head_dim"]
    keys = t["linear_num_key_heads"] * t["linear_key_head_dim"]
    values = t["linear_num_value_heads"] * t["linear_value_head_dim"]
    base = "model.language_model."
    out[base + "embed_tokens.weight"] = (VOCAB, hidden)
    for i, kind in enumerate(t["layer_types"]):
        p = f"{base}layers.{i}."
        for v in ("input_layernorm", "post_attention_layernorm"):
            out[p + v + ".weight"] = (hidden,)
        if kind == "full_attention":
            q, heads = p + "self_attn.", t["num_attention_heads"]
            out[q + "q_proj.weight"] = (heads * dim * 2, hidden)
            for v in "kv":
                out[q + v + "_proj.weight"] = (t["num_key_value_heads"] * dim, hidden)
            out[q + "o_proj.weight"] = (hidden, heads * dim)
            out[q + "q_norm.weight"] = out[q + "k_norm.weight"] = (dim,)
        else:
            q = p + "linear_attn."
            out[q + "in_proj_qkv.weight"] = (2 * keys + values, hidden)
            out[q + "in_proj_z.weight"] = (values, hidden)
            for v in "ab":
                out[q + f"in_proj_{v}.weight"] = (t["linear_num_value_heads"], hidden)
            out[q + "conv1d.weight"] = (2 * keys + values, 1, t["linear_conv_kernel_dim"])
            for v in ("A_log", "dt_bias"):
                out[q + v] = (t["linear_num_value_heads"],)
            out[q + "norm.weight"] = (t["linear_value_head_dim"],)
            out[q + "out_proj.weight"] = (hidden, values)
        q = p + "mlp."
        experts, inner, shared = t["num_experts"], t["moe_intermediate_size"], t["shared_expert_intermediate_size"]
        out[q + "gate.weight"] = (experts, hidden)
        out[q + "experts.gate_up_proj"] = (experts, 2 * inner, hidden)
        out[q + "experts.down_proj"] = (experts, hidden, inner)
        for v in ("gate_proj", "up_proj"):
            out[q + f"shared_expert.{v}.weight"] = (shared, hidden)
        out[q + "shared_expert.down_proj.weight"] = (hidden, shared)
        out[q + "shared_expert_gate.weight"] = (1, hidden)
    out[base + "norm.weight"] = (hidden,)
    out["lm_head.weight"] = (VOCAB, hidden)
    out["model.visual.patch_embed.proj.bias"] = (64,)  # a vision tensor, to be ignored
    return out


def tokenizer(folder):
    """mlx_lm.convert wants a tokenizer; the goldens are about ids, so the smallest one will do."""
    from tokenizers import Tokenizer, models
    vocab = {f"t{i}": i for i in range(TOKENS)}
    Tokenizer(models.WordLevel(vocab, unk_token="t0")).save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(dict(
        tokenizer_class="PreTrainedTokenizerFast", eos_token="t1", pad_token="t0", model_max_length=4096)))


def shards(tensors, max_file_size_gb=5, limit=0):
    out, current, size = [], {}, 0
    for k, v in tensors.items():
        if size and size + v.nbytes > limit:
            out.append(current)
            current, size = {}, 0
        current[k] = v
        size += v.nbytes
    return out + [current]


def build(case, folder):
    """Draws the checkpoint and has mlx-lm convert it to 4 bits (8 for the routers) in groups of 64."""
    source = folder.with_suffix(".source")
    source.mkdir()
    tokenizer(source)
    (source / "config.json").write_text(json.dumps(CASES[case], indent=2))
    (source / "generation_config.json").write_text(json.dumps(dict(
        eos_token_id=[1, 0], do_sample=True, temperature=1.0, top_p=0.95)))
    tensors = {k: mx.array(draw(case, k, s)) for k, s in shapes(CASES[case]).items()}
    tensors = {k: v if k.endswith(("A_log", "e_score_correction_bias")) else v.astype(mx.bfloat16)
               for k, v in tensors.items()}
    mx.save_safetensors(str(source / "model.safetensors"), tensors, metadata={"format": "pt"})
    original = mlx_lm.utils.make_shards
    if case in SHARD_BYTES:
        mlx_lm.utils.make_shards = functools.partial(shards, limit=SHARD_BYTES[case])
    convert(str(source), str(folder), quantize=True, q_group_size=64, q_bits=4)
    mlx_lm.utils.make_shards = original
    if is_nemotron(case):
        if limit := CASES[case].get("time_step_limit"):  # some writers spell infinity otherwise
            path = folder / "config.json"
            path.write_text(json.dumps(json.loads(path.read_text()) | dict(time_step_limit=limit), indent=4))
        return
    # Published checkpoints carry a vision tower too, which mlx-lm drops.
    last = sorted(folder.glob("model*.safetensors"))[-1]
    tensors = dict(mx.load(str(last)))
    tensors["vision_tower.patch_embed.proj.bias"] = mx.zeros((64,), mx.bfloat16)
    mx.eval(tensors)
    new = last.with_suffix(".new.safetensors")
    mx.save_safetensors(str(new), tensors, metadata={"format": "mlx"})
    new.replace(last)


def numpy(a):
    return np.array(a.astype(mx.float32))


def golden(folder):
    """Runs mlx-lm with f32 activations."""
    model, _ = mlx_lm.utils.load_model(folder, lazy=False)
    model.eval()
    model.set_dtype(mx.float32)
    r = np.random.Generator(np.random.PCG64(7))
    prompt, _, long = (r.integers(7, TOKENS, n).tolist() for n in (70, 1, 300))
    out = {"prompt": np.array(prompt, np.int32), "prompt.long": np.array(long, np.int32)}

    layers = model.layers
    layer = type(layers[0])
    call, hidden = layer.__call__, []

    def recording(self, *args, **kwargs):
        hidden.append(call(self, *args, **kwargs))
        return hidden[-1]

    cache = model.make_cache()
    layer.__call__ = recording
    logits = model(mx.array([prompt]), cache=cache)
    mx.eval(logits)
    layer.__call__ = call
    out["prefill.logits"] = numpy(logits[0])
    for i, h in enumerate(hidden):
        out[f"prefill.hidden.{i}"] = numpy(h[0])
    stateful = [i for i, l in enumerate(layers) if getattr(l, "block_type", "") != "E"]
    for i, c in zip(stateful, cache, strict=True):
        if hasattr(c, "keys"):
            out[f"prefill.state.{i}.keys"] = numpy(c.keys[0, :, :c.offset])
            out[f"prefill.state.{i}.values"] = numpy(c.values[0, :, :c.offset])
        else:
            out[f"prefill.state.{i}.conv"], out[f"prefill.state.{i}.rec"] = numpy(c[0][0]), numpy(c[1][0])

    tokens, gaps, decoded, last = [], [], [], logits[0, -1]
    for _ in range(64):
        row = numpy(last)
        first, second = np.sort(row)[::-1][:2]
        tokens.append(int(row.argmax()))
        gaps.append(first - second)
        last = model(mx.array([[tokens[-1]]]), cache=cache)[0, -1]
        mx.eval(last)
        decoded.append(numpy(last))
    out["greedy.tokens"], out["greedy.gap"] = np.array(tokens, np.int32), np.array(gaps, np.float32)
    out["decode.logits"] = np.stack(decoded[:16])
    out["long.logits"] = numpy(model(mx.array([long]), cache=model.make_cache())[0, -1])
    return {k: np.ascontiguousarray(v) for k, v in out.items()}


CHATS = [["Hello!"], ["Who are you?"], ["Tell me a story about a dragon in a castle."],
         ["what can u do", None, "Write a short email to my boss."]]  # None: the answer just given


def chat(folder, path):
    """Greedy answers with f32 activations, at most 128 tokens each."""
    model, tokenizer = mlx_lm.utils.load(str(folder))
    model.set_dtype(mx.float32)
    out = []
    for turns in CHATS:
        messages = []
        for i, text in enumerate(turns):
            content = out[-1]["text"] if text is None else text
            messages.append(dict(role=("user", "assistant")[i % 2], content=content))
            if i % 2:
                continue
            prompt = list(tokenizer.apply_chat_template(messages, add_generation_prompt=True))
            cache, tokens, gaps = model.make_cache(), [], []
            last = model(mx.array([prompt]), cache=cache)[0, -1]
            while len(tokens) < 128:
                first, second = np.sort(numpy(last))[::-1][:2]
                tokens.append(int(numpy(last).argmax()))
                gaps.append(round(float(first - second), 5))
                if tokens[-1] == tokenizer.eos_token_id:
                    break
                last = model(mx.array([[tokens[-1]]]), cache=cache)[0, -1]
            text = tokenizer.decode([t for t in tokens if t != tokenizer.eos_token_id])
            said = [m["content"] for m in messages]
            out.append(dict(messages=said, prompt=prompt, tokens=tokens, gap=gaps, text=text))
    path.write_text("[\n" + ",\n".join(json.dumps(o, ensure_ascii=False) for o in out) + "\n]\n")


def held_out(folder, path, chats=40, first=900_500_000):
    """The chats that assets/training/evaluate.py measures live neurons on."""
    sys.path.insert(0, str(Path(__file__).parents[3] / "assets" / "training"))
    import gen
    from tokenizers import Tokenizer
    tok = Tokenizer.from_file(str(folder / "tokenizer.json"))
    begin, end, assistant = (tok.token_to_id(t) for t in ("<|im_start|>", "<|im_end|>", "assistant"))
    out = []
    for seed in range(first, first + chats):
        ids = tok.encode(gen.render(gen.chat(seed))).ids
        starts, ends = ([i for i, t in enumerate(ids) if t == mark] for mark in (begin, end))
        runs = [[s + 3, e + 1] for s, e in zip(starts, ends) if ids[s + 1] == assistant]
        out.append(dict(ids=ids, runs=runs))
    path.write_text("[\n" + ",\n".join(json.dumps(o, separators=(",", ":")) for o in out) + "\n]\n")


def compress(data, path):
    with gzip.GzipFile(filename="", mode="wb", fileobj=path.open("wb"), compresslevel=9, mtime=0) as f:
        f.write(data)


def main():
    out = Path(sys.argv[1])
    if sys.argv[2:3] == ["--chat"]:
        model = Path(sys.argv[3])
        chat(model, out / f"chat-{model.name}.json")
        return
    if sys.argv[2:3] == ["--held-out"]:
        model = Path(sys.argv[3])
        held_out(model, out / f"held-out-{model.name}.json")
        return
    for case in sys.argv[2:] or CASES:
        with tempfile.TemporaryDirectory() as tmp:
            folder = Path(tmp) / case
            build(case, folder)
            to = out / case
            shutil.rmtree(to, ignore_errors=True)
            to.mkdir(parents=True)
            files = sorted(folder.glob("model*.safetensors"))
            for f in files:
                compress(f.read_bytes(), to / (f.name + ".gz"))
            for name in ["config.json", "generation_config.json"] + ["model.safetensors.index.json"] * (len(files) > 1):
                shutil.copy(folder / name, to / name)
            compress(save(golden(folder)), to / "golden.safetensors.gz")


if __name__ == "__main__":
    main()
