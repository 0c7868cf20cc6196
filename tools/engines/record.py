#!/usr/bin/env python3
"""Records transcripts of an engine where draftproof is not: asks two runners of it the same
requests (tools/docs/runners.md) and writes a line of JSON an answer, for `draftproof judge FILE`.

    tools/engines/record.py --baseline 'COMMAND' --speculative 'COMMAND' --prompt 3,4,5 \\
        [--temperature 0,1] [--top-k 0] [--top-p 1] [--max-tokens 6] [--trials 100] > run.jsonl

Each arm's seeds are its own, as two samples of one law need; with --shared-seeds both get the same,
for engines that promise the same tokens with and without drafts. Greedy settings have two trials;
the first trials of each case are asked once more, which shows whether a seed repeats.
"""

import argparse
import hashlib
import json
import subprocess
import sys


def numbers(text, kind):
    return [kind(part) for part in text.split(",")]


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--baseline", required=True)
    parser.add_argument("--speculative", required=True)
    parser.add_argument("--prompt", action="append", required=True, help="ids; may come again")
    parser.add_argument("--temperature", default="0,1")
    parser.add_argument("--top-k", type=int, default=0)
    parser.add_argument("--top-p", type=float, default=1.0)
    parser.add_argument("--max-tokens", type=int, default=6)
    parser.add_argument("--trials", type=int, default=100, help="of a prompt where it is sampled")
    parser.add_argument("--repeats", type=int, default=8, help="trials that are asked once more")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--logprobs", type=int, default=-1, help="candidates a token")
    parser.add_argument("--shared-seeds", action="store_true")
    parser.add_argument("--no-steps", action="store_true", help="leave single steps out")
    return parser.parse_args()


class Program:
    def __init__(self, command, name):
        self.process = subprocess.Popen(
            command, shell=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{name}: ended with exit code {self.process.wait()} before its first line")
        self.hello = json.loads(line)
        self.name, self.count = name, 0

    def ask(self, line):
        self.count += 1
        self.process.stdin.write(json.dumps(dict(line, id=self.count)) + "\n")
        self.process.stdin.flush()
        text = self.process.stdout.readline()
        if not text:
            sys.exit(f"{self.name}: ended with exit code {self.process.wait()} at {line}")
        answer = json.loads(text)
        if answer.get("id") != self.count:
            sys.exit(f"{self.name}: no answer to request {self.count}: {text}")
        error = answer.pop("error", None)
        if error and error["kind"] == "refused":
            sys.exit(f"{self.name}: {error['field']}: {error['message']}")
        if error:
            return {"token_ids": [], "end": "failed", "failure": error["message"]}
        answer.pop("id")
        return answer

    def end(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            sys.exit(f"{self.name}: ended with exit code {self.process.returncode}")


def seed_of(*address):
    """31 bits, a function of the address alone."""
    digest = hashlib.sha256(json.dumps(address).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def main():
    options = parse()
    arms = {
        "baseline": Program(options.baseline, "baseline"),
        "speculative": Program(options.speculative, "speculative"),
    }
    for name, arm in arms.items():
        print(f"{name}: {json.dumps(arm.hello['facts'])}", file=sys.stderr)
    for temperature in numbers(options.temperature, float):
        for number, prompt in enumerate(options.prompt):
            sampling = {
                "temperature": temperature,
                "top_k": options.top_k,
                "top_p": options.top_p,
                "min_p": 0.0,
                "max_tokens": options.max_tokens,
            }
            if options.logprobs >= 0:
                sampling["logprob_count"] = options.logprobs
            case = f"t{temperature:g}/prompt{number}" + ("/shared" if options.shared_seeds else "")
            trials = 2 if temperature == 0 else options.trials
            order = [(trial, 0) for trial in range(trials)]
            order += [(trial, 1) for trial in range(min(trials, options.repeats))]
            for (trial, repeat), name in ((each, name) for each in order for name in arms):
                owner = "" if options.shared_seeds else name
                line = {
                    "prompt_token_ids": numbers(prompt, int),
                    "seed": seed_of(options.seed, case, owner, trial),
                    "sampling": sampling,
                }
                answer = arms[name].ask(line)
                if options.no_steps:
                    answer.pop("steps", None)
                key = {"schema": "draftproof/transcript/1", "arm": name, "case": case}
                key["trial"] = trial
                if repeat:
                    key["repeat"] = repeat
                print(json.dumps({**key, **line, **answer}), flush=True)
    for name, arm in arms.items():
        last = arm.ask({"facts": True}) if arm.hello["capabilities"].get("tells_facts") else {}
        print(f"{name}: {json.dumps(last.get('facts', {}))}", file=sys.stderr)
        arm.end()


if __name__ == "__main__":
    main()
