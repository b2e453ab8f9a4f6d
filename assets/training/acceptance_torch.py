"""MTP acceptance of the 4-bit Nemotron model by the torch modules: python3 acceptance_torch.py FOLDER"""

import sys

import torch

import common
import evaluate as E
import train_nemotron as N

torch.set_num_threads(1)
m = N.Model().eval()
m.load_state_dict(E.mlx_state(sys.argv[1], "nemotron"))
p = common.Packer(512, common.HELD_SEED + 700_000)
ids, w = (torch.from_numpy(a) for a in p.batch(16))
ids = ids.long()
w = w == 250
s = torch.zeros(4)
with torch.no_grad():
    for r in range(16):
        x = ids[r : r + 1]
        h, _ = m.backbone(x)
        g = m.lm_head(h)[0].argmax(-1)  # g[j]: main choice for token j+1
        m1, m2, _ = m.mtp(m.backbone.embed(x.roll(-1, 1)), h)
        d1 = m.lm_head(m1)[0].argmax(-1)
        d2 = m.lm_head(m2)[0].argmax(-1)  # d1[j]: token j+2; d2[j]: token j+2, from own output at j-1
        T = x.shape[1]
        y = x[0]
        k = w[r]
        j = torch.arange(0, T - 3)
        # the main model's own choices must follow the text, so that this equals greedy decoding
        ok = k[j + 1] & k[j + 2] & (g[j] == y[j + 1])
        a1 = ok & (d1[j] == g[j + 1])
        c = a1 & (g[j + 1] == y[j + 2]) & k[j + 3]
        a2 = c & (d2[j + 1] == g[j + 2])
        s += torch.tensor([ok.sum(), a1.sum(), c.sum(), a2.sum()]).float()
print(
    "teacher-forced: draft1 accepted",
    (s[1] / s[0]).item(),
    "draft2 given draft1",
    (s[3] / s[2]).item(),
    "positions",
    s[0].item(),
)
