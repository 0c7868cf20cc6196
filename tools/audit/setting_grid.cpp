#include "tools/audit/setting_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tools/audit/config_values.h"

namespace draftproof::tools::audit {
namespace {

using properties::SamplingRequest;
using properties::audits::Setting;

constexpr int kUsualTokens = 16;

/// Six hexadecimal digits of FNV-1a: texts that cannot stand in an id.
std::string digest(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return fmt::format("{:06x}", hash >> 40U);
}

std::string digest(const std::vector<reference::Token>& ids) {
  if (ids.size() == 1) return std::to_string(ids.front());
  return "_" + digest(fmt::format("{}", fmt::join(ids, ",")));
}

/// Letters, digits and '_' of a name, with its digest where something was lost.
std::string tidy(const std::string& name) {
  std::string kept;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') kept += c;
  return kept == name ? kept : kept + "_" + digest(name);
}

std::string number(double value) {
  std::string text = fmt::format("{}", value);
  std::replace(text.begin(), text.end(), '+', 'p');
  return text;
}

class Grid {
 public:
  explicit Grid(const SettingLists& lists) : lists_(lists) {}

  void add(SamplingRequest request, std::optional<int> concurrency) {
    if (request.sampling.temperature == 0) {
      request.sampling.top_k = 0;
      request.sampling.top_p = 1;
      request.sampling.min_p = 0;
    }
    const std::string id = setting_id(request, concurrency, lists_.draft_length);
    if (!ids_.insert(id).second) return;
    settings_.push_back({id, std::move(request), concurrency.value_or(lists_.concurrency_default)});
  }

  std::vector<Setting> take() { return std::move(settings_); }
  const std::vector<Setting>& settings() const { return settings_; }

 private:
  const SettingLists& lists_;
  std::set<std::string> ids_;
  std::vector<Setting> settings_;
};

/// `requests` with each of `values` set by `put`: one factor of the product.
template <typename Values, typename Put>
std::vector<SamplingRequest> times(const std::vector<SamplingRequest>& requests,
                                   const Values& values, const Put& put, const std::string& name,
                                   const std::string& place) {
  if (values.empty()) refuse(place, "'" + name + "' is an empty list: it leaves no setting");
  std::vector<SamplingRequest> product;
  for (const SamplingRequest& request : requests) {
    for (const auto& value : values) {
      product.push_back(request);
      put(product.back(), value);
    }
  }
  return product;
}

std::vector<SamplingRequest> requests_of(const SettingLists& lists, const std::string& place) {
  std::vector<SamplingRequest> all(1);
  const auto factor = [&](const auto& values, const std::string& name, const auto& put) {
    all = times(all, values, put, "sampling." + name, place);
    if (all.size() > 100000) refuse(place, "[sampling] makes more than 100000 settings");
  };
  using R = SamplingRequest;
  factor(lists.temperature, "temperature", [](R& r, double v) { r.sampling.temperature = v; });
  factor(lists.top_k, "top_k", [](R& r, std::int64_t v) { r.sampling.top_k = v; });
  factor(lists.top_p, "top_p", [](R& r, double v) { r.sampling.top_p = v; });
  factor(lists.min_p, "min_p", [](R& r, double v) { r.sampling.min_p = v; });
  factor(lists.repetition, "repetition_penalty",
         [](R& r, double v) { r.adjustments.penalties.repetition = v; });
  factor(lists.frequency, "frequency_penalty",
         [](R& r, double v) { r.adjustments.penalties.frequency = v; });
  factor(lists.presence, "presence_penalty",
         [](R& r, double v) { r.adjustments.penalties.presence = v; });
  factor(lists.max_tokens, "max_tokens", [](R& r, int v) { r.max_tokens = v; });
  factor(lists.stop_token_ids, "stop_token_ids",
         [](R& r, const std::vector<reference::Token>& v) { r.stop_token_ids = v; });
  factor(lists.allowed_ids, "allowed_ids", [](R& r, const std::vector<reference::Token>& v) {
    if (!v.empty()) r.adjustments.allowed_ids = v;
  });
  factor(lists.ignores_end, "ignore_eos", [](R& r, bool v) { r.ignores_end = v; });
  factor(lists.logprob_count, "logprobs", [](R& r, int v) { r.logprob_count = v; });
  factor(lists.grammar, "grammar", [](R& r, const std::string& v) { r.grammar = v; });
  factor(lists.adapter, "adapter", [](R& r, const std::string& v) { r.adapter = v; });
  factor(lists.is_streamed, "stream", [](R& r, bool v) { r.is_streamed = v; });
  factor(lists.uses_prefix_cache, "prefix_cache", [](R& r, bool v) { r.uses_prefix_cache = v; });
  return all;
}

/// One thing at a time away from `base`: where a fault switches on is then a pair of settings.
void add_variations(const SettingLists& lists, const Setting& base, Grid& grid) {
  const auto vary = [&](const auto& change, std::optional<int> concurrency = std::nullopt) {
    SamplingRequest request = base.request;
    change(request);
    grid.add(std::move(request), concurrency);
  };
  using R = SamplingRequest;
  // Caps at and around what one verification emits.
  for (const int cap : {1, 2, 5}) vary([cap](R& r) { r.max_tokens = cap; });
  vary([](R& r) { r.adjustments.penalties.repetition = 1.3; });
  vary([](R& r) { r.adjustments.penalties.presence = 0.5; });
  vary([](R& r) { r.logprob_count = 5; });
  vary([](R& r) { r.is_streamed = true; });
  vary([](R& r) { r.uses_prefix_cache = false; });
  vary([](R& r) { r.ignores_end = false; });
  if (lists.stop_candidate) vary([&](R& r) { r.stop_token_ids = {*lists.stop_candidate}; });
  vary([](R&) {}, 1);
}

}  // namespace

std::string setting_id(const SamplingRequest& request, std::optional<int> concurrency,
                       std::optional<int> draft_length) {
  const reference::Sampling& sampling = request.sampling;
  const reference::Penalties& penalties = request.adjustments.penalties;
  std::string id = "t" + number(sampling.temperature);
  const auto part = [&](bool is_on, const std::string& text) {
    if (is_on) id += "-" + text;
  };
  part(sampling.top_k > 0, "k" + std::to_string(sampling.top_k));
  part(sampling.top_p < 1, "p" + number(sampling.top_p));
  part(sampling.min_p > 0, "m" + number(sampling.min_p));
  part(penalties.repetition != 1, "r" + number(penalties.repetition));
  part(penalties.frequency != 0, "f" + number(penalties.frequency));
  part(penalties.presence != 0, "q" + number(penalties.presence));
  part(request.max_tokens != kUsualTokens, "n" + std::to_string(request.max_tokens));
  part(!request.stop_token_ids.empty(), "stop" + digest(request.stop_token_ids));
  if (request.adjustments.allowed_ids)
    part(true, "only" + digest(*request.adjustments.allowed_ids));
  part(!request.ignores_end, "eos");
  part(request.logprob_count >= 0, "lp" + std::to_string(request.logprob_count));
  part(!request.grammar.empty(), "g" + digest(request.grammar));
  part(!request.adapter.empty(), "a" + tidy(request.adapter));
  part(request.is_streamed, "stream");
  part(!request.uses_prefix_cache, "nocache");
  if (concurrency) part(true, "c" + std::to_string(*concurrency));
  if (draft_length) part(true, "d" + std::to_string(*draft_length));
  return id;
}

std::vector<Setting> settings_of(const SettingLists& lists, const std::string& place) {
  Grid grid(lists);
  for (const SamplingRequest& request : requests_of(lists, place)) {
    if (lists.concurrency.empty()) grid.add(request, std::nullopt);
    for (const int concurrency : lists.concurrency) grid.add(request, concurrency);
  }
  if (lists.has_variations) {
    const Setting base = grid.settings().back();
    add_variations(lists, base, grid);
  }
  return grid.take();
}

}  // namespace draftproof::tools::audit
