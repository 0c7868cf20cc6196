// Presets: the shaping order of inference engines as data. Engines disagree on where the
// temperature stands, on sequential or joint top-k/top-p, and on ties, so that "the same sampling
// parameters" name different target laws; a preset says which one is meant.
#include <algorithm>

#include "reference/error.h"
#include "reference/shaping.h"

namespace draftproof::reference {
namespace {

std::vector<Preset> all_presets() {
  using enum ShapingStep;
  constexpr TieRule kAll = TieRule::kKeepAll;
  constexpr TieRule kLowest = TieRule::kLowestIdsFirst;
  return {
      {"default",
       "this project: temperature, top-k, top-p, min-p in sequence",
       {kTemperature, kTopK, kTopP, kMinP},
       kAll,
       kLowest,
       0},
      {"default-keep-ties",
       "this project: as default, ties at the top-p boundary stay as well",
       {kTemperature, kTopK, kTopP, kMinP},
       kAll,
       kAll,
       0},
      {"vllm",
       "vLLM V1 sampler (2026-08), sorted path: ties at the k-th logit stay",
       {kTemperature, kMinP, kTopK, kTopP},
       kAll,
       kLowest,
       1e-5},
      {"vllm-exactly-k",
       "vLLM V1 sampler (2026-08), path that keeps exactly k, lowest ids first",
       {kTemperature, kMinP, kTopK, kTopP},
       kLowest,
       kLowest,
       1e-5},
      {"sglang",
       "SGLang (2026-07), no speculation and no min-p: joint top-k and top-p by pivot",
       {kTemperature, kJointTopKTopP},
       kAll,
       kAll,
       1e-6},
      {"sglang-min-p",
       "SGLang (2026-07), no speculation, min-p requested: in sequence by pivot",
       {kTemperature, kTopK, kTopP, kMinP},
       kAll,
       kAll,
       1e-6},
      {"sglang-spec",
       "SGLang (2026-07), speculative path: in sequence by pivot, min-p absent",
       {kTemperature, kTopK, kTopP},
       kAll,
       kAll,
       1e-6},
      {"transformers",
       "Hugging Face Transformers (2026-02), logits warpers of generate()",
       {kTemperature, kTopK, kTopP, kMinP},
       kAll,
       kLowest,
       0},
      {"llama.cpp",
       "llama.cpp (2026-04), default sampler chain: the temperature comes last",
       {kTopK, kTopP, kMinP, kTemperature},
       kLowest,
       kLowest,
       0},
      {"tensorrt-llm",
       "TensorRT-LLM one-model speculative sampler (2026): logits below the k-th go",
       {kTemperature, kTopK, kTopP},
       kAll,
       kLowest,
       0},
  };
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> list = all_presets();
  return list;
}

const Preset& preset(std::string_view name) {
  const std::vector<Preset>& list = presets();
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const Preset& entry) { return entry.name == name; });
  if (found != list.end()) return *found;
  std::string names;
  for (const Preset& entry : list) names += (names.empty() ? "" : ", ") + entry.name;
  throw Error(ErrorKind::kInput, "unknown preset '" + std::string(name) + "'; known: " + names);
}

}  // namespace draftproof::reference
