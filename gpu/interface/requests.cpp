// Requests: what a user asks for, checked and written as kernels read it.
#include <cmath>
#include <exception>
#include <string_view>

#include "gpu/draftproof_kernels.h"
#include "gpu/launches/checks.h"
#include "gpu/request_parameters.h"

namespace {

using draftproof::reference::Preset;
using draftproof::reference::presets;

constexpr std::uint32_t kVocabSizeMax = 1u << 20;

draftproof_result out_of_range(const char* text) { return {DRAFTPROOF_OUT_OF_RANGE, text}; }

draftproof_result check(const draftproof_sampling& sampling, std::uint32_t vocab_size) {
  if (!(sampling.temperature >= 0))
    return out_of_range("temperature is negative or NaN; give 0 for greedy, or a positive number");
  if (std::isnan(sampling.top_p)) return out_of_range("top_p is NaN; give 1 to switch it off");
  if (std::isnan(sampling.min_p)) return out_of_range("min_p is NaN; give 0 to switch it off");
  if (vocab_size == 0 || vocab_size > kVocabSizeMax)
    return out_of_range("vocab_size must be 1 .. 2^20");
  return draftproof::gpu::launches::kGood;
}

const Preset* find(std::string_view name) {
  for (const Preset& preset : presets())
    if (preset.name == name) return &preset;
  return nullptr;
}

}  // namespace

draftproof_result draftproof_request_init(const draftproof_sampling* sampling,
                                          std::uint32_t vocab_size, draftproof_request* request) {
  if (sampling == nullptr) return {DRAFTPROOF_NULL_POINTER, "sampling is null"};
  if (request == nullptr) return {DRAFTPROOF_NULL_POINTER, "request is null"};
  const draftproof_result checked = check(*sampling, vocab_size);
  if (checked.code != DRAFTPROOF_OK) return checked;
  try {
    const Preset* const preset = find(sampling->preset == nullptr ? "default" : sampling->preset);
    if (preset == nullptr)
      return out_of_range("preset has an unknown name; draftproof_preset_name lists them");
    *request = draftproof::gpu::request_parameters(
        {sampling->temperature, sampling->top_k, sampling->top_p, sampling->min_p}, *preset,
        vocab_size);
    return draftproof::gpu::launches::kGood;
  } catch (const std::exception&) {
    return {DRAFTPROOF_DEVICE, "out of memory"};
  }
}

const char* draftproof_preset_name(std::uint32_t index) {
  try {
    return index < presets().size() ? presets()[index].name.c_str() : nullptr;
  } catch (const std::exception&) {
    return nullptr;
  }
}
