"""Builds a tokenizer.json on the Tekken vocabulary, as models of the Nemotron family have it, from mistral-common.

    pip download --no-deps mistral-common==1.13.1
    python make_tekken.py mistral_common-1.13.1-py3-none-any.whl tokenizer.json

Every way to cut a token in two tokens is a merge, in the order of the tokens' ranks, then of the parts' ranks.
"""

import base64
import json
import sys
import zipfile

SPECIAL = 1000
SIZE = 131072
NAMES = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]",
         "[/TOOL_RESULTS]", "[TOOL_CALLS]", "<|im_start|>", "<|im_end|>", "<think>", "</think>"]


def alphabet():
    """The characters that stand for the 256 bytes in tokenizer.json."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in shown]
    return {**{b: chr(b) for b in shown}, **{b: chr(256 + n) for n, b in enumerate(hidden)}}


def main(wheel, out):
    tekken = json.loads(zipfile.ZipFile(wheel).read("mistral_common/data/tekken_240911.json"))
    ranks = {base64.b64decode(v["token_bytes"]): v["rank"] for v in tekken["vocab"][:SIZE - SPECIAL]}
    letters = alphabet()
    text = {t: "".join(letters[b] for b in t) for t in ranks}
    ordered = sorted(ranks, key=ranks.get)
    merges = []
    for token in ordered:
        cuts = [(token[:i], token[i:]) for i in range(1, len(token))]
        cuts = [(ranks[a], ranks[b], a, b) for a, b in cuts if a in ranks and b in ranks]
        merges += [[text[a], text[b]] for _, _, a, b in sorted(cuts)]
    names = NAMES + [f"<SPECIAL_{i}>" for i in range(len(NAMES), SPECIAL)]
    flags = dict(single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
    level = dict(type="ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=False)
    split = dict(type="Split", pattern=dict(Regex=tekken["config"]["pattern"]), behavior="Isolated", invert=False)
    tokenizer = dict(
        version="1.0", truncation=None, padding=None,
        added_tokens=[dict(id=i, content=t, **flags) for i, t in enumerate(names)], normalizer=None,
        pre_tokenizer=dict(type="Sequence", pretokenizers=[split, level]), post_processor=None, decoder=level,
        model=dict(type="BPE", dropout=None, unk_token=None, continuing_subword_prefix=None, end_of_word_suffix=None,
                   fuse_unk=False, byte_fallback=False, ignore_merges=True,
                   vocab={t: i for i, t in enumerate(names)} | {text[t]: SPECIAL + ranks[t] for t in ordered},
                   merges=merges))
    with open(out, "w", encoding="utf-8") as f:
        json.dump(tokenizer, f, ensure_ascii=False)


main(*sys.argv[1:])
