// Contracts: the data, one entry an engine and path. Orders, ties and defaults were read in the
// engines' sources at the versions that `source` names; what is known from use only says so.
// Presets (presets.cpp) are the part of a contract that kernels know, and every one of them is here
// as well.
#include <algorithm>

#include "reference/contract.h"
#include "reference/error.h"

namespace draftproof::reference {
namespace {

using enum AdjustmentStep;
using P = Parameter;

/// `base` as another engine path runs it.
Preset altered(std::string_view base, std::string name, std::vector<ShapingStep> steps,
               double greedy_below) {
  Preset changed = preset(base);
  changed.name = std::move(name);
  changed.steps = std::move(steps);
  changed.greedy_below = greedy_below;
  return changed;
}

Contract ours(std::string_view name) {
  Contract contract;
  contract.name = name;
  contract.engine = preset(name).engine;
  contract.source = "tools/docs/numerics.md";
  contract.adjustments.steps = {kGrammarMask, kAllowedIds, kBadWords,
                                kMinTokens,   kLogitBias,  kPenalties};
  contract.adjustments.penalties.has_window = true;
  contract.preset = preset(name);
  return contract;
}

Contract vllm_v1(std::string_view name) {
  Contract contract;
  contract.name = name;
  contract.engine = preset(name).engine + ", no speculation";
  contract.source = "vLLM V1 sampler and csrc/sampler.cu, 2026-08";
  contract.adjustments.steps = {kGrammarMask, kAllowedIds, kBadWords,
                                kMinTokens,   kLogitBias,  kPenalties};
  contract.preset = preset(name);
  contract.lacks = {P::kLastN};
  contract.not_modelled = {"thinking budget", "custom logits processors",
                           "CPU path of the repetition penalty (times 1/r)"};
  return contract;
}

Contract vllm_v1_spec() {
  using enum ShapingStep;
  Contract contract = vllm_v1("vllm");
  contract.name = "vllm-spec";
  contract.engine = "vLLM V1 rejection sampler: rows of a draft";
  contract.source = "vLLM V1 rejection sampler, 2026-08";
  contract.adjustments.steps = {kGrammarMask, kPenalties, kAllowedIds, kBadWords, kMinTokens};
  contract.preset = altered("vllm", "vllm-spec", {kTemperature, kTopK, kTopP}, 1e-5);
  contract.refuses = {P::kMinP, P::kLogitBias};
  contract.bonus_row = "vllm";
  return contract;
}

Contract vllm_v2(std::string name, const std::string& path) {
  using enum ShapingStep;
  Contract contract = vllm_v1("vllm");
  contract.name = std::move(name);
  contract.engine = "vLLM V2 model runner, " + path;
  contract.source = "vLLM V2 Triton kernels (penalties, temperature), 2026-08";
  contract.adjustments.steps = {kGrammarMask, kAllowedIds, kLogitBias,
                                kMinTokens,   kPenalties,  kBadWords};
  contract.adjustments.penalties.repetition = RepetitionForm::kReciprocal;
  contract.preset = altered("vllm", "vllm-v2", {kTemperature, kMinP, kTopK, kTopP}, 0);
  contract.not_modelled = {"thinking budget", "custom logits processors"};
  return contract;
}

Contract sglang(std::string_view name) {
  Contract contract;
  contract.name = name;
  contract.engine = preset(name).engine;
  contract.source = "SGLang sampler and penaltylib with overlap scheduling, 2026-07";
  contract.adjustments.steps = {kMinTokens, kPenalties, kGrammarMask, kLogitBias};
  contract.adjustments.penalties = {PenaltyOrder::kSumThenRepetition,
                                    RepetitionForm::kQuotient,
                                    FrequencyForm::kSummed,
                                    Counted::kOutput,
                                    Counted::kOutput,
                                    DraftCount::kPerRow,
                                    -1,
                                    false};
  contract.preset = preset(name);
  if (name == "sglang") contract.with_min_p = preset("sglang-min-p");
  contract.lacks = {P::kLastN, P::kAllowedIds, P::kBadWords};
  contract.not_modelled = {"custom logit processors",
                           "greedy requests of a mixed batch run as top-k 1",
                           "repetition before the sum without overlap scheduling",
                           "defaults of the model's generation_config"};
  return contract;
}

Contract sglang_spec() {
  Contract contract = sglang("sglang-spec");
  contract.source = "SGLang EAGLE verification (\"relaxed\" penalties), 2026-07";
  contract.adjustments.steps = {kMinTokens, kPenalties, kLogitBias, kGrammarMask};
  contract.adjustments.penalties.drafts = DraftCount::kFrozen;
  contract.adjustments.min_tokens_drafts = DraftCount::kFrozen;
  contract.lacks.push_back(P::kMinP);
  contract.not_modelled.emplace_back("thresholds that accept more than the target's law");
  return contract;
}

Contract transformers() {
  Contract contract;
  contract.name = "transformers";
  contract.engine = preset("transformers").engine;
  contract.source = "transformers generation/logits_process.py, 2026-02; defaults not confirmed";
  contract.adjustments.steps = {kLogitBias, kPenalties,  kBadWords,
                                kMinTokens, kAllowedIds, kGrammarMask};
  contract.adjustments.bad_words_see = Counted::kPromptAndOutput;
  contract.preset = preset("transformers");
  contract.defaults.top_k = 50;
  contract.refuses = {P::kFrequency, P::kPresence};
  contract.lacks = {P::kLastN};
  contract.not_modelled = {"typical",
                           "epsilon and eta cut-offs",
                           "top-h",
                           "no-repeat n-grams",
                           "encoder repetition",
                           "forced tokens",
                           "watermark",
                           "temperature 0 is an error: greedy is do_sample=False"};
  return contract;
}

Contract llama_cpp() {
  Contract contract;
  contract.name = "llama.cpp";
  contract.engine = preset("llama.cpp").engine;
  contract.source = "llama.cpp src/llama-sampling.cpp and common/sampling.cpp, 2026-04";
  contract.adjustments.steps = {kLogitBias, kPenalties};
  contract.adjustments.penalties = {PenaltyOrder::kRepetitionThenSum,
                                    RepetitionForm::kQuotient,
                                    FrequencyForm::kProduct,
                                    Counted::kPromptAndOutput,
                                    Counted::kPromptAndOutput,
                                    DraftCount::kPerRow,
                                    64,
                                    true};
  contract.preset = preset("llama.cpp");
  contract.defaults = {0.8, 40, 0.95, 0.05};
  contract.grammar = GrammarUse::kDrawThenCheck;
  contract.lacks = {P::kAllowedIds, P::kBadWords, P::kMinTokens};
  contract.not_modelled = {"DRY",
                           "top-n-sigma",
                           "typical",
                           "XTC",
                           "mirostat",
                           "dynamic temperature",
                           "another order of samplers"};
  return contract;
}

Contract tensorrt_llm() {
  Contract contract;
  contract.name = "tensorrt-llm";
  contract.engine = preset("tensorrt-llm").engine;
  contract.source = "TensorRT-LLM one-model speculation, 2026-08 (NVIDIA/TensorRT-LLM#17701)";
  contract.adjustments.steps = {kGrammarMask};
  contract.preset = preset("tensorrt-llm");
  contract.refuses = {P::kRepetition, P::kFrequency, P::kPresence};
  contract.lacks = {P::kMinP,     P::kLastN,      P::kLogitBias,
                    P::kBadWords, P::kAllowedIds, P::kMinTokens};
  contract.not_modelled = {
      "penalties by opt-in", "another library for top-k and top-p (FlashInfer)",
      "the C++ decoder's order: temperature before penalties", "defaults, which were not read"};
  return contract;
}

std::vector<Contract> all_contracts() {
  return {ours("default"),
          ours("default-keep-ties"),
          vllm_v1("vllm"),
          vllm_v1("vllm-exactly-k"),
          vllm_v1_spec(),
          vllm_v2("vllm-v2", "no speculation"),
          vllm_v2("vllm-v2-spec", "rows of a draft"),
          sglang("sglang"),
          sglang("sglang-min-p"),
          sglang_spec(),
          transformers(),
          llama_cpp(),
          tensorrt_llm()};
}

}  // namespace

const std::vector<Contract>& contracts() {
  static const std::vector<Contract> list = all_contracts();
  return list;
}

const Contract& contract(std::string_view name) {
  const std::vector<Contract>& list = contracts();
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const Contract& entry) { return entry.name == name; });
  if (found != list.end()) return *found;
  std::string names;
  for (const Contract& entry : list) names += (names.empty() ? "" : ", ") + entry.name;
  throw Error(ErrorKind::kInput, "unknown preset '" + std::string(name) + "'; known: " + names);
}

}  // namespace draftproof::reference
