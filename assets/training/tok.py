#!/usr/bin/env python3
"""Train the 4096-entry byte-level BPE tokenizer and write the tokenizer files.

python3 tok.py OUTDIR [chats]
"""

import json
import os
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import gen

VOCAB = 4096
SPECIAL = [gen.EOT, gen.IM_START, gen.IM_END]  # ids 4093, 4094, 4095: after the BPE entries, as in Qwen
# the pre-tokenizer pattern of the Qwen3.5 family
PATTERN = r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""

CHAT_TEMPLATE = (
    "{%- for message in messages %}"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)


def texts(n):
    for i in range(n):
        for role, content in gen.chat(10_000_000 + i):
            yield role + "\n" + content + "\n"


def build(n):
    tok = Tokenizer(models.BPE(byte_fallback=False))
    tok.normalizer = normalizers.NFC()
    tok.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), behavior="isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tok.decoder = decoders.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    tok.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    tok.train_from_iterator(
        texts(n),
        trainers.BpeTrainer(
            vocab_size=VOCAB - len(SPECIAL), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
        ),
    )
    tok.add_special_tokens([AddedToken(s, normalized=False, special=True) for s in SPECIAL])
    assert tok.get_vocab_size() == VOCAB, tok.get_vocab_size()
    return tok


def write_config(out, max_len=4096):
    ids = {
        str(VOCAB - 3 + i): {
            "content": s,
            "lstrip": False,
            "normalized": False,
            "rstrip": False,
            "single_word": False,
            "special": True,
        }
        for i, s in enumerate(SPECIAL)
    }
    cfg = {
        "add_bos_token": False,
        "add_prefix_space": False,
        "added_tokens_decoder": ids,
        "additional_special_tokens": [gen.IM_START, gen.IM_END],
        "bos_token": None,
        "chat_template": CHAT_TEMPLATE,
        "clean_up_tokenization_spaces": False,
        "eos_token": gen.IM_END,
        "errors": "replace",
        "model_max_length": max_len,
        "pad_token": gen.EOT,
        "split_special_tokens": False,
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": None,
    }
    json.dump(cfg, open(os.path.join(out, "tokenizer_config.json"), "w"), indent=2, ensure_ascii=False)


if __name__ == "__main__":
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    tok = build(int(sys.argv[2]) if len(sys.argv) > 2 else 60000)
    tok.save(os.path.join(out, "tokenizer.json"))
    write_config(out)
    n = c = 0
    for i in range(2000):
        t = gen.render(gen.chat(i))
        n += len(tok.encode(t).ids)
        c += len(t)
    print(f"{c / n:.2f} characters a token, {n / 2000:.0f} tokens a chat")
