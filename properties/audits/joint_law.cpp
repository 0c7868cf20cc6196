// Joint law: the tokens behind the first one, which are the first that drafts can reach, against
// their joint law. What next_token_law multiplies over positions is seen here at once, without the
// tokens' own history deciding what they are held against: an engine that is right given its own
// mistakes is wrong here. Two ways:
//   words    every word of 2, 3 or 4 tokens that the law gives, where these are few: a Dirichlet
//            mixture a prompt (oracle/sequential.h), prompts combined, the mean over lengths. An
//            answer that stops gives a shorter word
//   places   the places of tokens 2 and 3 in their laws, likeliest first, in 16 x 16 cells of equal
//            probability, all prompts together, where words are too many
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "oracle/distance.h"
#include "oracle/family.h"
#include "oracle/power.h"
#include "oracle/sequential.h"
#include "oracle/two_sample.h"
#include "properties/audits/conditional_law.h"
#include "properties/audits/findings.h"
#include "properties/audits/law_cache.h"
#include "properties/audits/law_sample.h"
#include "properties/audits/words.h"

namespace draftproof::properties::audits {
namespace {

using reference::Token;

constexpr std::size_t kBehind = 1;  ///< a word's first token is at this index
constexpr std::size_t kWordLengthMax = 4;
constexpr std::size_t kCellMax = 4096;     ///< words of a prompt that are counted apart
constexpr std::size_t kStepMax = 1 << 18;  ///< contexts that are walked for a prompt's law
constexpr std::size_t kPlaces = 16;

/// Words of one prompt with their probabilities. The last cell is for what no law gives.
struct WordLaw {
  std::map<std::vector<Token>, std::size_t> cells;
  std::vector<double> law;
};

bool is_stop(const SamplingRequest& request, Token token) {
  const auto& stops = request.stop_token_ids;
  return std::find(stops.begin(), stops.end(), token) != stops.end();
}

/// Adds the words behind `emitted`; false when there are too many of them.
bool add_words(const KnownTarget& target, const SamplingRequest& request, std::size_t length,
               std::vector<Token>& emitted, double weight, std::size_t& steps, WordLaw& words) {
  if (++steps > kStepMax) return false;
  const std::vector<double> law = target.next(request, emitted);
  for (std::size_t token = 0; token < law.size(); ++token) {
    if (law[token] <= 0) continue;
    emitted.push_back(static_cast<Token>(token));
    bool is_within = true;
    if (emitted.size() == kBehind + length || is_stop(request, emitted.back())) {
      const std::vector<Token> word(emitted.begin() + kBehind, emitted.end());
      const std::size_t cell = words.cells.try_emplace(word, words.law.size()).first->second;
      if (cell == words.law.size()) words.law.push_back(0);
      words.law[cell] += weight * law[token];
      is_within = words.law.size() <= kCellMax;
    } else {
      is_within = add_words(target, request, length, emitted, weight * law[token], steps, words);
    }
    emitted.pop_back();
    if (!is_within) return false;
  }
  return true;
}

std::optional<WordLaw> word_law(const KnownTarget& target, const SamplingRequest& request,
                                std::size_t length) {
  WordLaw words;
  std::vector<Token> emitted;
  std::size_t steps = 0;
  if (!add_words(target, request, length, emitted, 1, steps, words)) return {};
  double sum = 0;
  for (const double each : words.law) sum += each;
  for (double& each : words.law) each /= sum;
  words.law.push_back(0);
  return words;
}

/// Counts of one prompt's words, or of all prompts' places.
struct Tally {
  const AuditCase* audit_case = nullptr;  ///< the first with this request; null: all of them
  WordLaw words;
  std::vector<std::uint64_t> counts;
  std::uint64_t total = 0;

  void add(std::size_t cell) {
    ++counts[cell];
    ++total;
  }
  double log_e_value() const { return oracle::log_evidence(counts, words.law); }

  std::string cell_name(std::size_t cell) const {
    for (const auto& [word, index] : words.cells)
      if (index == cell)
        return "tokens " + std::to_string(kBehind + 1) + " to " +
               std::to_string(kBehind + word.size()) + " are " +
               audits::words_of(std::span<const Token>(word));
    return audit_case == nullptr
               ? "tokens 2 and 3 have places in sixteenths " + std::to_string(cell / kPlaces + 1) +
                     " and " + std::to_string(cell % kPlaces + 1) + " of their laws"
               : "a word that no law gives, or too short a one";
  }
};

/// The cell that departs most.
oracle::Witness witness_of(const Tally& tally, double log_e_value) {
  std::size_t worst = 0;
  double most = -1;
  for (std::size_t cell = 0; cell < tally.counts.size(); ++cell) {
    const double due = tally.words.law[cell] * static_cast<double>(tally.total);
    const double off = std::fabs(static_cast<double>(tally.counts[cell]) - due);
    const double score = due <= 0 ? (off > 0 ? HUGE_VAL : 0) : off / std::sqrt(std::max(due, 1.0));
    if (score <= most) continue;
    most = score;
    worst = cell;
  }
  oracle::Witness witness;
  if (tally.audit_case != nullptr) {
    witness.let = words_of(tally.audit_case->request);
    witness.replay = tally.audit_case->id;
  }
  witness.expected =
      tally.cell_name(worst) + " in " + percent(tally.words.law[worst]) + " of the answers";
  witness.observed =
      "in " + percent(static_cast<double>(tally.counts[worst]) / static_cast<double>(tally.total)) +
      " of " + std::to_string(tally.total);
  witness.because = "what departs most of " + std::to_string(tally.counts.size()) +
                    " cells; all prompts together: " + against_words(log_e_value);
  return witness;
}

/// Place of a token in its law, likeliest first, ties by id; absent when the law does not give it.
std::optional<double> place_of(const std::vector<double>& law, Token token, double coin) {
  const auto own = static_cast<std::size_t>(token);
  if (token < 0 || own >= law.size() || law[own] <= 0) return {};
  double place = law[own] * coin;
  for (std::size_t other = 0; other < law.size(); ++other)
    if (law[other] > law[own] || (law[other] == law[own] && other < own)) place += law[other];
  return place;
}

/// One way of counting: words of one length by prompt, or places of all prompts.
struct Way {
  std::size_t length = 2;
  std::vector<Tally> tallies;

  /// Null: no prompt has it.
  Tally* tally_of(const SamplingRequest& request) {
    for (Tally& each : tallies)
      if (each.audit_case != nullptr && each.audit_case->request == request) return &each;
    return nullptr;
  }
  double log_e_value() const {
    std::vector<double> each;
    for (const Tally& tally : tallies) each.push_back(tally.log_e_value());
    return oracle::log_combined(each);
  }
  const Tally& worst() const {
    return *std::max_element(tallies.begin(), tallies.end(),
                             [](const Tally& one, const Tally& other) {
                               return one.log_e_value() < other.log_e_value();
                             });
  }
};

class JointLaw {
 public:
  explicit JointLaw(const CheckContext& context)
      : context_(context), laws_(*context.settings.target) {
    const auto asked = static_cast<std::size_t>(context.setting.request.max_tokens);
    for (std::size_t length = 2; length <= std::min(kWordLengthMax, asked - kBehind); ++length) {
      auto way = words_of_length(length);
      if (!way) break;
      ways_.push_back(std::move(*way));
    }
    if (!ways_.empty()) return;
    Tally places;
    places.words.law.assign(kPlaces * kPlaces, 1.0 / (kPlaces * kPlaces));
    places.words.law.push_back(0);
    places.counts.resize(kPlaces * kPlaces + 1);
    ways_.push_back({2, {std::move(places)}});
  }

  void look_at(const LawSample& sample) {
    std::size_t done = 0;
    for (const std::size_t look : sample.looks) {
      for (; done < look; ++done)
        for (Way& way : ways_) add(way, sample.answers[done]);
      log_e_value_ = std::max(log_e_value_, mean_of_ways());
      ++look_count_;
    }
  }

  double log_e_value() const { return log_e_value_; }
  std::string lengths() const {
    return ways_.size() == 1 ? std::to_string(ways_.front().length)
                             : std::to_string(ways_.front().length) + " to " +
                                   std::to_string(ways_.back().length);
  }

  /// Of the prompt whose joint law of two tokens shows least; what the mean costs is paid.
  double visible() const {
    const double log_alarm = context_.log_alarm + std::log(static_cast<double>(ways_.size()));
    double most = 0;
    for (const Tally& tally : ways_.front().tallies) {
      if (tally.total == 0) continue;
      // Where filters leave one word, whatever else comes is a proof; two cells see no more.
      const std::size_t cells = std::max<std::size_t>(tally.counts.size() - 1, 2);
      most = std::max(
          most, oracle::visible_distance(tally.total, log_alarm, cells, slack_of(ways_.front())));
    }
    return most == 0 ? 1 : most;
  }

  /// Of two tokens; the largest over all prompts: the bounds hold for all of them together.
  oracle::Effect effect() const {
    const std::vector<Tally>& tallies = ways_.front().tallies;
    const double miss =
        oracle::share_of_look(context_.miss, look_count_ == 0 ? 0 : look_count_ - 1);
    std::optional<oracle::Effect> all;
    for (const Tally& tally : tallies) {
      const oracle::Effect one = oracle::effect_of(tally.counts, tally.words.law,
                                                   miss / static_cast<double>(tallies.size()));
      if (!all) {
        all = one;
        continue;
      }
      all->total_variation = std::max(all->total_variation, one.total_variation);
      widen(all->total_variation_bounds, one.total_variation_bounds);
      if (all->divergence && one.divergence)
        all->divergence = std::max(*all->divergence, *one.divergence);
      if (all->divergence_bounds && one.divergence_bounds)
        widen(*all->divergence_bounds, *one.divergence_bounds);
    }
    all->miss = miss;
    all->of = tallies.front().audit_case == nullptr ? "places of tokens 2 and 3" : "tokens 2 and 3";
    if (tallies.size() > 1) all->of += " behind the prompt that is off most";
    return *all;
  }

  const Tally& worst() const {
    return std::max_element(ways_.begin(), ways_.end(),
                            [](const Way& one, const Way& other) {
                              return one.log_e_value() < other.log_e_value();
                            })
        ->worst();
  }

 private:
  static void widen(oracle::Interval& all, const oracle::Interval& one) {
    all = {std::max(all.low, one.low), std::max(all.high, one.high)};
  }

  std::optional<Way> words_of_length(std::size_t length) {
    Way way{length, {}};
    for (const AuditCase* each : context_.cases) {
      // Cases that share their seeds with the baseline draw from the law of their prompt as well.
      if (way.tally_of(each->request) != nullptr) continue;
      auto words = word_law(*context_.settings.target, each->request, length);
      if (!words) return {};
      const std::size_t cell_count = words->law.size();
      way.tallies.push_back({each, std::move(*words), {}, 0});
      way.tallies.back().counts.resize(cell_count);
    }
    return way;
  }

  /// Filters may drop a token by less than arithmetic is off; whether one did is next_token_law's
  /// to say, and what is left has a law of its own that slack covers.
  bool has_slack() const {
    return context_.settings.tolerance > 0 || context_.settings.near_tie_bound > 0;
  }

  void add(Way& way, const Answer& answer) {
    std::optional<std::size_t> cell;
    Tally* tally = &way.tallies.front();
    if (tally->audit_case == nullptr) {
      cell = cell_of_places(answer);
    } else {
      tally = way.tally_of(answer.audit_case->request);
      const std::size_t end = std::min(answer.tokens.size(), kBehind + way.length);
      const auto at = tally->words.cells.find(std::vector<Token>(
          answer.tokens.begin() + std::min(kBehind, end), answer.tokens.begin() + end));
      if (at != tally->words.cells.end()) cell = at->second;
    }
    if (!cell && has_slack()) return;
    tally->add(cell.value_or(tally->counts.size() - 1));
  }

  /// A token behind the end has the place of its coin: under the law that is as good as any.
  std::optional<std::size_t> cell_of_places(const Answer& answer) {
    std::size_t cell = 0;
    const ContextLaw* law = &laws_.start(*answer.audit_case);
    bool is_behind_end = false;
    for (std::size_t position = 0; position < kBehind + 2; ++position) {
      const double coin = place_coin(context_.matrix, answer.transcript->key, position);
      std::optional<double> place = coin;
      if (!is_behind_end) {
        if (position >= answer.tokens.size()) return {};
        const Token token = answer.tokens[position];
        place = place_of(law->target, token, coin);
        if (!place) return {};
        is_behind_end = is_stop(answer.audit_case->request, token);
        if (position <= kBehind) law = &laws_.behind(*law, token);
      }
      if (position >= kBehind)
        cell = cell * kPlaces + std::min(static_cast<std::size_t>(*place * kPlaces), kPlaces - 1);
    }
    return cell;
  }

  /// Of the tolerant null: laws of words may be off by the slack of each of their tokens.
  double mean_of_ways() const {
    std::vector<double> each;
    for (const Way& way : ways_) {
      std::uint64_t answers = 0;
      for (const Tally& tally : way.tallies) answers += tally.total;
      each.push_back(way.log_e_value() - slack_of(way) * static_cast<double>(answers));
    }
    return oracle::log_mean(each);
  }

  /// Nats an answer.
  double slack_of(const Way& way) const {
    return context_.settings.tolerance * static_cast<double>(kBehind + way.length);
  }

  const CheckContext& context_;
  LawCache laws_;
  std::size_t look_count_ = 0;
  double log_e_value_ = 0;
  std::vector<Way> ways_;  ///< two tokens first
};

}  // namespace

oracle::Verdict joint_law(const CheckContext& context) {
  oracle::Verdict verdict = begun(context);
  if (context.setting.request.max_tokens < static_cast<int>(kBehind) + 2) {
    verdict.evidence =
        "answers of fewer than three tokens: the first is no draft's, and one more "
        "has no joint law";
    return verdict;
  }
  const LawSample sample = law_sample(context, Arm::kSpeculative);
  if (is_nothing(sample, verdict)) return verdict;
  JointLaw joint(context);
  joint.look_at(sample);
  conclude(context, sample, joint.log_e_value(),
           {joint.visible(), "of tokens 2 and 3 behind the prompt that shows least"},
           std::to_string(sample.answers.size()) + " answers, " + joint.lengths() +
               " tokens of each together",
           verdict);
  verdict.effect = joint.effect();
  if (verdict.kind == oracle::VerdictKind::kViolated &&
      has_near_ties(context, sample, kBehind + kWordLengthMax)) {
    verdict.kind = oracle::VerdictKind::kInconclusive;
    verdict.label = oracle::Label::kNone;
    verdict.evidence +=
        ": filters cut closer than the slack of the engine's arithmetic here, which "
        "next_token_law can leave out and this cannot";
  }
  if (verdict.kind == oracle::VerdictKind::kViolated && context.settings.has_baseline) {
    JointLaw without(context);
    without.look_at(law_sample(context, Arm::kBaseline));
    if (!is_beyond_baseline(joint.log_e_value(), without.log_e_value(), context.log_alarm))
      blame_the_law("e-value " + e_value_words(without.log_e_value()), verdict);
  }
  if (verdict.kind == oracle::VerdictKind::kViolated)
    refute(context, verdict, *sample.answers.front().transcript, oracle::Label::kLossy,
           witness_of(joint.worst(), joint.log_e_value()));
  return unless_never_drafted(context, std::move(verdict));
}

}  // namespace draftproof::properties::audits
