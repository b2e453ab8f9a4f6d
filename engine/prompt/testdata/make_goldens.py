"""Writes golden.json: what Python's jinja2, set up as chat templates are rendered, makes of the templates here.

    pip install jinja2==3.1.6
    python make_goldens.py ../../../assets/models/qwen-tiny/tokenizer_config.json
"""

import copy
import json
import sys
from pathlib import Path

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    e = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    e.filters["tojson"] = tojson
    e.globals["raise_exception"] = raise_exception
    return e


def call(name, arguments, content="", **more):
    f = dict(name=name, arguments=arguments)
    return dict(role="assistant", content=content, tool_calls=[dict(id="c1", type="function", function=f)], **more)


TOOLS = [
    dict(type="function", function=dict(
        name="get_weather", description="  Weather of a <place> & \"time\" \u5929\u6c14 \u2028 ",
        parameters=dict(type="object", properties=dict(
            city=dict(type="string", description="City \u00e9"),
            unit=dict(type="string", enum=["c", "f"], default="c"),
            days=dict(type="integer", minimum=1, maximum=7, default=3),
            share=dict(type="number", default=1.0, multipleOf=1e-7)), required=["city"],
            additionalProperties=False))),
    dict(type="function", function=dict(name="none", parameters=dict(type="object", properties={}), strict=True)),
]
SYSTEM = dict(role="system", content=" You help.\n")
USER = dict(role="user", content="Hi <b>there</b> & 'you' \u4f60\u597d\u2028")
PLAIN = dict(role="assistant", content="Hello!")
THOUGHT = dict(role="assistant", content="<think>\nplan\n</think>\n\nDone.")
REASONED = dict(role="assistant", content="Done.", reasoning_content="plan it\n")
ARGUMENTS = {"city": "Z\u00fcrich <x> \"q\"\n\t\\", "days": 3, "opts": {"a": 1.0, "b": [1, 2, {"c": None}], "e": []}, "flag": True,
             "off": False, "f": 2.50, "big": 12345678901234567890, "none": None, "e": 1e-7, "g": 1e16, "h": -0.0, "i": 123456.789,
             "j": 5e-324, "u": "\u2028\x7f\u0001", "k": "it's", "l": 1e22, "m": -98765432109876543210}
CALL = call("get_weather", ARGUMENTS)
CALLS = dict(role="assistant", content="calling", tool_calls=[
    dict(function=dict(name="none", arguments={})),
    dict(function=dict(name="zeta", arguments={"z": ["p", "q"], "a": False, "m": 1}))])
AFTER = call("zeta", {"z": []}, reasoning_content="think hard")
RESULT = dict(role="tool", content="{\"t\": 21}")
MORE = dict(role="tool", content="ok")
CONVERSATIONS = [
    [USER], [SYSTEM, USER], [SYSTEM, USER, PLAIN, USER], [USER, THOUGHT, USER], [USER, REASONED, USER], [USER, REASONED],
    [SYSTEM, USER, CALL, RESULT, PLAIN, USER], [USER, CALL, RESULT], [SYSTEM, USER, CALLS, RESULT, MORE],
    [SYSTEM, USER, CALLS, RESULT, MORE, REASONED, USER, AFTER, RESULT], [USER, USER], [SYSTEM], [], [USER, SYSTEM],
    [USER, dict(role="assistant", content=""), USER], [dict(role="user", content="  \n padded \t\n")],
]
OPTIONS = [{}, {"enable_thinking": False}, {"enable_thinking": True, "keep_thinking": True}]


def main(config):
    here = Path(__file__).parent
    templates = {p.stem: p.read_text() for p in sorted(here.joinpath("templates").glob("*.jinja"))}
    templates["tiny"] = json.loads(Path(config).read_text())["chat_template"]
    cases = []
    for messages in CONVERSATIONS:
        for tools in None, TOOLS:
            for options in OPTIONS:
                for generate in True, False:
                    cases.append(dict(messages=messages, tools=tools, add_generation_prompt=generate, **options))
    out = {}
    for name, text in templates.items():
        template = environment().from_string(text)
        out[name] = []
        for case in cases:
            try:
                result = template.render(**copy.deepcopy(case), bos_token="<s>", documents=None)
            except jinja2.exceptions.TemplateError as e:
                result = dict(error=str(e))
            out[name].append(result)
    distinct = sorted({json.dumps(r) for rows in out.values() for r in rows})
    number = {r: i for i, r in enumerate(distinct)}
    data = dict(cases=cases, results=[json.loads(r) for r in distinct],
                out={name: [number[json.dumps(r)] for r in rows] for name, rows in out.items()})
    here.joinpath("golden.json").write_text(json.dumps(data, indent=0, ensure_ascii=True) + "\n")


main(*sys.argv[1:])
