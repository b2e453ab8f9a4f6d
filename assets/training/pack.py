#!/usr/bin/env python3
"""Pack a run's shards to 4-bit values, small enough to travel to the next run:  python3 pack.py RUN INIT"""

import glob
import os
import sys

from safetensors.torch import load_file, save_file

import train_nemotron
import train_qwen
from common import pack_q4

os.makedirs(sys.argv[2], exist_ok=True)
for kind, mod in (("qwen", train_qwen), ("nemotron", train_nemotron)):
    sd = {}
    for f in sorted(glob.glob(os.path.join(sys.argv[1], kind + "-*.safetensors"))):
        sd.update(load_file(f))
    save_file(
        {k: v.contiguous() for k, v in pack_q4(sd, mod.bits_of).items()},
        os.path.join(sys.argv[2], kind + "-0.safetensors"),
    )
