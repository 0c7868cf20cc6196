// The decoder that never drafted (serial_decoder.h).
#include "properties/state/serial_decoder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/contract.h"
#include "reference/kv/recurrent_slots.h"

namespace draftproof::properties::state {

namespace decode = reference::decode;
using reference::Row;
using reference::Token;

const reference::Preset& SerialDecoder::preset(const RequestSpec& spec) const {
  const reference::Contract& contract = reference::contract(config_->contract);
  return contract.with_min_p && spec.sampling.min_p > 0 ? *contract.with_min_p : contract.preset;
}

std::uint64_t SerialDecoder::seed(const RequestSpec& spec, decode::RequestId id) const {
  if (spec.seed) return *spec.seed;
  return reference::kv::history_behind(config_->seed, static_cast<Token>(id), 0);
}

Row SerialDecoder::raw_row(const RequestSpec& spec, std::span<const Token> tokens) const {
  const auto window = static_cast<std::size_t>(config_->target_cache.window);
  const std::size_t hidden = window > 0 && tokens.size() > window ? tokens.size() - window : 0;
  decode::Seen seen;
  seen.tokens = tokens.subspan(hidden);
  seen.first_position = static_cast<std::int32_t>(hidden);
  seen.state = config_->target->is_recurrent() ? reference::kv::state_of(tokens) : 0;
  seen.adapter = spec.adapter;
  return config_->target->row(seen);
}

SerialDecoder::GrammarPlace SerialDecoder::grammar_place(const RequestSpec& spec,
                                                         std::span<const Token> emitted) const {
  GrammarPlace place;
  if (!spec.grammar) return place;
  std::size_t begin = 0;
  if (spec.grammar_behind) {
    const auto marker = std::find(emitted.begin(), emitted.end(), *spec.grammar_behind);
    if (marker == emitted.end()) return place;
    begin = static_cast<std::size_t>(marker - emitted.begin()) + 1;
  }
  place.is_on = true;
  place.state = spec.grammar->behind(emitted.subspan(begin));
  return place;
}

Row SerialDecoder::adjusted_row(const RequestSpec& spec, Row raw, std::span<const Token> emitted,
                                std::span<const Token> path) const {
  reference::History history;
  history.prompt = spec.prompt;
  history.committed.assign(emitted.begin(), emitted.end());
  history.drafted.assign(path.begin(), path.end());
  reference::Adjustments adjustments = spec.adjustments;
  if (spec.eos) adjustments.end_tokens = {*spec.eos};
  const GrammarPlace place = grammar_place(spec, reference::output_of(history));
  // Behind a refused token every token is allowed (Grammar::mask_at): no walk gets there.
  if (place.is_on && place.state) adjustments.grammar_mask = spec.grammar->allowed(*place.state);
  return reference::adjusted(std::move(raw), adjustments, history,
                             reference::contract(config_->contract).adjustments);
}

namespace {

bool is_end_of(std::span<const Token> stop, std::span<const Token> tokens) {
  if (stop.size() > tokens.size()) return false;
  for (std::size_t back = 1; back <= stop.size(); ++back)
    if (stop[stop.size() - back] != tokens[tokens.size() - back]) return false;
  return true;
}

}  // namespace

SerialDecoder::Ending SerialDecoder::ending(const RequestSpec& spec,
                                            std::span<const Token> emitted) const {
  for (std::size_t count = 1; count <= emitted.size(); ++count) {
    const std::span<const Token> so_far = emitted.first(count);
    const auto ends = [&](decode::FinishReason finish) { return Ending{count, finish}; };
    if (spec.eos && so_far.back() == *spec.eos) return ends(decode::FinishReason::kEos);
    for (const std::vector<Token>& stop : spec.stops)
      if (is_end_of(stop, so_far)) return ends(decode::FinishReason::kStop);
    if (count >= static_cast<std::size_t>(spec.max_tokens))
      return ends(decode::FinishReason::kLength);
    if (spec.prompt.size() + count >= static_cast<std::size_t>(config_->context_max))
      return ends(decode::FinishReason::kContext);
  }
  return {emitted.size(), decode::FinishReason::kNone};
}

decode::OutputToken SerialDecoder::logprobs(const RequestSpec& spec, const Row& raw,
                                            const Row& adjusted, Token token) const {
  decode::OutputToken out;
  out.token = token;
  if (spec.logprob_count < 0) return out;
  const double top = *std::max_element(raw.begin(), raw.end());
  double sum = 0;
  for (const float logit : raw) sum += std::exp(static_cast<double>(logit) - top);
  const auto raw_of = [&](std::size_t id) {
    return static_cast<double>(raw[id]) - top - std::log(sum);
  };
  out.raw_logprob = raw_of(static_cast<std::size_t>(token));
  const reference::MassRow law = reference::shape(adjusted, spec.sampling, preset(spec));
  if (law.status == reference::Status::kOk)
    out.processed_logprob =
        std::log(static_cast<double>(law.mass[static_cast<std::size_t>(token)]) /
                 static_cast<double>(law.total));
  std::vector<bool> is_listed(raw.size(), false);
  for (std::size_t place = 0;
       place < std::min(raw.size(), static_cast<std::size_t>(spec.logprob_count)); ++place) {
    std::size_t best = raw.size();
    for (std::size_t id = 0; id < raw.size(); ++id)
      if (!is_listed[id] && (best == raw.size() || raw[id] > raw[best])) best = id;
    is_listed[best] = true;
    out.top.push_back({static_cast<Token>(best), raw_of(best)});
  }
  return out;
}

double SerialDecoder::logprob_tolerance(double logprob) const {
  // u = 2^-53, V tokens. Raw: differences of logits round to |x| u, and |x| e^x <= 1/e for x <= 0,
  // exp and the V - 1 sums err by at most (V + 2) u relative to a sum of at least 1, the log turns
  // that into as much absolute, and its own rounding and the last two differences (of at most
  // |max| + ln V + |logprob|, logits of models being below 2^7) into 2^9 u + 3 |logprob| u.
  // Processed: mass and total are below 2^63, rounded to u each, ln of them is below 44, so that
  // either form errs by (2 * 44 + 4) u + |logprob| u. Twice for two computations, once more for
  // libraries whose exp and log err by an ulp.
  const double unit = std::ldexp(1.0, -53);
  const auto vocab_size = static_cast<double>(config_->target->vocab_size());
  return std::isfinite(logprob) ? 4 * unit * (vocab_size + 512 + 3 * std::fabs(logprob)) : 0;
}

std::vector<reference::kv::Cell> serial_cells(const reference::kv::PagedCache& cache,
                                              std::span<const Token> tokens) {
  std::vector<reference::kv::Cell> cells;
  cells.reserve(tokens.size());
  std::uint64_t history = reference::kv::kEmptyHistory;
  for (std::size_t slot = 0; slot < tokens.size(); ++slot) {
    const auto position = static_cast<std::int32_t>(slot);
    cells.push_back(cache.as_read(
        {tokens[slot], position, reference::kv::history_behind(history, tokens[slot], position)}));
    history = cells.back().history;
  }
  return cells;
}

}  // namespace draftproof::properties::state
