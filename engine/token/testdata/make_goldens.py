"""Writes what the reference tokenizer makes of corpus.json.gz and of random ids, for the tests of this package.

    pip install tokenizers==0.23.3
    python make_goldens.py ../../../assets/models/qwen-tiny/tokenizer.json tiny.json.gz

The result holds, for each text of the corpus, its ids; "decoded" lists the texts, by number, that these ids do not
give back unchanged. "random" holds ids drawn at random, most of them no whole characters, with their text both with
and without special tokens.
"""

import gzip
import json
import random
import sys
from pathlib import Path

from tokenizers import Tokenizer


def main(vocabulary, out):
    here = Path(__file__).parent
    corpus = json.loads(gzip.decompress(here.joinpath("corpus.json.gz").read_bytes()))
    t = Tokenizer.from_file(vocabulary)
    ids = [t.encode(s, add_special_tokens=False).ids for s in corpus]
    decoded = [t.decode(i, skip_special_tokens=False) for i in ids]
    r = random.Random(1)
    size = t.get_vocab_size(with_added_tokens=True)
    drawn = []
    single = [t.token_to_id(s) for s, _ in sorted(t.get_vocab().items()) if len(s) == 1]
    added = sorted(t.get_added_tokens_decoder())
    for n in range(300):
        pool = [range(size), single, single, added][n % 4:]
        row = [r.choice(pool[0] if r.random() < 0.9 else added) for _ in range(r.randrange(1, 40))]
        drawn.append({"ids": row, "shown": t.decode(row, skip_special_tokens=False),
                      "hidden": t.decode(row, skip_special_tokens=True)})
    data = {"ids": ids, "decoded": {str(n): d for n, d in enumerate(decoded) if d != corpus[n]}, "random": drawn}
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True).encode()
    here.joinpath(out).write_bytes(gzip.compress(text, 9, mtime=0))


main(*sys.argv[1:])
