"""Verify that the own torch modules equal transformers on random weights (CPU, fp32)."""

import torch

import common
import train_nemotron as N
import train_qwen as Q

torch.manual_seed(0)


def randomise(m):
    for k, p in m.named_parameters():
        if p.ndim < 2 and "A_log" not in k and "dt_bias" not in k:
            p.data += 0.1 * torch.randn_like(p)


from transformers import NemotronHConfig, NemotronHForCausalLM, Qwen3_5MoeForCausalLM, Qwen3_5MoeTextConfig

m = Q.Model()
common.init_weights(m, 16)
randomise(m)
C = Q.CFG
cfg = dict(C)
th = cfg.pop("rope_theta")
pf = cfg.pop("partial_rotary_factor")
cfg["rope_parameters"] = dict(
    rope_type="default", rope_theta=th, partial_rotary_factor=pf, mrope_section=[3, 3, 2], mrope_interleaved=True
)
hf = Qwen3_5MoeForCausalLM(Qwen3_5MoeTextConfig(**cfg)).eval()
print(hf.load_state_dict(m.state_dict(), strict=False))
ids = torch.randint(0, 4096, (2, 192))
with torch.no_grad():
    a = m.logits(ids)
    b = hf(ids).logits
print("qwen", (a - b).norm() / b.norm())
m = N.Model()
common.init_weights(m, 14)
randomise(m)
for b in m.backbone.layers:
    if b.kind == "E":
        b.mixer.gate.e_score_correction_bias.normal_(std=0.1)
c = dict(N.CFG)
hf = NemotronHForCausalLM(NemotronHConfig(**c, time_step_min=1e-9, num_nextn_predict_layers=1)).eval()
sd = m.state_dict()
names = set(hf.state_dict())
sd2 = {}
for k, v in sd.items():
    k2 = k.replace("backbone.", "model.", 1) if k.startswith("backbone") else k
    if k2.startswith("mtp"):
        continue
    sd2[k2] = v
print(list(names)[:5])
print(hf.load_state_dict(sd2, strict=False))
with torch.no_grad():
    a = m.logits(ids)
    b = hf(ids).logits
print("nemotron", (a - b).norm() / b.norm())
