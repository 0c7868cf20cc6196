#!/usr/bin/env python3
"""Runs `draftproof audit` over the speculative options of the engines that fetch.sh installs, each
with every setting below, and gathers all verdicts as one Markdown table: what
tools/docs/engine_matrix.md holds. Sizes, seed and budget are constants, fixed before the first run.

    tools/engines/matrix.py [--stop-after MINUTES] [--only TEXT] [--draftproof PROGRAM]
    tools/engines/matrix.py --table            # of what has run, to stdout

An audit whose report lies below build/engines/matrix is not run again, so a cut run goes on.
"""

import argparse
import glob
import json
import math
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "build/engines/matrix"
LIMIT_S = 60

# Of each audit: option x pass. 1e-8 x 100 audits at most: 1e-6 for the matrix.
RUN = """
[prompts]
builtin = []
ids = [[3, 4, 5, 6, 3, 4, 5, 6, 3, 4], [7], [9, 8, 9, 8, 9, 8], [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]]
[run]
seed = 20261201
battery = "smoke"
trials = 128
concurrency = {concurrency}
effect_tv = 0.1
false_alarms = 1e-8
time_limit = "{limit}s"
"""
# The doctor would stop there: a prompt that is repeated fails once, which is what is to be seen.
UNEXAMINED = {"draft_model, prefix caching"}
PASSES = {
    "plain": "temperature = [0, 0.7, 1]",
    "top_k": "temperature = 1\ntop_k = 4",
    "top_p": "temperature = 1\ntop_p = 0.8",
    "min_p": "temperature = 1\nmin_p = 0.1",
}


def drafts(**more):
    near = OUT / "toys/xllamacpp/attention-near.gguf"
    options = {"spec-type": "draft-simple", "spec-draft-model": near}
    return options | {name.replace("_", "-"): value for name, value in more.items()}


def sampled(**more):
    return drafts(spec_draft_sampling="probabilistic", **more)


def ngram(kind):
    return {f"spec-ngram-{kind}-size-n": 1, f"spec-ngram-{kind}-size-m": 3}


# Option: what the drafting arm has beside the other's, and whether a seed promises the same tokens.
# N-gram kinds look at one token: at their defaults they never draft on prompts this short.
XLLAMACPP = {
    "draft-simple greedy, n_max 1": (drafts(spec_draft_n_max=1), True),
    "draft-simple greedy, n_max 3": (drafts(spec_draft_n_max=3), True),
    "draft-simple greedy, n_max 8": (drafts(spec_draft_n_max=8), True),
    "draft-simple greedy, p_min 0.5": (drafts(spec_draft_p_min=0.5), True),
    "draft-simple probabilistic, n_max 1": (sampled(spec_draft_n_max=1), False),
    "draft-simple probabilistic, n_max 3": (sampled(spec_draft_n_max=3), False),
    "draft-simple probabilistic, n_max 8": (sampled(spec_draft_n_max=8), False),
    "draft-simple probabilistic, p_min 0.2": (sampled(spec_draft_p_min=0.2), False),
    "ngram-simple": ({"spec-type": "ngram-simple"} | ngram("simple"), True),
    "ngram-map-k": ({"spec-type": "ngram-map-k"} | ngram("map-k"), True),
    "ngram-map-k4v": ({"spec-type": "ngram-map-k4v"} | ngram("map-k4v"), True),
    "ngram-mod": (
        {
            "spec-type": "ngram-mod",
            "spec-ngram-mod-n-match": 1,
            "spec-ngram-mod-n-min": 1,
            "spec-ngram-mod-n-max": 3,
        },
        True,
    ),
    "ngram-cache": ({"spec-type": "ngram-cache"}, True),
    "draft-simple + ngram-simple": (
        drafts() | ngram("simple") | {"spec-type": "draft-simple,ngram-simple"},
        True,
    ),
    "synth-len 2, undeclared": (drafts(spec_synth_len=2), False),
    "synth-len 2, declared": (drafts(spec_synth_len=2), False),
    "synth-rates 0.9,0.8,0.7, undeclared": (drafts(spec_synth_rates="0.9,0.8,0.7"), False),
}
OPENVINO_DRAFT = {"draft-model": OUT / "toys/openvino-genai/attention-near.gguf"}
OPENVINO = {
    "prompt_lookup": ({"prompt-lookup": ""}, True),
    "draft_model, 1 token": (OPENVINO_DRAFT | {"num-assistant-tokens": 1}, False),
    "draft_model, 3 tokens": (OPENVINO_DRAFT, False),
    "draft_model, 8 tokens": (OPENVINO_DRAFT | {"num-assistant-tokens": 8}, False),
    "draft_model, threshold 0.3": (
        OPENVINO_DRAFT | {"assistant-confidence-threshold": 0.3},
        False,
    ),
    "draft_model, prefix caching": (OPENVINO_DRAFT | {"prefix-caching": "on"}, False),
}
ENGINES = {
    "xllamacpp": {
        "options": XLLAMACPP,
        "common": {"exact": "", "threads": 1, "parallel": 4, "ctx-size": 2048},
        "toy": ["--dtype", "f32"],
        "concurrency": 4,
    },
    "openvino-genai": {
        "options": OPENVINO,
        "common": {"threads": 1, "prefix-caching": "off"},
        "toy": ["--dtype", "f16", "--tokenizer", "gpt2"],
        "concurrency": 1,
    },
}


def arm(name, engine, options):
    """One of draftproof's own runners, where it is a program, is the one of this tree."""
    if engine != "openvino-genai":
        lines = [f'{key} = "{value}"' for key, value in options.items()]
        return "\n".join(
            [f"[arm.{name}]", f'runner = "{engine}"', f"[arm.{name}.runner_options]", *lines, ""]
        )
    python = ROOT / "build/engines/openvino-genai/venv/bin/python3"
    program = ROOT / "tools/engines/runners/openvino_genai_lines.py"
    flags = " ".join(f"--{key} {value}".strip() for key, value in options.items())
    return f'[arm.{name}]\nrunner = "{python} {program} {flags}"\n'


def configuration(engine, option, sampling):
    told = ENGINES[engine]
    toy = OUT / "toys" / engine / "attention"
    common = {"model": f"{toy}.gguf"} | told["common"]
    more, same_seed = told["options"][option]
    speculation = f"[speculation]\npromises_same_seed = {str(same_seed).lower()}\n"
    if option.endswith(", declared"):
        speculation += 'declared_lossy = "synthetic acceptance"\n'
    return (
        arm("baseline", engine, common)
        + arm("speculative", engine, common | more)
        + f'[target]\ntoy = "{toy}.toy.json"\n{speculation}'
        + f"[sampling]\n{sampling}\nmax_tokens = 12"
        + RUN.format(concurrency=told["concurrency"], limit=LIMIT_S)
    )


def folder_of(engine, option, name):
    plain = "".join(letter if letter.isalnum() else "_" for letter in option)
    return OUT / engine / plain / name


def report_of(folder):
    """Of an audit that came to its end, with the seconds that all of it took. A run that ended by an
    error (exit code 3 and above) has none, whatever lies there of earlier ones."""
    found = sorted(glob.glob(str(folder / "2*/report.json")))
    file = folder / "ended.json"
    if not found or not file.exists():
        return None
    ended = json.loads(file.read_text())
    report = json.loads(Path(found[-1]).read_text(encoding="utf-8"))
    report["wall"] = ended["seconds"]
    return None if ended["exit"] not in (0, 1, 2) or report["is_interrupted"] else report


def all_audits(only):
    """Every option without filters, then every other one with all of them, then the rest: a cut run
    has met each option and each filter."""
    options = [(engine, option) for engine, told in ENGINES.items() for option in told["options"]]
    plain, *filters = PASSES
    order = [(option, plain) for option in options]
    order += [(option, name) for option in options[::2] + options[1::2] for name in filters]
    for (engine, option), name in order:
        if only in f"{engine} {option} {name}":
            yield engine, option, name, PASSES[name]


def audit(arguments, engine, option, name, sampling):
    folder = folder_of(engine, option, name)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "draftproof.toml"
    file.write_text(configuration(engine, option, sampling), encoding="utf-8")
    command = [arguments.draftproof, "audit", file, "--report-dir", folder, "--report", "json,md"]
    # What the doctor proves holds for all passes of an option.
    command += ["--progress", "none", "--color", "never"]
    is_examined = name == "plain" and option not in UNEXAMINED
    command += [] if is_examined else ["--skip-doctor"]
    begin = time.monotonic()
    with open(folder / "stdout.txt", "w", encoding="utf-8") as stdout:
        code = subprocess.run(command, stdout=stdout, stderr=subprocess.STDOUT, cwd=ROOT).returncode
    seconds = time.monotonic() - begin
    (folder / "ended.json").write_text(json.dumps({"exit": code, "seconds": seconds}))
    print(f"{engine} {option}, {name}: exit {code}, {seconds:.0f} s", flush=True)


def write_toys(arguments):
    for engine, told in ENGINES.items():
        folder = OUT / "toys" / engine
        if not (folder / "attention-near.gguf").exists():
            folder.mkdir(parents=True, exist_ok=True)
            command = [arguments.draftproof, "toy", "write", "attention", "--out", folder]
            subprocess.run(command + ["--draft", "near"] + told["toy"], check=True)


SHOWN = {
    "next_token_law": "next token",
    "joint_law": "joint",
    "two_sample_law": "two samples",
    "declared_distance": "distance",
    "greedy_margin_parity": "greedy",
    "same_seed_identity": "same seed",
    "seed_repeats": "repeats",
    "support_of_filters": "support",
    "well_formed": "well formed",
    "counter_identities": "counters",
    "draft_efficiency": "efficiency",
    "baseline_law": "baseline",
    "baseline_against_itself": "A/A",
}


def cell(check):
    """Verdict, trials, log10 of the e-value, total variation with bounds or what it would see."""
    word = {"upheld": "ok", "violated": "**violated**", "inconclusive": "open"}[check["verdict"]]
    label = f" {check['label']}" if check["label"] else ""
    text = f"{word}{label} {check['trials']}"
    if check["log_e_value"] is not None:
        infinite = check["log_e_value"] in ("inf", math.inf)
        text += "; e ∞" if infinite else f"; e {float(check['log_e_value']) / math.log(10):.1f}"
    effect = check["effect"]
    if effect and effect["total_variation"] is not None:
        low, high = effect["total_variation_bounds"] or (math.nan, math.nan)
        text += f"; {effect['total_variation']:.2f} ({low:.2f}–{high:.2f})"
    return text


def rows_of(option, reports):
    """A row a setting: the first has the seconds of its audit, which all others of it share."""
    for report in reports:
        settings = {}
        for check in report["checks"]:
            settings.setdefault(check["setting"], {})[check["property"]] = check
        unknown = {one for checks in settings.values() for one in checks} - set(SHOWN)
        if unknown:
            sys.exit(f"no column for {', '.join(sorted(unknown))}: add one to SHOWN")
        for place, (setting, checks) in enumerate(sorted(settings.items())):
            seconds = f"{report['wall']:.0f}" if place == 0 else "″"
            yield [option, setting, seconds] + [
                cell(checks[one]) if one in checks else "" for one in SHOWN
            ]


def one_line(text):
    """Without the folders of whoever built the engine."""
    return re.sub(r"/\S*/(\w+\.cpp)", r"\1", " ".join(str(text).split()))


def print_violated(option, reports):
    """An audit at a time: where it falls, the first witness, the least requests that were found."""
    fallen = {}
    for report in reports:
        for check in report["checks"]:
            if check["verdict"] == "violated":
                fallen.setdefault(check["property"], []).append(check)
    for name, checks in fallen.items():
        where = "; ".join(f"`{one['setting']}` {cell(one)}" for one in checks)
        print(f"* {option}, {name}: {where}.")
        witness = {key: one_line(text) for key, text in checks[0]["witness"].items()}
        told = f"Expected: {witness['expected']}. Observed: {witness['observed']}."
        print(f"  {witness['let']}. {told}")
        for check in checks:
            notes = [" ".join(note.split()) for note in check["notes"]]
            least = [note for note in notes if note.startswith(("reduced in", "request"))]
            if least and "nothing could be left out" not in least[0]:
                least = [re.sub(r"^request( \d+ of \d+, together)?: ", "", note) for note in least]
                print(f"  `{check['setting']}` {'; '.join(dict.fromkeys(least))}.")


def print_table():
    audits = list(all_audits(""))
    reports = [report for report in (report_of(folder_of(*one[:3])) for one in audits) if report]
    kinds = Counter(check["verdict"] for report in reports for check in report["checks"])
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    print(f"{kinds.total()} verdicts ({told}) of {len(reports)} of {len(audits)} audits")
    for engine, told in ENGINES.items():
        found, missing = {}, {}
        for option in told["options"]:
            for name in PASSES:
                folder = folder_of(engine, option, name)
                report = report_of(folder)
                if report:
                    found.setdefault(option, []).append(report)
                    continue
                ended = folder / "ended.json"
                why = f" (exit {json.loads(ended.read_text())['exit']})" if ended.exists() else ""
                missing.setdefault(option, []).append(name + why)
        print(f"\n## Verdicts: {engine}\n")
        print("| option | setting | s | " + " | ".join(SHOWN.values()) + " |")
        print("|---" * (3 + len(SHOWN)) + "|")
        for option, reports in found.items():
            for row in rows_of(option, reports):
                print("| " + " | ".join(row) + " |")
        left = "; ".join(f"{option} ({', '.join(names)})" for option, names in missing.items())
        print(f"\nNot reached: {left or 'none'}.\n\nViolated:\n")
        for option, reports in found.items():
            print_violated(option, reports)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", action="store_true", help="print what has run, run nothing")
    parser.add_argument("--only", default="", help="audits whose name has this text")
    parser.add_argument("--stop-after", type=float, default=math.inf, help="minutes")
    parser.add_argument("--draftproof", default=str(ROOT / "build/draftproof"))
    arguments = parser.parse_args()
    if arguments.table:
        print_table()
        return 0
    end = time.monotonic() + 60 * arguments.stop_after
    write_toys(arguments)
    for one in all_audits(arguments.only):
        if report_of(folder_of(*one[:3])) is not None:
            continue
        if time.monotonic() > end:
            print(f"stopped before {', '.join(one[:3])}")
            return 1
        audit(arguments, *one)
    left = [one[:3] for one in all_audits(arguments.only) if report_of(folder_of(*one[:3])) is None]
    for one in left:
        print(f"no report of {', '.join(one)}: see stdout.txt in {folder_of(*one)}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
