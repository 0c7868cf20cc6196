"""openvino-genai as an arm that speaks lines of JSON (tools/docs/runners.md).

    python3 openvino_genai_lines.py --model FILE.gguf|FOLDER [--draft-model ...|--prompt-lookup]

Both arms run on the engine's paged attention, as its speculation does. A draft model has to be a
folder of OpenVINO's format: a GGUF is turned into one by the engine itself, in a folder that is
gone at the end. Hints for float32 rows and caches are given unless --default-precision.
"""

import argparse
import os
import shutil
import sys
import tempfile

from draftproof_lines import Lines, hash_of, require

TOP_K_OFF = (1 << 64) - 1


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--draft-model", help="drafts by a model")
    parser.add_argument("--prompt-lookup", action="store_true", help="drafts from the prompt")
    parser.add_argument("--num-assistant-tokens", type=int, default=3)
    parser.add_argument("--assistant-confidence-threshold", type=float, default=0.0)
    parser.add_argument("--max-ngram-size", type=int, default=2)
    parser.add_argument("--prefix-caching", choices=["on", "off", "default"], default="default")
    parser.add_argument("--device", default="CPU")
    parser.add_argument("--threads", type=int, help="the engine's choice; 1 where cores are shared")
    parser.add_argument("--default-precision", action="store_true")
    options = parser.parse_args()
    if options.draft_model and options.prompt_lookup:
        parser.error("--draft-model and --prompt-lookup are two ways to draft: choose one")
    require(options.model, "--model")
    require(options.draft_model, "--draft-model")
    return options


def draft_folder(genai, path, device, hints, work):
    """`path`, or a folder that the engine made of it."""
    if os.path.isdir(path):
        return path
    copy = shutil.copy(path, work)
    genai.LLMPipeline(copy, device, enable_save_ov_model=True, **hints)
    return work


def pipeline_of(genai, options, work):
    hints = {}
    if not options.default_precision:
        hints = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32"}
    if options.threads:
        hints["INFERENCE_NUM_THREADS"] = options.threads
    arguments = dict(hints)
    if options.draft_model:
        folder = draft_folder(genai, options.draft_model, options.device, hints, work)
        arguments["draft_model"] = genai.draft_model(folder, options.device, **hints)
    if options.prompt_lookup:
        arguments["prompt_lookup"] = True
    if options.prefix_caching != "default":
        scheduler = genai.SchedulerConfig()
        scheduler.enable_prefix_caching = options.prefix_caching == "on"
        arguments["scheduler_config"] = scheduler
    elif not options.draft_model and not options.prompt_lookup:
        arguments["ATTENTION_BACKEND"] = "PA"  # as the arms that draft
    return genai.LLMPipeline(options.model, options.device, **arguments)


def config_of(genai, request, options, is_speculative):
    request.refuse_unless_off(
        "logit_bias", "allowed_ids", "bad_words", "grammar_mask", "adapter", "penalty_last_n"
    )
    config = genai.GenerationConfig()
    config.apply_chat_template = False
    config.max_new_tokens = request.max_tokens
    config.min_new_tokens = request.min_tokens
    config.ignore_eos = request.ignores_end
    config.do_sample = not request.is_greedy
    config.temperature = request.temperature if config.do_sample else 1.0
    config.top_k = request.top_k if request.top_k > 0 else TOP_K_OFF
    config.top_p = request.top_p
    config.min_p = request.min_p
    config.repetition_penalty = request.repetition_penalty
    config.frequency_penalty = request.frequency_penalty
    config.presence_penalty = request.presence_penalty
    config.rng_seed = request.seed
    config.num_return_sequences = 1
    config.stop_token_ids = set(request.stop_token_ids)
    if request.grammar:
        config.structured_output_config = genai.StructuredOutputConfig(regex=request.grammar)
    if is_speculative:
        # The engine takes one of the two: a count, or a threshold at which drafting ends.
        if options.assistant_confidence_threshold > 0:
            config.assistant_confidence_threshold = options.assistant_confidence_threshold
        else:
            config.num_assistant_tokens = options.num_assistant_tokens
    if options.prompt_lookup:
        config.max_ngram_size = options.max_ngram_size
    return config


def draft_count_of(options):
    """Drafted tokens a verification, at most; 0 where that is not certain: a threshold ends drafts
    where the draft model likes, and no count is sent with it."""
    if options.draft_model and options.assistant_confidence_threshold > 0:
        return 0
    return options.num_assistant_tokens if options.draft_model or options.prompt_lookup else 0


def counters_of(result, is_speculative):
    """What the engine counts itself, where it does: of drafts from the prompt it does not."""
    metrics = result.extended_perf_metrics
    if metrics is None or not hasattr(metrics, "get_num_draft_tokens"):
        emitted = result.perf_metrics.get_num_generated_tokens()
        return None if is_speculative else {"drafted": 0, "accepted": 0, "emitted": emitted}
    return {
        "drafted": metrics.get_num_draft_tokens(),
        "accepted": metrics.get_num_accepted_tokens(),
        "emitted": metrics.get_num_generated_tokens(),
    }


def main():
    options = parse()
    lines = Lines()
    try:
        import numpy
        import openvino
        import openvino_genai as genai
    except ImportError as error:
        sys.exit(f"{error}; install it: tools/engines/fetch.sh openvino-genai")
    is_speculative = bool(options.draft_model or options.prompt_lookup)
    work = tempfile.mkdtemp(prefix="draftproof-openvino-")
    try:
        pipeline = pipeline_of(genai, options, work)
        facts = {
            "engine": "openvino-genai",
            "version": genai.__version__,
            "model": options.model,
            "model_sha256": hash_of(options.model),
            "vocab_size": len(pipeline.get_tokenizer().get_vocab()),
            "is_speculative": is_speculative,
            "method": "draft_model" if options.draft_model else "prompt_lookup",
            "draft_count": draft_count_of(options),
        }
        if options.draft_model:
            facts["draft_sha256"] = hash_of(options.draft_model)
        if not is_speculative:
            facts["method"] = ""
        # tokens_of_drafts: tokens less steps, which moves where drafts are accepted.
        names = ["num_draft_tokens", "num_accepted_tokens", "tokens_of_drafts"]
        totals = dict.fromkeys(names, 0)

        def tell():
            return dict(facts, counters=dict(totals))

        def complete(request):
            config = config_of(genai, request, options, is_speculative)
            prompt = openvino.Tensor(numpy.array([request.prompt], dtype=numpy.int64))
            result = pipeline.generate(prompt, config)
            tokens = [int(token) for token in result.tokens[0]]
            word = result.finish_reasons[0].name.lower() if result.finish_reasons else ""
            answer = {
                "token_ids": tokens,
                "end": "stop" if word == "stop" else "length",
                "finish_reason": word,
            }
            steps = len(result.perf_metrics.raw_metrics.m_new_token_times)
            totals["tokens_of_drafts"] += max(0, len(tokens) - steps)
            counters = counters_of(result, is_speculative)
            if counters:
                answer["counters"] = counters
                totals["num_draft_tokens"] += counters["drafted"]
                totals["num_accepted_tokens"] += counters["accepted"]
            return answer

        capabilities = {
            "takes_seed": True,
            "reports_counters": not options.prompt_lookup,
            "logprobs": "none",
        }
        lines.serve(tell, capabilities, complete)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
