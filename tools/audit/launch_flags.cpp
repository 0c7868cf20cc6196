// Launch flags. Sources: llama.cpp's own messages in build 11549 (xllamacpp 2026.10.11549) and its
// server of 2025-02-20 (c392e5094d); vLLM 0.32.0 vllm/engine/arg_utils.py and
// vllm/config/speculative.py; SGLang's server arguments (0.5.23); TGI's launcher.
#include "tools/audit/launch_flags.h"

namespace draftproof::tools::audit {
namespace {

using enum FlagState;

/// In llama.cpp of both snapshots.
std::vector<LaunchFlag> common_of_llama() {
  return {
      {{"-md", "--model-draft"}},
      {{"-ctkd"}, kPresent, "", "type of the draft's cache: it moves acceptance, not the law"},
      {{"-ctvd"}, kPresent, "", "type of the draft's cache: it moves acceptance, not the law"},
      {{"-ngld"}},
      {{"-devd"}},
  };
}

EngineSnapshot old_llama() {
  EngineSnapshot snapshot{"llama.cpp", "0", "its server of 2025-02-20 (c392e5094d)",
                          "it prints an error and does not start", common_of_llama()};
  const std::vector<LaunchFlag> more = {
      {{"--draft-max", "--draft", "--draft-n"}},
      {{"--draft-min", "--draft-n-min"}},
      {{"--draft-p-min"}, kPresent, "", "a short draft is no fault: acceptance looks better"},
  };
  snapshot.flags.insert(snapshot.flags.end(), more.begin(), more.end());
  return snapshot;
}

EngineSnapshot present_llama() {
  EngineSnapshot snapshot{"llama.cpp", "11434", "builds 11434 and 11549, their own messages",
                          "it prints an error and does not start", common_of_llama()};
  const std::string ngram_sizes =
      "prompts shorter than the size never match: at the defaults (12, 24) no draft is made on "
      "short prompts, and nothing says so";
  const std::vector<LaunchFlag> more = {
      {{"--draft-max", "--draft", "--draft-n"},
       kGone,
       "--spec-draft-n-max, or --spec-ngram-mod-n-max"},
      {{"--draft-min", "--draft-n-min"}, kGone, "--spec-draft-n-min, or --spec-ngram-mod-n-min"},
      {{"--spec-ngram-size-n"},
       kGone,
       "--spec-ngram-simple-size-n, --spec-ngram-map-k-size-n, --spec-ngram-map-k4v-size-n or "
       "--spec-ngram-mod-n-match"},
      {{"--spec-ngram-size-m"},
       kGone,
       "--spec-ngram-simple-size-m, --spec-ngram-map-k-size-m or --spec-ngram-map-k4v-size-m"},
      {{"--spec-ngram-min-hits"},
       kGone,
       "--spec-ngram-simple-min-hits, --spec-ngram-map-k-min-hits or "
       "--spec-ngram-map-k4v-min-hits"},
      {{"--spec-type"}},
      {{"--spec-default"}, kPresent, "", "", false, "", false},
      {{"--spec-draft-model"}},
      {{"--spec-draft-hf"}},
      {{"--spec-draft-n-max"}},
      {{"--spec-draft-n-min"}},
      {{"--draft-p-min", "--spec-draft-p-min"},
       kPresent,
       "",
       "a short draft is no fault: acceptance looks better"},
      {{"--draft-p-split", "--spec-draft-p-split"}},
      {{"--spec-draft-sampling"},
       kPresent,
       "",
       "greedy drafts keep a seed's tokens with and without speculation; probabilistic ones keep "
       "the law alone"},
      {{"--spec-draft-ngl"}},
      {{"--spec-draft-device"}},
      {{"--spec-draft-threads"}},
      {{"--spec-draft-type-k"}},
      {{"--spec-draft-type-v"}},
      {{"--spec-draft-backend-sampling"}, kPresent, "", "", false, "", false},
      {{"--spec-ngram-simple-size-n", "--spec-ngram-map-k-size-n", "--spec-ngram-map-k4v-size-n",
        "--spec-ngram-mod-n-match"},
       kPresent,
       "",
       ngram_sizes},
      {{"--spec-ngram-simple-size-m", "--spec-ngram-map-k-size-m", "--spec-ngram-map-k4v-size-m"}},
      {{"--spec-ngram-simple-min-hits", "--spec-ngram-map-k-min-hits",
        "--spec-ngram-map-k4v-min-hits"}},
      {{"--spec-ngram-mod-n-min", "--spec-ngram-mod-n-max"}},
      {{"--spec-synth-len", "--spec-synth-rates"},
       kPresent,
       "",
       "synthetic acceptance, for load tests: what comes out is not the target's",
       true},
      {{"--lookup-cache-static", "--lookup-cache-dynamic"}},
  };
  snapshot.flags.insert(snapshot.flags.end(), more.begin(), more.end());
  return snapshot;
}

EngineSnapshot vllm() {
  const std::string config = "--speculative-config '{\"";
  return {"vllm",
          "0.32.0",
          "vllm/engine/arg_utils.py, vllm/config/speculative.py of 0.32.0",
          "its parser refuses the option, and the server does not start",
          {
              {{"--speculative-config", "-sc"}},
              {{"--spec-method"}},
              {{"--spec-model"}},
              {{"--spec-tokens"}},
              {{"--speculative-model"}, kInEngine, config + "model\": ...}', or --spec-model"},
              {{"--num-speculative-tokens"},
               kInEngine,
               config + "num_speculative_tokens\": ...}', or --spec-tokens"},
              {{"--speculative-draft-tensor-parallel-size"},
               kInEngine,
               config + "draft_tensor_parallel_size\": ...}'"},
              {{"--speculative-max-model-len"}, kInEngine, config + "max_model_len\": ...}'"},
              {{"--ngram-prompt-lookup-max"}, kInEngine, config + "prompt_lookup_max\": ...}'"},
              {{"--ngram-prompt-lookup-min"}, kInEngine, config + "prompt_lookup_min\": ...}'"},
              {{"--speculative-model-quantization"}, kInEngine, config + "quantization\": ...}'"},
              {{"--spec-decoding-acceptance-method"},
               kInEngine,
               config + "rejection_sample_method\": \"standard\"|\"block\"}'; typical acceptance "
                        "is not among them"},
              {{"--logprobs-mode"},
               kPresent,
               "",
               "raw_logprobs are of the model; processed ones of what is drawn"},
          }};
}

EngineSnapshot sglang() {
  return {"sglang",
          "0.5.23",
          "server arguments of one version",
          "",
          {
              {{"--speculative-algorithm"},
               kPresent,
               "",
               "trees and drafts are verified against the target alone (one-hot), unless "
               "--speculative-use-rejection-sampling is given with one branch"},
              {{"--speculative-draft-model-path"}},
              {{"--speculative-num-steps"}},
              {{"--speculative-eagle-topk"}},
              {{"--speculative-num-draft-tokens"}},
              {{"--speculative-token-map"}},
              {{"--speculative-accept-threshold-single"},
               kPresent,
               "",
               "below 1.0 a drafted token is kept for its target probability alone",
               true,
               "1"},
              {{"--speculative-accept-threshold-acc"},
               kPresent,
               "",
               "below 1.0 drafted tokens are kept too often: min(1, p / threshold)",
               true,
               "1"},
              {{"--speculative-use-rejection-sampling"},
               kPresent,
               "",
               "needs --speculative-eagle-topk 1",
               false,
               "",
               false},
          }};
}

EngineSnapshot tgi() {
  return {"tgi",
          "0",
          "the launcher's --speculate",
          "",
          {
              {{"--speculate"},
               kPresent,
               "",
               "n-gram drafts, or Medusa heads where the model has them: sampled, then matched"},
          }};
}

EngineSnapshot tensorrt_llm() {
  // Only what its configuration file holds was read; of its command line nothing is known here.
  return {"tensorrt-llm", "0", "nothing of its command line", "", {}};
}

}  // namespace

const std::vector<EngineSnapshot>& engine_snapshots() {
  static const std::vector<EngineSnapshot> all = {old_llama(), present_llama(), vllm(),
                                                  sglang(),    tgi(),           tensorrt_llm()};
  return all;
}

}  // namespace draftproof::tools::audit
