"""What a runner's program needs to speak lines of JSON with draftproof (tools/docs/runners.md).

A program makes a Lines before it imports its engine (stray prints of an engine's go to stderr from
then on), loads its model, and hands functions over:

    lines = Lines()
    import engine
    lines.serve(facts, capabilities, complete)   # returns when draftproof has closed the input

complete(request) returns a dictionary with the fields of a transcript that speak of a completion,
token_ids and end first. It raises Refused for a parameter that the engine has no words for; any
other exception is a failure of the engine at this request.
"""

import hashlib
import json
import math
import os
import random
import sys

PROTOCOL = "draftproof/runner/1"


class Refused(Exception):
    def __init__(self, field, message):
        super().__init__(message)
        self.field = field


class Request:
    """A request's line, with what transcripts leave out at its default."""

    DEFAULTS = {
        "top_k": 0,
        "top_p": 1.0,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "frequency_penalty": 0.0,
        "presence_penalty": 0.0,
        "penalty_last_n": None,
        "logit_bias": [],
        "allowed_ids": None,
        "bad_words": [],
        "min_tokens": 0,
        "end_tokens": [],
        "grammar_mask": None,
        "logprob_count": -1,
        "ignores_end": True,
        "stop_token_ids": [],
        "grammar": "",
        "adapter": "",
        "is_streamed": False,
        "uses_prefix_cache": True,
    }

    def __init__(self, line):
        self.prompt = line.get("prompt_token_ids", [])
        self.prompt_text = line.get("prompt_text", "")
        # Without a seed of the client's the coins are to be others at each request.
        self.seed = line.get("seed", random.SystemRandom().getrandbits(31))
        sampling = dict(line["sampling"])
        self.temperature = number(sampling.pop("temperature"))
        self.max_tokens = sampling.pop("max_tokens")
        for name, default in self.DEFAULTS.items():
            value = sampling.pop(name, default)
            setattr(self, name, number(value) if isinstance(default, float) else value)
        if sampling:
            name = next(iter(sampling))
            raise Refused(name, "is no field that this program knows")
        if not self.prompt:
            raise Refused("prompt_token_ids", "is empty: this program takes token ids")

    @property
    def is_greedy(self):
        return self.temperature == 0

    def refuse_unless_off(self, *names):
        for name in names:
            if getattr(self, name) != self.DEFAULTS[name]:
                raise Refused(name, "has no counterpart in this engine")

    def refuse_other_end_tokens(self, end_tokens):
        """min_tokens holds back the engine's own end tokens, whatever a request calls so."""
        if self.min_tokens and sorted(self.end_tokens) != sorted(end_tokens):
            raise Refused("end_tokens", f"are {sorted(end_tokens)} in this model")


def number(value):
    """Numbers of transcripts: infinities are texts."""
    return float(value) if isinstance(value, str) else value


def json_number(value):
    value = float(value)
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def logprob_entry(token, logprob, kind, top=None):
    """One entry of 'logprobs': `top` is (id, logprob) pairs."""
    entry = {"id": int(token), "logprob": json_number(logprob), "kind": kind}
    if top is not None:
        entry["top"] = [{"id": int(i), "logprob": json_number(value)} for i, value in top]
    return entry


def hash_of(path):
    """SHA-256 of a file, or of a folder's files by name."""
    digest = hashlib.sha256()
    paths = [path]
    if os.path.isdir(path):
        paths = sorted(os.path.join(path, name) for name in os.listdir(path))
    for each in paths:
        if not os.path.isfile(each):
            continue
        if len(paths) > 1:
            digest.update(os.path.basename(each).encode() + b"\0")
        with open(each, "rb") as stream:
            for block in iter(lambda: stream.read(1 << 20), b""):
                digest.update(block)
    return digest.hexdigest()


def require(path, option):
    if path and not os.path.exists(path):
        sys.exit(f"{option}: there is no {path}")
    return path


class Lines:
    def __init__(self):
        self.output = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        sys.stdout = sys.stderr

    def write(self, value):
        self.output.write(json.dumps(value, ensure_ascii=False) + "\n")
        self.output.flush()

    def serve(self, facts, capabilities, complete, **others):
        """others: score(tokens, count) -> 'logprobs', tokenize(text), detokenize(ids)."""
        told = dict(capabilities)
        told["tells_facts"] = callable(facts)
        told["can_score"] = "score" in others
        told["can_tokenize"] = "tokenize" in others
        ask = facts if callable(facts) else lambda: facts
        self.write({"runner": PROTOCOL, "facts": ask(), "capabilities": told})
        for text in sys.stdin:
            line = json.loads(text)
            answer = {"id": line.pop("id")}
            try:
                answer.update(self.answer(line, ask, complete, others))
            except Refused as error:
                answer["error"] = {"kind": "refused", "field": error.field, "message": str(error)}
            except Exception as error:  # the engine's, whatever it is: draftproof judges it
                message = " ".join(f"{type(error).__name__}: {error}".split())
                answer["error"] = {"kind": "failed", "message": message[:1000]}
            self.write(answer)

    @staticmethod
    def answer(line, facts, complete, others):
        if "facts" in line:
            return {"facts": facts()}
        for name in ("score", "tokenize", "detokenize"):
            if name in line and name not in others:
                raise Refused(name, "this program cannot")
        if "score" in line:
            return {"logprobs": others["score"](line["score"], line["logprob_count"])}
        if "tokenize" in line:
            return {"token_ids": others["tokenize"](line["tokenize"])}
        if "detokenize" in line:
            return {"text": others["detokenize"](line["detokenize"])}
        return complete(Request(line))
