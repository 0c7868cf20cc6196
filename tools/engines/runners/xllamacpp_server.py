"""llama.cpp's own HTTP server, out of the xllamacpp wheel, as one arm.

    python3 xllamacpp_server.py --model FILE.gguf [--port N] [options]

Options are those of llama-server, as far as the wheel's parameters have them (--help lists both),
and --set PATH=VALUE for every other field of CommonParams (speculative.ngram_simple.size_n=2). A
name that this version of the wheel does not know ends the program: nothing is dropped silently.

When requests are taken, one line comes on stdout: "listening on http://HOST:PORT"; the engine's own
log is on stderr. SIGTERM and SIGINT end it with exit code 0.
"""

import hashlib
import json
import os
import signal
import sys
import threading

# llama-server's names (and the short ones that people type) -> fields of CommonParams.
OPTIONS = {
    "--model": "model.path",
    "--alias": "model_alias",
    "--host": "hostnames",
    "--port": "port",
    "--ctx-size": "n_ctx",
    "--parallel": "n_parallel",
    "--batch-size": "n_batch",
    "--ubatch-size": "n_ubatch",
    "--threads": "cpuparams.n_threads",
    "--threads-http": "n_threads_http",
    "--n-gpu-layers": "n_gpu_layers",
    "--cache-type-k": "cache_type_k",
    "--cache-type-v": "cache_type_v",
    "--flash-attn": "flash_attn_type",
    "--kv-unified": "kv_unified",
    "--cache-prompt": "cache_prompt",
    "--cache-reuse": "n_cache_reuse",
    "--cache-ram": "cache_ram_mib",
    "--ctx-checkpoints": "n_ctx_checkpoints",
    "--context-shift": "ctx_shift",
    "--cont-batching": "cont_batching",
    "--swa-full": "swa_full",
    "--warmup": "warmup",
    "--jinja": "use_jinja",
    "--chat-template": "chat_template",
    "--api-key": "api_keys",
    "--verbosity": "verbosity",
    "--seed": "sampling.seed",
    "--backend-sampling": "sampling.backend_sampling",
    "--spec-type": "speculative.types",
    "--spec-draft-model": "speculative.draft.mparams.path",
    "--spec-draft-n-max": "speculative.draft.n_max",
    "--spec-draft-n-min": "speculative.draft.n_min",
    "--spec-draft-p-min": "speculative.draft.p_min",
    "--spec-draft-p-split": "speculative.draft.p_split",
    "--spec-draft-sampling": "speculative.draft.probabilistic",
    "--spec-draft-backend-sampling": "speculative.draft.backend_sampling",
    "--spec-draft-type-k": "speculative.draft.cache_type_k",
    "--spec-draft-type-v": "speculative.draft.cache_type_v",
    "--spec-draft-ngl": "speculative.draft.n_gpu_layers",
    "--spec-ngram-simple-size-n": "speculative.ngram_simple.size_n",
    "--spec-ngram-simple-size-m": "speculative.ngram_simple.size_m",
    "--spec-ngram-simple-min-hits": "speculative.ngram_simple.min_hits",
    "--spec-ngram-map-k-size-n": "speculative.ngram_map_k.size_n",
    "--spec-ngram-map-k-size-m": "speculative.ngram_map_k.size_m",
    "--spec-ngram-map-k-min-hits": "speculative.ngram_map_k.min_hits",
    "--spec-ngram-map-k4v-size-n": "speculative.ngram_map_k4v.size_n",
    "--spec-ngram-map-k4v-size-m": "speculative.ngram_map_k4v.size_m",
    "--spec-ngram-map-k4v-min-hits": "speculative.ngram_map_k4v.min_hits",
    "--spec-ngram-mod-n-match": "speculative.ngram_mod.n_match",
    "--spec-ngram-mod-n-min": "speculative.ngram_mod.n_min",
    "--spec-ngram-mod-n-max": "speculative.ngram_mod.n_max",
    "--spec-ngram-cache-static": "speculative.ngram_cache.lookup_cache_static",
    "--spec-ngram-cache-dynamic": "speculative.ngram_cache.lookup_cache_dynamic",
    "--spec-synth-len": "speculative.synth_len",
    "--spec-synth-rates": "speculative.synth_rates",
}
SHORT = {
    "-m": "--model",
    "-a": "--alias",
    "-c": "--ctx-size",
    "-np": "--parallel",
    "-b": "--batch-size",
    "-ub": "--ubatch-size",
    "-t": "--threads",
    "-ngl": "--n-gpu-layers",
    "-ctk": "--cache-type-k",
    "-ctv": "--cache-type-v",
    "-fa": "--flash-attn",
    "-md": "--spec-draft-model",
    "--model-draft": "--spec-draft-model",
    "-ctkd": "--spec-draft-type-k",
    "-ctvd": "--spec-draft-type-v",
}
# What rounds least: for laws that are compared with a float64 reference.
EXACT = {
    "cache_type_k": "f32",
    "cache_type_v": "f32",
    "speculative.draft.cache_type_k": "f32",
    "speculative.draft.cache_type_v": "f32",
    "flash_attn_type": "off",
}
# A server for audits says what it is: counters, slots.
DEFAULTS = {"endpoint_metrics": "true", "endpoint_slots": "true", "hostnames": "127.0.0.1"}
TRUE, FALSE = ("1", "on", "true", "yes"), ("0", "off", "false", "no")


def fail(message):
    print(f"xllamacpp_server: {message}", file=sys.stderr)
    sys.exit(3)


def load():
    try:
        import xllamacpp
    except ImportError as error:
        fail(f"{error}; install it: tools/engines/fetch.sh xllamacpp, or pip install xllamacpp")
    return xllamacpp


def nearest(name, names):
    import difflib

    found = difflib.get_close_matches(name, names, 3)
    return f"; nearest: {', '.join(found)}" if found else ""


def owner_of(parameters, path):
    """The object that has the last name of `path`, and that name."""
    *folders, name = path.split(".")
    owner = parameters
    for folder in folders + [name]:
        names = [known for known in dir(owner) if not known.startswith("_")]
        if folder not in names:
            fail(f"no parameter {path} in this version{nearest(folder, names)}")
        if folder is not name:
            owner = getattr(owner, folder)
    return owner, name


def enum_of(members, text, path):
    """A member by the end of its name: "f32", "off", "draft-simple"."""
    wanted = text.lower().replace("-", "_")
    wanted = {"on": "enabled", "off": "disabled"}.get(wanted, wanted)
    fits = [key for key in members if key.lower().endswith("_" + wanted)]
    exact = [key for key in fits if len(key) == min(map(len, fits))] if fits else []
    if len(exact) != 1:
        known = ", ".join(key.split("_TYPE_")[-1].lower().replace("_", "-") for key in members)
        fail(f"{path}: '{text}' is none of {known}")
    return members[exact[0]]


def value_of(xllamacpp, old, text, path):
    """`text` as the type of the field's present value."""
    if path == "speculative.types":
        members = xllamacpp.common_speculative_type.__members__
        return [enum_of(members, part, path) for part in text.split(",")]
    if path == "speculative.draft.probabilistic" and text in ("greedy", "probabilistic"):
        return text == "probabilistic"
    try:
        if isinstance(old, bool):
            if text.lower() not in TRUE + FALSE:
                raise ValueError
            return text.lower() in TRUE
        if hasattr(type(old), "__members__"):
            return enum_of(type(old).__members__, text, path)
        if isinstance(old, list):
            number = path == "speculative.synth_rates"
            return [float(part) if number else part for part in text.split(",")]
        if isinstance(old, set):
            return {text}
        return type(old)(text)
    except ValueError:
        fail(f"{path}: '{text}' is no {type(old).__name__}")


def assign(xllamacpp, parameters, path, text):
    owner, name = owner_of(parameters, path)
    setattr(owner, name, value_of(xllamacpp, getattr(owner, name), text, path))


def parse(arguments):
    """Pairs (path, text), in the order in which they are set."""
    pairs = list(DEFAULTS.items())
    rest = list(arguments)
    while rest:
        name = rest.pop(0)
        text = None
        if name.startswith("--") and "=" in name and not name.startswith("--set"):
            name, text = name.split("=", 1)
        name = SHORT.get(name, name)
        if name in ("-h", "--help"):
            print(__doc__)
            print("\n".join(f"  {key:34}{path}" for key, path in OPTIONS.items()))
            print("  --exact                           f32 caches, no flash attention")
            sys.exit(0)
        if name == "--exact":
            pairs += EXACT.items()
            continue
        if name.startswith("--no-") and "--" + name[5:] in OPTIONS and text is None:
            pairs.append((OPTIONS["--" + name[5:]], "off"))
            continue
        if text is None:
            if not rest:
                fail(f"{name} needs a value")
            text = rest.pop(0)
        if name == "--set":
            if "=" not in text:
                fail(f"--set takes PATH=VALUE, not '{text}'")
            pairs.append(tuple(text.split("=", 1)))
        elif name in OPTIONS:
            pairs.append((OPTIONS[name], text))
        else:
            fail(f"unknown option {name}{nearest(name, OPTIONS)}; --set PATH=VALUE sets any field")
    return pairs


def require_file(path, option):
    if not path:
        return None
    if not os.path.isfile(path):
        fail(f"{option}: no file {path}")
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        for block in iter(lambda: stream.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def main():
    pairs = parse(sys.argv[1:])
    xllamacpp = load()
    parameters = xllamacpp.CommonParams()
    for path, text in pairs:
        assign(xllamacpp, parameters, path, text)
    if not parameters.model.path:
        fail("--model FILE.gguf is missing")
    told = {"xllamacpp": xllamacpp.__version__}
    told["model_sha256"] = require_file(parameters.model.path, "--model")
    told["draft_sha256"] = require_file(parameters.speculative.draft.mparams.path, "-md")
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    try:
        server = xllamacpp.Server(parameters)
    except Exception as error:  # the wheel throws what the engine threw
        fail(f"llama.cpp does not start: {error}")
    print(json.dumps(told), file=sys.stderr, flush=True)
    print(f"listening on {server.listening_address}", flush=True)
    ended.wait()
    # The engine's threads may be deep in a request: nothing of theirs outlives the process.
    os._exit(0)


if __name__ == "__main__":
    main()
