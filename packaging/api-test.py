"""Tests `sotto serve` with OpenAI's own client for Python, with curl and with raw connections, and measures it.

    api-test.py [--sotto bin/sotto]

Starts Sotto on a free port with folders of its own under build/api, runs every check below against it, prints one line
for each and the figures, and writes them to build/api/figures.json. The log of the server is build/api/serve.log; it
must hold nothing that was asked.
"""
import argparse
import asyncio
import concurrent.futures
import http.client
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import openai

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build/api"
MODEL = "qwen-tiny"
SECRET = "xyzzy-plugh"  # in what is asked; must not be in the log
CHECKS = []
RUNNING = []


def check(f):
    CHECKS.append(f)
    return f


class Serve:
    """A running `sotto serve`."""

    def __init__(self, sotto, *args):
        env = dict(os.environ, XDG_CACHE_HOME=str(OUT / "cache"), XDG_DATA_HOME=str(OUT / "data"))
        self.log = OUT / "serve.log"
        self.log_file = open(self.log, "a+")
        self.process = subprocess.Popen([str(sotto), "serve", "--port", "0", *args], stdout=subprocess.PIPE,
                                        stderr=self.log_file, text=True, env=env)
        RUNNING.append(self.process)
        line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        if not found:
            sys.exit(f"api-test: sotto serve said {line!r}; see {self.log}")
        self.port = int(found[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.client = openai.OpenAI(base_url=self.url + "/v1", api_key="none", max_retries=0)

    def stop(self, how=signal.SIGINT):
        """Ends it; returns exit code and seconds."""
        begin = time.monotonic()
        self.process.send_signal(how)
        code = self.process.wait(20)
        return code, time.monotonic() - begin

    def ask(self, text, **more):
        return self.client.chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": text}], **{"temperature": 0, **more})

    def long(self):
        """Settings by which a story gets long, nearly every token being as likely as any other."""
        for seed in range(100):
            hot = dict(temperature=2, top_p=1, seed=seed, extra_body={"top_k": 0})
            if self.ask("Tell me a story.", max_tokens=120, **hot).choices[0].finish_reason == "length":
                return hot
        raise AssertionError("no long answer")

    def raw(self, method, path, headers, body=None):
        """A request with exactly these headers."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        c.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for k, v in headers.items():
            c.putheader(k, v)
        if body is not None:
            c.putheader("Content-Length", str(len(body)))
        c.endheaders(body)
        r = c.getresponse()
        return r.status, r.read().decode()

    def quick(self):
        """Seconds of a request of one token: what a client waits that comes next."""
        begin = time.monotonic()
        self.ask("Hello!", max_tokens=1)
        return time.monotonic() - begin


def same(got, want, what=""):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def refused(error, call, **want):
    try:
        call()
    except error as e:
        for k, v in want.items():
            same(getattr(e, k), v, f"{error.__name__}.{k} ({e})")
        return e
    raise AssertionError(f"no {error.__name__}")


@check
def models(s, figures):
    same([m.id for m in s.client.models.list()], [MODEL])
    same(s.client.models.retrieve(MODEL).owned_by, "sotto")
    refused(openai.NotFoundError, lambda: s.client.models.retrieve("gpt-5"), code="model_not_found", param="model")


@check
def streamed_is_whole(s, figures):
    for text in ["Who are you?", "Tell me a story about a dragon in a castle.", "Schreibe: ď 😀 漢字"]:
        whole = s.ask(text)
        pieces = list(s.ask(text, stream=True))
        joined = "".join(c.choices[0].delta.content or "" for c in pieces)
        same(joined, whole.choices[0].message.content, text)
        same([len(c.choices) for c in pieces], [1] * len(pieces), "choices without include_usage")
        same({c.usage for c in pieces}, {None}, "usage")
        same(pieces[-1].choices[0].finish_reason, whole.choices[0].finish_reason, "finish_reason")
        same(len({c.id for c in pieces}), 1, "ids of a stream")
        if any("\ufffd" in (c.choices[0].delta.content or "") for c in pieces):
            raise AssertionError(f"a broken character in {joined!r}")


@check
def usage_chunk(s, figures):
    whole = s.ask("Hello!")
    pieces = list(s.ask("Hello!", stream=True, stream_options={"include_usage": True}))
    same([len(c.choices) for c in pieces], [1] * (len(pieces) - 1) + [0], "choices")
    same([c.usage for c in pieces[:-1]], [None] * (len(pieces) - 1), "usage before the end")
    same(pieces[-1].usage.completion_tokens, whole.usage.completion_tokens, "completion_tokens")
    same(whole.usage.total_tokens, whole.usage.prompt_tokens + whole.usage.completion_tokens, "total_tokens")


@check
def logprobs(s, figures):
    a = s.ask("Who are you?", logprobs=True, top_logprobs=4).choices[0]
    same("".join(t.token for t in a.logprobs.content), a.message.content, "tokens")
    for t in a.logprobs.content:
        same(len(t.top_logprobs), 4, "alternatives")
        same(t.top_logprobs[0].token, t.token, "the best one of a greedy answer")
        same(bytes(t.bytes).decode(), t.token, "bytes")


@check
def stop_strings(s, figures):
    whole = s.ask("Who are you?").choices[0].message.content
    for at in range(len(whole) // 2, len(whole) // 2 + 5):
        stop = whole[at:at + 6]
        want = whole[:whole.index(stop)]
        a = s.ask("Who are you?", stop=stop).choices[0]
        same((a.message.content, a.finish_reason), (want, "stop"), f"stop {stop!r}")
        streamed = "".join(c.choices[0].delta.content or "" for c in s.ask("Who are you?", stop=[stop], stream=True))
        same(streamed, want, f"streamed, stop {stop!r}")


@check
def limits_and_seed(s, figures):
    a = s.ask("Tell me a story.", max_tokens=7)
    same((a.usage.completion_tokens, a.choices[0].finish_reason), (7, "length"))
    a = s.ask("Tell me a story.", max_completion_tokens=5)
    same(a.usage.completion_tokens, 5)
    hot = [s.ask("Tell me a story.", temperature=1.5, seed=seed, max_tokens=30).choices[0].message.content
           for seed in (1, 1, 2)]
    same(hot[0], hot[1], "the same seed")
    if hot[0] == hot[2]:
        raise AssertionError("another seed, the same answer")


@check
def roles(s, figures):
    def tokens(*messages):
        return s.client.chat.completions.create(model=MODEL, messages=messages, max_tokens=1).usage.prompt_tokens
    user = {"role": "user", "content": "Capital of France?"}
    same(tokens({"role": "developer", "content": "Reply BANANA"}, user),
         tokens({"role": "system", "content": "Reply BANANA"}, user), "developer and system")
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    tokens(user, {"role": "assistant", "content": None, "tool_calls": [call]},
           {"role": "tool", "tool_call_id": "c", "content": "5"})
    parts = [{"type": "text", "text": "Capital "}, {"type": "text", "text": "of France?"}]
    same(tokens({"role": "user", "content": parts}), tokens(user), "parts")
    refused(openai.BadRequestError, lambda: tokens({"role": "banana", "content": "x"}), param="messages[0].role")
    refused(openai.BadRequestError, lambda: tokens({"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "data:"}}]}), param="messages[0].content[0].type")


@check
def refusals(s, figures):
    for name, value in [("n", 2), ("tools", [{"type": "function", "function": {"name": "f"}}]),
                        ("response_format", {"type": "json_object"}), ("logit_bias", {"5": 1}),
                        ("presence_penalty", 1)]:
        refused(openai.BadRequestError, lambda: s.ask("x", **{name: value}), param=name, code="unsupported_parameter")
    refused(openai.BadRequestError, lambda: s.ask("x", temperature=3), param="temperature", code="invalid_value")
    e = refused(openai.BadRequestError, lambda: s.ask("and so on " * 3000), code="context_length_exceeded")
    numbers = re.search(r"the prompt has (\d+) tokens, the window holds (\d+)", e.message)
    if not numbers or not int(numbers[1]) > int(numbers[2]) == 4096:
        raise AssertionError(f"both numbers are wanted: {e.message}")
    refused(openai.BadRequestError, lambda: s.ask("and so on " * 3000, stream=True), code="context_length_exceeded")
    s.ask("x", max_tokens=1, user="u", extra_body={"frobnicate": {"deep": [1]}})


@check
def growing_chat(s, figures):
    messages, read, waits = [], 0, []
    for turn in range(6):
        messages.append({"role": "user", "content": f"Tell me joke number {turn}, please. {SECRET}"})
        begin = time.monotonic()
        a = s.client.chat.completions.create(model=MODEL, messages=messages, temperature=0, max_tokens=40)
        waits.append(time.monotonic() - begin)
        if a.usage.prompt_tokens_details.cached_tokens < read:
            raise AssertionError(f"turn {turn}: {a.usage} after {read} were read")
        read = a.usage.prompt_tokens
        messages.append({"role": "assistant", "content": a.choices[0].message.content})
    figures["cached tokens of the last turn"] = f"{a.usage.prompt_tokens_details.cached_tokens} of {read}"


@check
def foreign(s, figures):
    body = b'{"messages":[{"role":"user","content":"Hello!"}],"max_tokens":1}'
    good = {"Host": "localhost", "Content-Type": "application/json"}
    for host in ["evil.example", "", ":11434", "localhost.evil.com", "127.0.0.1.nip.io"]:
        same(s.raw("POST", "/v1/chat/completions", {**good, "Host": host}, body)[0], 403, f"Host {host!r}")
    for host in ["[::1]", "127.0.0.1:1", "localhost"]:
        same(s.raw("POST", "/v1/chat/completions", {**good, "Host": host}, body)[0], 200, f"Host {host!r}")
    evil = {"Origin": "https://evil.example"}
    same(s.raw("POST", "/v1/chat/completions", {**good, **evil, "Content-Type": "text/plain"}, body)[0], 403, "Origin")
    same(s.raw("POST", "/v1/chat/completions", {**good, **evil}, body)[0], 403, "Origin")
    same(s.raw("POST", "/v1/chat/completions", {**good, "Content-Type": "text/plain"}, body)[0], 415, "text/plain")
    same(s.raw("POST", "/v1/chat/completions", good, b"x" * (16 << 20) + b"x")[0], 413, "a large body")


def curl_command(s, body):
    return ["curl", "-sN", s.url + "/v1/chat/completions", "-H", "Content-Type: application/json",
            "-d", json.dumps(body)]


def killed(s, body, ready):
    """Kills curl when ready says so; returns what the next client waits beyond what it would have to anyway. Body makes
    a request from a number, so that none begins like the one before. Ready is called with the process and with how long
    such an answer takes as a whole."""
    usual = statistics.median(s.quick() for _ in range(5))
    begin = time.monotonic()
    subprocess.run(curl_command(s, body(0)), stdout=subprocess.DEVNULL, check=True)
    whole = time.monotonic() - begin
    waits = []
    for number in range(1, 12):  # some are over before they are killed, if the machine is busy with other things
        curl = subprocess.Popen(curl_command(s, body(number)), stdout=subprocess.PIPE, text=True)
        ready(curl, whole)
        curl.kill()
        waited = s.quick()
        curl.wait()
        if curl.returncode != -9:
            continue
        if waited > usual + max(1, whole / 10):
            raise AssertionError(f"the next client waited {waited:.3f} s, usually {usual:.3f} s")
        waits.append((waited - usual) * 1000)
        if len(waits) == 5:
            return sorted(waits), whole * 1000
    raise AssertionError("the answers were over before curl was killed")


@check
def client_killed(s, figures):
    hot = s.long()
    hot.update(hot.pop("extra_body"))

    def story(stream):
        return lambda _: {"messages": [{"role": "user", "content": "Tell me a story."}], "stream": stream, **hot}

    def long(number):
        return {"messages": [{"role": "user", "content": f"{number} dragons sleep in the old castle. " * 120}],
                "max_tokens": 1}

    def chunk5(curl, whole):
        for n in range(5):
            while not curl.stdout.readline().startswith("data: "):
                pass
    for name, body, ready in [
        ("at chunk 5", story(True), chunk5),
        ("before a whole answer", story(False), lambda curl, whole: time.sleep(whole / 3)),
        ("while the prompt is read", long, lambda curl, whole: time.sleep(whole / 3)),
    ]:
        late, whole = killed(s, body, ready)
        figures[f"curl killed {name}: the next client waits longer by"] = (
            f"{late[2]:.1f} ms (median of 5; {late[0]:.1f} to {late[4]:.1f}; the answer takes {whole:.0f} ms)")


@check
def together(s, figures):
    """Several clients at a time get the answers that each would get alone."""
    texts = ["Who are you?", "Tell me a joke.", "Hello!", "What is 2 + 3?", "My name is Bertha."]
    alone = [s.ask(t).choices[0].message.content for t in texts]

    async def all_at_once():
        client = openai.AsyncOpenAI(base_url=s.url + "/v1", api_key="none", max_retries=0)

        async def one(text):
            out = ""
            async for c in await client.chat.completions.create(
                    model=MODEL, messages=[{"role": "user", "content": text}], temperature=0, stream=True):
                out += c.choices[0].delta.content or ""
            return out
        return await asyncio.gather(*(one(t) for t in texts))
    same(asyncio.run(all_at_once()), alone)


@check
def cost(s, figures):
    """What HTTP, JSON and the queue add to the engine's own time."""
    def rate(seconds, call):
        n, begin = 0, time.monotonic()
        while time.monotonic() - begin < seconds:
            call()
            n += 1
        return n / (time.monotonic() - begin)
    c = http.client.HTTPConnection("127.0.0.1", s.port)

    def get(method, path, body=None):
        c.request(method, path, body, {"Content-Type": "application/json"})
        r = c.getresponse()
        r.read()
        return r.status
    figures["GET /health, one connection"] = f"{rate(1, lambda: get('GET', '/health')):.0f} requests/s"
    refusal = b'{"messages":[{"role":"user","content":"Hello!"}],"n":2}'
    chat = "/v1/chat/completions"
    figures["a refused completion, one connection"] = f"{rate(1, lambda: get('POST', chat, refusal)):.0f} requests/s"
    one = b'{"messages":[{"role":"user","content":"Hello!"}],"max_tokens":1,"temperature":0}'
    figures["a completion of one token, one connection"] = f"{rate(2, lambda: get('POST', chat, one)):.0f} requests/s"


@check
def nothing_logged(s, figures):
    if SECRET in s.log.read_text():
        raise AssertionError(f"{s.log} holds what was asked")


def queue_full(sotto):
    s = Serve(sotto, "--queue", "1")
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        def one(client):
            try:
                client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "Tell me a story."}],
                                               temperature=0, max_tokens=60)
                return 200
            except openai.RateLimitError as e:
                same(e.code, "queue_full", "code")
                return 429 if int(e.response.headers["retry-after"]) >= 1 else "no Retry-After"
        codes = list(pool.map(lambda _: one(s.client), range(6)))
        if set(codes) != {200, 429} or codes.count(200) < 2:
            raise AssertionError(f"got {codes}")
        patient = openai.OpenAI(base_url=s.url + "/v1", api_key="none", max_retries=20)
        same(list(pool.map(lambda _: one(patient), range(6))), [200] * 6, "clients that come back")
    return s.stop()


def ending(sotto, figures):
    """SIGTERM in the middle of a stream: the answer ends with what it has."""
    s = Serve(sotto, "--sessions", "1")  # seeds
    pieces = []
    for c in s.ask("Tell me a story.", stream=True, **s.long()):
        pieces.append(c)
        if len(pieces) == 5:
            begin = time.monotonic()
            s.process.send_signal(signal.SIGTERM)
    same(pieces[-1].choices[0].finish_reason, "length", "finish_reason")
    if len(pieces) > 30:
        raise AssertionError(f"{len(pieces)} chunks came after the signal")
    same(s.process.wait(10), 0, "exit code")
    figures["SIGTERM while streaming: ended after"] = f"{(time.monotonic() - begin) * 1000:.0f} ms"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--sotto", default=ROOT / "bin/sotto")
    options = p.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "serve.log").unlink(missing_ok=True)
    figures, failed = {}, 0
    s = Serve(options.sotto)
    steps = [(f.__name__, lambda f=f: f(s, figures)) for f in CHECKS]
    steps += [("ends on SIGINT", lambda: same(s.stop()[0], 0, "exit code")),
              ("queue_full", lambda: queue_full(options.sotto)),
              ("ends on SIGTERM while streaming", lambda: ending(options.sotto, figures))]
    for name, step in steps:
        begin = time.monotonic()
        try:
            step()
            print(f"ok    {name} ({time.monotonic() - begin:.1f} s)", flush=True)
        except Exception as e:  # noqa: BLE001 # whatever it is, the other checks go on
            failed += 1
            print(f"FAIL  {name}: {type(e).__name__}: {e}", flush=True)
    print(f"\nopenai {openai.__version__}")
    for k, v in figures.items():
        print(f"  {k}: {v}")
    (OUT / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")
    sys.exit(1 if failed else 0)


try:
    main()
finally:
    for process in RUNNING:
        if process.poll() is None:
            process.kill()
