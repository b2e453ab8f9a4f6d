#!/usr/bin/env python3
"""Turn trained shards into a Hugging Face style bf16 folder and an MLX 4-bit folder.

python3 export.py SHARDS TOKENIZER OUT        (writes OUT/qwen-tiny, OUT/nemotron-tiny
                                               and OUT/{qwen,nemotron}-tiny-bf16)
"""

import glob
import json
import os
import shutil
import sys

import mlx.core as mx
from mlx_lm.convert import convert
from safetensors.torch import load_file, save_file

import tok

EOT, IM_END = 4093, 4095
GEN = {
    "bos_token_id": None,
    "eos_token_id": [IM_END, EOT],
    "pad_token_id": EOT,
    "do_sample": True,
    "temperature": 0.6,
    "top_p": 0.9,
    "top_k": 20,
}


def qwen_config():
    import train_qwen

    c = dict(train_qwen.CFG)
    theta, prf = c.pop("rope_theta"), c.pop("partial_rotary_factor")
    text = dict(
        attention_bias=False,
        attention_dropout=0.0,
        attn_output_gate=True,
        dtype="bfloat16",
        eos_token_id=IM_END,
        hidden_act="silu",
        initializer_range=0.02,
        layer_types=["linear_attention" if (i + 1) % 4 else "full_attention" for i in range(c["num_hidden_layers"])],
        mamba_ssm_dtype="float32",
        max_position_embeddings=4096,
        model_type="qwen3_5_moe_text",
        mtp_num_hidden_layers=0,
        output_router_logits=False,
        router_aux_loss_coef=0.001,
        tie_word_embeddings=False,
        use_cache=True,
        rope_parameters={
            "mrope_interleaved": True,
            "mrope_section": [3, 3, 2],
            "partial_rotary_factor": prf,
            "rope_theta": theta,
            "rope_type": "default",
        },
        **c,
    )
    return {
        "architectures": ["Qwen3_5MoeForConditionalGeneration"],
        "eos_token_id": IM_END,
        "model_type": "qwen3_5_moe",
        "text_config": dict(sorted(text.items())),
        "tie_word_embeddings": False,
    }


def nemotron_config():
    import train_nemotron

    c = dict(train_nemotron.CFG)
    return dict(
        sorted(
            dict(
                architectures=["NemotronHForCausalLM"],
                model_type="nemotron_h",
                attention_bias=False,
                attention_dropout=0.0,
                bos_token_id=None,
                eos_token_id=IM_END,
                pad_token_id=EOT,
                chunk_size=128,
                dtype="bfloat16",
                expand=2,
                hidden_dropout=0.0,
                initializer_range=0.02,
                intermediate_size=c["moe_intermediate_size"],
                mamba_hidden_act="silu",
                mamba_proj_bias=False,
                mamba_ssm_cache_dtype="float32",
                max_position_embeddings=4096,
                mlp_bias=False,
                mlp_hidden_act="relu2",
                n_group=1,
                n_shared_experts=1,
                norm_eps=c["layer_norm_epsilon"],
                norm_topk_prob=True,
                num_hidden_layers=len(c["hybrid_override_pattern"]),
                num_nextn_predict_layers=1,
                num_logits_to_keep=1,
                residual_in_fp32=False,
                tie_word_embeddings=False,
                time_step_floor=1e-4,
                time_step_max=0.1,
                time_step_min=0.001,
                topk_group=1,
                use_bias=False,
                use_cache=True,
                use_conv_bias=True,
                **c,
            ).items()
        )
    )


def hf_names(kind, sd):
    out = {}
    for k, v in sd.items():
        if kind == "qwen":
            out["model.language_model." + k[6:] if k.startswith("model.") else k] = v
        elif ".experts." in k:
            base, leaf = k.rsplit(".", 1)
            for e in range(v.shape[0]):
                out[f"{base}.{e}.{leaf}.weight"] = v[e].clone()
        else:
            out[k] = v
    return out


def write_mtp(hf, path, cfg):
    """The MTP block in MLX names: experts stacked (switch_mlp.fc1/fc2), quantised like the model."""
    w = {k: v for k, v in mx.load(os.path.join(hf, "model.safetensors")).items() if k.startswith("mtp.")}
    E = cfg["n_routed_experts"]
    p = "mtp.layers.1.mixer."
    for leaf, name in (("up_proj", "fc1"), ("down_proj", "fc2")):
        w[f"{p}switch_mlp.{name}.weight"] = mx.stack([w.pop(f"{p}experts.{e}.{leaf}.weight") for e in range(E)])
    out = {}
    for k, v in w.items():
        if v.ndim >= 2 and not k.endswith("gate.weight"):
            q, s, b = mx.quantize(v, group_size=64, bits=4)
            out[k], out[k[:-6] + "scales"], out[k[:-6] + "biases"] = q, s, b
        else:
            out[k] = v
    mx.save_safetensors(os.path.join(path, "mtp.safetensors"), out, metadata={"format": "mlx"})


def export(kind, shards, tokdir, out):
    sd = {}
    for f in sorted(glob.glob(os.path.join(shards, kind + "-*.safetensors"))):
        sd.update(load_file(f))
    hf, q4 = os.path.join(out, f"{kind}-tiny-bf16"), os.path.join(out, f"{kind}-tiny")
    for d in (hf, q4):
        shutil.rmtree(d, ignore_errors=True)
    os.makedirs(hf)
    save_file(
        {k: v.contiguous() for k, v in hf_names(kind, sd).items()},
        os.path.join(hf, "model.safetensors"),
        metadata={"format": "pt"},
    )
    cfg = qwen_config() if kind == "qwen" else nemotron_config()
    json.dump(cfg, open(os.path.join(hf, "config.json"), "w"), indent=2)
    shutil.copy(os.path.join(tokdir, "tokenizer.json"), hf)
    tok.write_config(hf)
    json.dump(GEN, open(os.path.join(hf, "generation_config.json"), "w"), indent=2)
    convert(hf, q4, quantize=True, q_group_size=64, q_bits=4, dtype="bfloat16")
    for f in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        shutil.copy(os.path.join(hf, f), q4)  # byte for byte, as trained
    path = os.path.join(q4, "config.json")
    c = json.load(open(path))
    if kind == "qwen":  # mlx-lm renames rope_type while loading
        c["text_config"]["rope_parameters"] = qwen_config()["text_config"]["rope_parameters"]
    json.dump(c, open(path, "w"), indent=2)
    os.chmod(os.path.join(hf, "model.safetensors"), 0o644)
    for f in ("README.md", "chat_template.jinja"):
        if os.path.exists(os.path.join(q4, f)):
            os.remove(os.path.join(q4, f))
    if kind == "nemotron":
        write_mtp(hf, q4, cfg)
    print(kind, {f: os.path.getsize(os.path.join(q4, f)) for f in sorted(os.listdir(q4))})


if __name__ == "__main__":
    for k in ("qwen", "nemotron"):
        export(k, *sys.argv[1:4])
