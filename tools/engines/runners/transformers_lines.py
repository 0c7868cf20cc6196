"""Hugging Face transformers as an arm that speaks lines of JSON (tools/docs/runners.md).

    python3 transformers_lines.py --model FOLDER
        [--assistant-model FOLDER | --prompt-lookup-num-tokens N | --assistant-early-exit LAYER]

float32 on the CPU. What the library keeps of one generation for the next (the number of assistant
tokens under a heuristic schedule, the confidence threshold) is set anew before each request, so
that trials are independent. Drafts and what was accepted of them are counted where the library asks
its candidate generator.
"""

import argparse
import sys

from draftproof_lines import Lines, hash_of, logprob_entry, require


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--assistant-model")
    parser.add_argument("--prompt-lookup-num-tokens", type=int)
    parser.add_argument("--max-matching-ngram-size", type=int, default=2)
    parser.add_argument("--assistant-early-exit", type=int)
    parser.add_argument("--num-assistant-tokens", type=int, default=3)
    parser.add_argument("--num-assistant-tokens-schedule", default="constant")
    parser.add_argument("--assistant-confidence-threshold", type=float, default=0.0)
    parser.add_argument("--assistant-ensemble-weight", type=float, help="gives the law up")
    parser.add_argument("--attention", choices=["eager", "sdpa"], help="the library's choice")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    ways = ["assistant_model", "prompt_lookup_num_tokens", "assistant_early_exit"]
    options.method = [way for way in ways if getattr(options, way) is not None]
    if len(options.method) > 1:
        parser.error("several ways to draft: choose one of --" + ", --".join(options.method))
    require(options.model, "--model")
    require(options.assistant_model, "--assistant-model")
    return options


def draft_count_of(options):
    """Drafted tokens a verification, at most; 0 where that is not certain: heuristic schedules
    lengthen the next draft by two whenever all of one was accepted."""
    if not options.method:
        return 0
    if options.prompt_lookup_num_tokens:
        return options.prompt_lookup_num_tokens
    constant = options.num_assistant_tokens_schedule == "constant"
    return options.num_assistant_tokens if constant else 0


class Drafts:
    """What a candidate generator handed over, and what was kept of it, step by step."""

    def __init__(self, model):
        self.steps = []
        make = model._get_candidate_generator

        def watched(*arguments, **named):
            generator = make(*arguments, **named)
            draft, judge = generator.get_candidates, generator.update_candidate_strategy

            def get_candidates(input_ids, **more):
                ids, logits = draft(input_ids, **more)
                tokens = ids[0, input_ids.shape[1] :].tolist()
                self.steps.append({"draft_ids": tokens, "accepted": 0})
                return ids, logits

            def update_candidate_strategy(input_ids, scores, num_matches):
                self.steps[-1]["accepted"] = int(num_matches)
                return judge(input_ids, scores, num_matches)

            generator.get_candidates = get_candidates
            generator.update_candidate_strategy = update_candidate_strategy
            return generator

        model._get_candidate_generator = watched

    def take(self):
        steps, self.steps = self.steps, []
        return steps


class Arm:
    def __init__(self, options):
        import torch
        import transformers

        transformers.logging.set_verbosity_error()
        torch.set_num_threads(options.threads)
        self.options, self.torch, self.transformers = options, torch, transformers
        self.model = self.load(options.model)
        self.assistant = None
        if options.assistant_model:
            self.assistant = self.load(options.assistant_model)
        own = self.model.generation_config.eos_token_id
        self.end_tokens = [] if own is None else own if isinstance(own, list) else [own]
        # Requests say everything: nothing is to be filled in from the model's own defaults.
        for model in (self.model, self.assistant):
            if model is not None:
                model.generation_config = transformers.GenerationConfig()
        self.drafts = Drafts(self.model) if options.method else None
        self.totals = {"drafted": 0, "accepted": 0, "steps": 0}

    def load(self, folder):
        more = {}
        if self.options.attention:
            more["attn_implementation"] = self.options.attention
        model = self.transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=self.torch.float32, local_files_only=True, **more
        )
        return model.eval()

    def facts(self):
        options = self.options
        told = {
            "engine": "transformers",
            "version": f"{self.transformers.__version__}, torch {self.torch.__version__}",
            "model": options.model,
            "model_sha256": hash_of(options.model),
            "vocab_size": self.model.config.vocab_size,
            "context_max": getattr(self.model.config, "max_position_embeddings", None),
            "is_speculative": bool(options.method),
            "method": options.method[0] if options.method else "",
            "draft_count": draft_count_of(options),
            "counters": dict(self.totals),
        }
        if options.assistant_model:
            told["assistant_sha256"] = hash_of(options.assistant_model)
        if options.assistant_ensemble_weight is not None:
            told["lossy_mode"] = f"assistant_ensemble_weight {options.assistant_ensemble_weight}"
        return told

    def reset_assistant(self):
        """What an earlier request may have changed, of whichever model drafts."""
        options = self.options
        config = (self.assistant or self.model).generation_config
        config.num_assistant_tokens = options.num_assistant_tokens
        config.num_assistant_tokens_schedule = options.num_assistant_tokens_schedule
        config.assistant_confidence_threshold = options.assistant_confidence_threshold

    def config_of(self, request):
        request.refuse_unless_off(
            "frequency_penalty", "presence_penalty", "penalty_last_n", "grammar", "grammar_mask"
        )
        request.refuse_unless_off("adapter")
        options = self.options
        config = {
            "max_new_tokens": request.max_tokens,
            "do_sample": not request.is_greedy,
            "num_beams": 1,
            "use_cache": True,
            "pad_token_id": 0,
            "repetition_penalty": request.repetition_penalty,
            "return_dict_in_generate": True,
            "output_logits": request.logprob_count >= 0,
        }
        if config["do_sample"]:
            config["temperature"] = float(request.temperature)
            config["top_k"] = request.top_k if request.top_k > 0 else 0
            config["top_p"] = float(request.top_p)
            config["min_p"] = float(request.min_p) if request.min_p > 0 else None
        ends = list(request.stop_token_ids)
        if not request.ignores_end:
            ends += self.end_tokens
        config["eos_token_id"] = ends or None
        if request.min_tokens:
            request.refuse_other_end_tokens(ends)
            config["min_new_tokens"] = request.min_tokens
        if request.bad_words:
            config["bad_words_ids"] = request.bad_words
        if request.logit_bias:
            pairs = [[[each["id"]], float(each["bias"])] for each in request.logit_bias]
            config["sequence_bias"] = pairs
        if request.allowed_ids is not None:
            allowed = set(request.allowed_ids)
            every = range(self.model.config.vocab_size)
            config["suppress_tokens"] = [i for i in every if i not in allowed]
        if options.prompt_lookup_num_tokens:
            config["prompt_lookup_num_tokens"] = options.prompt_lookup_num_tokens
            config["max_matching_ngram_size"] = options.max_matching_ngram_size
        if options.assistant_early_exit is not None:
            config["assistant_early_exit"] = options.assistant_early_exit
        if options.assistant_ensemble_weight is not None:
            config["assistant_ensemble_weight"] = options.assistant_ensemble_weight
        return self.transformers.GenerationConfig(**config)

    def complete(self, request):
        torch = self.torch
        config = self.config_of(request)
        self.reset_assistant()
        if self.drafts:
            self.drafts.take()
        torch.manual_seed(request.seed % (1 << 63))
        prompt = torch.tensor([request.prompt])
        more = {"assistant_model": self.assistant} if self.assistant is not None else {}
        with torch.no_grad():
            result = self.model.generate(
                prompt, attention_mask=torch.ones_like(prompt), generation_config=config, **more
            )
        tokens = result.sequences[0, prompt.shape[1] :].tolist()
        ends = config.eos_token_id or []
        stopped = bool(tokens) and tokens[-1] in ends
        answer = {"token_ids": tokens, "end": "stop" if stopped else "length"}
        answer["finish_reason"] = answer["end"]
        steps = self.drafts.take() if self.drafts else []
        counters = {"drafted": 0, "accepted": 0, "emitted": len(tokens)}
        if self.drafts:
            answer["steps"] = steps
            counters["drafted"] = sum(len(step["draft_ids"]) for step in steps)
            counters["accepted"] = sum(step["accepted"] for step in steps)
            self.totals["steps"] += len(steps)
        answer["counters"] = counters
        self.totals["drafted"] += counters["drafted"]
        self.totals["accepted"] += counters["accepted"]
        if request.logprob_count >= 0:
            rows = [row[0] for row in result.logits[: len(tokens)]]
            answer["logprobs"] = self.entries(tokens, rows, request.logprob_count)
        return answer

    def entries(self, tokens, rows, count):
        """Entries of raw rows of logits, in float64 from float32."""
        torch = self.torch
        list_of = []
        for token, row in zip(tokens, rows):
            logprobs = torch.log_softmax(row.to(torch.float64), dim=-1)
            top = None
            if count > 0:
                values, ids = torch.topk(logprobs, min(count, logprobs.shape[-1]))
                top = zip(ids.tolist(), values.tolist())
            list_of.append(logprob_entry(token, logprobs[token], "raw", top))
        return list_of

    def score(self, tokens, count):
        torch = self.torch
        with torch.no_grad():
            rows = self.model(torch.tensor([tokens])).logits[0]
        # The first token has no row before it.
        first = {"id": tokens[0], "logprob": 0.0, "kind": "raw", "top": []}
        return [first] + self.entries(tokens[1:], rows[:-1], max(1, count))


def main():
    options = parse()
    lines = Lines()
    try:
        arm = Arm(options)
    except ImportError as error:
        sys.exit(f"{error}; install it: tools/engines/fetch.sh transformers")
    capabilities = {
        "takes_seed": True,
        "reports_counters": True,
        "logprobs": "raw",
    }
    lines.serve(arm.facts, capabilities, arm.complete, score=arm.score)


if __name__ == "__main__":
    main()
