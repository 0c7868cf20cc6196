// Setting grid: lists of sampling parameters -> the settings of a matrix, each with an id that is a
// function of the setting alone ("t0.7-k8"): the same setting has the same id in every run, so that
// shards and stores agree, whatever else was listed.
//
// Under temperature 0 filters keep the maximum (reference/shaping.h, line 4), so greedy settings
// that differ in filters only are one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "properties/audits/matrix.h"

namespace draftproof::tools::audit {

/// Each list has at least one value; the settings are their Cartesian product.
struct SettingLists {
  std::vector<double> temperature = {1.0};
  std::vector<std::int64_t> top_k = {0};
  std::vector<double> top_p = {1.0};
  std::vector<double> min_p = {0.0};
  std::vector<double> repetition = {1.0}, frequency = {0.0}, presence = {0.0};
  std::vector<int> max_tokens = {16};
  std::vector<std::vector<reference::Token>> stop_token_ids = {{}};
  std::vector<std::vector<reference::Token>> allowed_ids = {{}};  ///< empty: all
  std::vector<bool> ignores_end = {true};
  std::vector<int> logprob_count = {-1};
  std::vector<std::string> grammar = {""};
  std::vector<std::string> adapter = {""};
  std::vector<bool> is_streamed = {false};
  std::vector<bool> uses_prefix_cache = {true};
  std::vector<int> concurrency = {};  ///< empty: one, concurrency_default, not in the id
  int concurrency_default = 8;
  std::optional<int> draft_length = {};  ///< a label: no request carries it
  bool has_variations = false;           ///< settings that vary one thing of the last one each
  std::optional<reference::Token> stop_candidate = {};  ///< of the variation that stops
};

/// Never two with one id. Throws Error(kInput) at `place` for an empty list.
std::vector<properties::audits::Setting> settings_of(const SettingLists& lists,
                                                     const std::string& place);

/// "t0.7-k8-p0.9"; what is neutral (and 16 tokens) is left out, the temperature never.
std::string setting_id(const properties::SamplingRequest& request, std::optional<int> concurrency,
                       std::optional<int> draft_length);

}  // namespace draftproof::tools::audit
