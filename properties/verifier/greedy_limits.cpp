// Greedy limits: temperature 0, temperature around an engine's cut-off, top-k = 1, top-p -> 0,
// min-p = 1 and one-hot rows all mean "the maximum". Where several tokens tie for it the limits do
// not coincide; what each preset answers is stated in `limit_set` and nowhere else:
//   temperature 0 or below the preset's cut-off   the lowest id of the tied tokens
//   temperature just above the cut-off, min-p = 1 every tied token, equally likely
//   top-k = 1, top-p -> 0                         by the preset's tie rule: all, or the lowest id
// Engines have answered ties by the highest id (ohdearquant/lattice#280) and greedy requests of
// mixed batches by sampling (FlashML-org/FreeToken#471).
#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/laws.h"
#include "properties/verifier/properties.h"
#include "properties/verifier/variants.h"
#include "reference/shaping.h"

namespace draftproof::properties::verifier {
namespace {

using reference::Batch;
using reference::Preset;
using reference::Reason;
using reference::Request;
using reference::RequestOutcome;
using reference::Row;
using reference::RowKind;
using reference::Sampling;
using reference::ShapingStep;
using reference::TieRule;
using reference::Token;

constexpr float kNever = -std::numeric_limits<float>::infinity();

bool has_step(const Preset& preset, ShapingStep step) {
  return std::find(preset.steps.begin(), preset.steps.end(), step) != preset.steps.end();
}

/// The tokens that the statement above leaves, in id order; empty when the request is no greedy
/// limit on this row.
std::vector<Token> limit_set(const Preset& preset, const Sampling& sampling, const Row& row) {
  const float top = *std::max_element(row.begin(), row.end());
  float second = kNever;
  std::vector<Token> tied;
  for (std::size_t v = 0; v < row.size(); ++v) {
    if (!(row[v] <= top) || !std::isfinite(top)) return {};
    if (row[v] == top)
      tied.push_back(static_cast<Token>(v));
    else
      second = std::max(second, row[v]);
  }
  const std::vector<Token> lowest = {tied.front()};
  if (sampling.temperature == 0 || sampling.temperature < preset.greedy_below) return lowest;
  const bool has_joint = has_step(preset, ShapingStep::kJointTopKTopP);
  const bool has_top_k = has_step(preset, ShapingStep::kTopK) || has_joint;
  const bool has_top_p = has_step(preset, ShapingStep::kTopP) || has_joint;
  // The maximum alone has at least 2^-1 / V of the mass, so such a prefix ends inside its ties.
  const bool is_top_p = has_top_p && sampling.top_p * 2 * static_cast<double>(row.size()) < 1;
  const bool is_top_k = has_top_k && sampling.top_k == 1 && row.size() > 1;
  if (is_top_k && preset.top_k_ties == TieRule::kLowestIdsFirst) return lowest;
  if (is_top_p && preset.top_p_ties == TieRule::kLowestIdsFirst) {
    // A prefix may need more than one of many tied tokens unless it needs next to nothing.
    if (tied.size() == 1 || sampling.top_p < 1e-30) return lowest;
    return {};
  }
  const bool is_min_p = has_step(preset, ShapingStep::kMinP) && sampling.min_p >= 1;
  // Other masses vanish 46 binary orders below the maximum, at the latest.
  const bool is_cold = (top - second) * 1.4426 / sampling.temperature > 46;
  if (is_top_k || is_top_p || is_min_p || is_cold) return tied;
  return {};
}

/// The token at `coin` among equally likely ones.
Token even_draw(const std::vector<Token>& tokens, std::uint64_t coin) {
  return tokens[static_cast<std::size_t>((reference::WideMass{coin} * tokens.size()) >> 64)];
}

/// What a greedy limit answers; absent when some row on the way is none.
std::optional<RequestOutcome> due(const Case& value, const Request& request,
                                  const reference::Coins& coins) {
  RequestOutcome out;
  const int count = draft_count(request);
  for (int i = 0;; ++i) {
    const auto coin = [&](reference::Purpose purpose) {
      return coins.coin(
          {request.id, request.position + static_cast<std::uint32_t>(i), purpose, 0, 0});
    };
    Sampling sampling = request.sampling;
    if (value.rule == "greedy") sampling.temperature = 0;
    std::vector<Token> left = limit_set(value.batch.preset, sampling, request.target_rows[i]);
    if (left.empty()) return std::nullopt;
    if (i == count) {
      out.emitted.push_back({even_draw(left, coin(reference::Purpose::kBonus)), Reason::kBonus});
      return out;
    }
    const Token token = request.proposal.tokens[i];
    if (!is_token(value.batch, token)) return std::nullopt;
    const auto at = std::find(left.begin(), left.end(), token);
    const bool is_certain = left.size() == 1;
    // Ties and a draft law of its own would need the ratio: the law property covers that.
    if (value.rule != "greedy" && value.batch.draft_kind != RowKind::kOneHot) {
      if (!is_certain) return std::nullopt;
      const reference::MassRow draft = draft_law(value.batch, request, i);
      if (draft.status != reference::Status::kOk || draft.mass[token] == 0) return std::nullopt;
    }
    const bool accepts =
        at != left.end() &&
        (is_certain ||
         reference::WideMass{coin(reference::Purpose::kAccept)} * left.size() >> 64 == 0);
    if (accepts) {
      out.emitted.push_back({token, Reason::kAccepted});
      ++out.accepted_count;
      continue;
    }
    if (at != left.end()) left.erase(at);
    out.emitted.push_back(
        {even_draw(left, coin(reference::Purpose::kRecovered)), Reason::kRecovered});
    return out;
  }
}

std::optional<Complaint> judge(const Subject& subject, const Case& value) {
  const reference::Outcome outcome = run(*subject.verifier, value);
  const auto coins = coins_of(value);
  for (std::size_t r = 0; r < value.batch.requests.size(); ++r) {
    const auto expected = due(value, value.batch.requests[r], *coins);
    if (!expected) continue;
    reference::Outcome left, right;
    left.requests = {*expected};
    right.requests = {answer(outcome, r)};
    auto found = difference(left, right,
                            "request " + std::to_string(value.batch.requests[r].id) +
                                " is a greedy limit, so every token is its row's maximum");
    if (found) return found;
  }
  return std::nullopt;
}

struct Limit {
  std::string name;
  Sampling sampling;
};

/// Every way to ask for the maximum, and one request that samples, as company.
std::vector<Limit> limits(const Preset& preset) {
  std::vector<Limit> list = {{"temperature 0", {.temperature = 0}},
                             {"top-k 1", {.top_k = 1}},
                             {"top-p 0", {.top_p = 0}},
                             {"top-p 1e-40", {.top_p = 1e-40}},
                             {"min-p 1", {.min_p = 1}},
                             {"one-hot row", {}},
                             {"temperature 1e-6", {.temperature = 1e-6}},
                             {"temperature 1e-5", {.temperature = 1e-5}},
                             {"sampled", {}}};
  for (double cut_off : {1e-6, 1e-5}) {
    list.push_back({"below a cut-off", {.temperature = std::nextafter(cut_off, 0)}});
    list.push_back({"above a cut-off", {.temperature = std::nextafter(cut_off, 1)}});
  }
  if (preset.greedy_below > 0)
    list.push_back({"far below the cut-off", {.temperature = preset.greedy_below / 1000}});
  return list;
}

/// A row with `ties` maxima at random ids, values small enough for the coldest temperature.
Row peaked_row(Random& random, std::size_t vocab_size, std::size_t ties, bool is_one_hot) {
  Row row(vocab_size);
  for (float& value : row)
    value = is_one_hot ? kNever : -0.125f * static_cast<float>(random.between(2, 8));
  for (std::size_t i = 0; i < ties; ++i) row[random.below(vocab_size)] = 0.5f;
  return row;
}

/// A request whose first `accepted` tokens agree with the maximum and whose next one does not.
Request limit_request(const Case& value, const Limit& limit, int draft_length, int accepted,
                      std::size_t ties, Random& random) {
  const Batch& batch = value.batch;
  Request request;
  request.sampling = limit.sampling;
  request.position = static_cast<std::uint32_t>(random.below(100));
  const bool is_one_hot = limit.name == "one-hot row";
  for (int i = 0; i <= draft_length; ++i) {
    request.target_rows.push_back(
        peaked_row(random, batch.vocab_size, is_one_hot ? 1 : ties, is_one_hot));
    if (i == draft_length) break;
    const Row& row = request.target_rows.back();
    auto best = static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
    if (i >= accepted) best = (best + 1 + random.below(batch.vocab_size - 1)) % batch.vocab_size;
    request.proposal.tokens.push_back(static_cast<Token>(best));
    Row draft(batch.vocab_size, -2.0f);
    draft[best] = 0.25f;
    if (batch.draft_kind == RowKind::kLogits) request.proposal.rows.push_back(draft);
    if (batch.draft_kind == RowKind::kProbabilities) {
      Row certain(batch.vocab_size, 0.0f);
      certain[best] = 1;
      request.proposal.rows.push_back(certain);
    }
  }
  return request;
}

Case empty_case(const Course& course, const Preset& preset, Random& random) {
  const reference::VerifierTraits& traits = course.traits();
  Case value;
  value.property = "greedy_limits";
  value.rule = traits.rule;
  value.batch.vocab_size = random.pick<std::size_t>({2, 3, 5, 33, 70});
  value.batch.preset = preset;
  value.batch.draft_kind = random.pick(traits.draft_kinds);
  value.batch.format = random.pick(traits.formats);
  value.seed = random.bits();
  return value;
}

/// All limits x accept counts for one draft length in one batch, then single requests alone.
bool try_length(Course& course, const Preset& preset, int draft_length, std::size_t ties,
                Random& random) {
  Case mixed = empty_case(course, preset, random);
  const std::string cell = preset.name + (ties > 1 ? "/ties" : "/no ties");
  for (const Limit& limit : limits(preset))
    for (int accepted = 0; accepted <= draft_length; ++accepted) {
      mixed.batch.requests.push_back(
          limit_request(mixed, limit, draft_length, accepted, ties, random));
      mixed.batch.requests.back().id = static_cast<std::uint32_t>(mixed.batch.requests.size());
    }
  if (!course.attempt(mixed, cell + "/mixed")) return false;
  Case alone = empty_case(course, preset, random);
  const Limit limit = random.pick(limits(preset));
  alone.batch.requests = {
      limit_request(alone, limit, draft_length, random.between(0, draft_length), ties, random)};
  return course.attempt(alone, cell + "/alone");
}

void course(Course& course, std::uint64_t seed) {
  const int longest = course.battery() == Battery::kSmoke ? 3 : 8;
  Random random(seed);
  const std::uint64_t rounds = course.by_battery(1, 2, 80);
  for (std::uint64_t round = 0; round < rounds; ++round)
    for (const Preset& preset : reference::presets())
      for (int draft_length = 0; draft_length <= longest; ++draft_length)
        for (std::size_t ties : {1, 2, 3})
          if (!try_length(course, preset, draft_length, ties, random)) return;
}

}  // namespace

Property greedy_limits() {
  return built({
      .id = "greedy_limits",
      .statement = "Every way to ask for greedy decoding emits the target's maximum, ties as the "
                   "preset states, at every draft length and accept count.",
      .citation = "numerics contract, section 1: greedy; engines' cut-offs as in the presets",
      .claim = oracle::Claim::kGreedyExact,
      .smallest_visible_effect = "one token at one accept count of one limit",
      .exemption =
          [](const reference::VerifierTraits& traits) {
            return unless_rule(traits, {"chain", "greedy"});
          },
      .judge = judge,
      .course = course,
  });
}

}  // namespace draftproof::properties::verifier
