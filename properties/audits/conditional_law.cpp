#include "properties/audits/conditional_law.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "oracle/distance.h"
#include "oracle/exact_tail.h"
#include "oracle/family.h"
#include "oracle/power.h"
#include "properties/audits/law_cache.h"
#include "properties/audits/words.h"

namespace draftproof::properties::audits {
namespace {

using reference::Token;

bool is_id(Token token, std::size_t vocab_size) {
  return token >= 0 && static_cast<std::size_t>(token) < vocab_size;
}

/// By context, the tokens that a filter drops there by less than the engine's arithmetic may be
/// off: the row's law without filters gives them almost what it gives the least token that was
/// kept.
class NearTies {
 public:
  explicit NearTies(const CheckContext& context) : target_(*context.settings.target) {
    const reference::Sampling& sampling = context.setting.request.sampling;
    const bool has_filter = sampling.top_k > 0 || sampling.top_p < 1 || sampling.min_p > 0;
    const double heat = sampling.temperature;
    if (has_filter && heat > 0)
      slack_ = context.settings.tolerance + context.settings.near_tie_bound / heat;
  }

  const std::set<Token>& at(const ContextLaw& law, const Answer& answer, std::size_t position) {
    static const std::set<Token> none;
    if (slack_ <= 0) return none;
    const auto [found, is_first] = ties_.try_emplace(law.id);
    if (is_first) found->second = ties_of(law.target, answer, position);
    return found->second;
  }

 private:
  std::set<Token> ties_of(const std::vector<double>& law, const Answer& answer,
                          std::size_t position) const {
    SamplingRequest open = answer.audit_case->request;
    open.sampling = {.temperature = open.sampling.temperature};
    const std::vector<double> unfiltered = target_.next(open, answer.tokens.first(position));
    double least = 1;
    for (std::size_t token = 0; token < law.size(); ++token)
      if (law[token] > 0) least = std::min(least, unfiltered[token]);
    std::set<Token> ties;
    for (std::size_t token = 0; token < law.size(); ++token)
      if (law[token] <= 0 && unfiltered[token] > 0 &&
          unfiltered[token] * std::exp(2 * slack_) >= least)
        ties.insert(static_cast<Token>(token));
    return ties;
  }

  const KnownTarget& target_;
  double slack_ = 0;
  std::unordered_map<std::uint64_t, std::set<Token>> ties_;
};

/// Visits every token with the context it stands in; an id outside the law ends its answer.
template <class Visit>
void for_each_token(LawCache& laws, const Answer& answer, Visit visit) {
  ContextLaw* context = &laws.start(*answer.audit_case);
  for (std::size_t position = 0; position < answer.tokens.size(); ++position) {
    const Token token = answer.tokens[position];
    visit(*context, position, token);
    if (!is_id(token, laws.vocab_size())) return;
    if (position + 1 < answer.tokens.size()) context = &laws.behind(*context, token);
  }
}

/// How often something came, and how often it was due.
struct Share {
  double due = 0, variance = 0;
  std::uint64_t came = 0, total = 0;

  void add(double probability, bool is_there) {
    due += probability;
    variance += probability * (1 - probability);
    came += is_there ? 1 : 0;
    ++total;
  }
  /// Standard deviations; what is due once in many tokens and came once is no witness.
  double departure() const {
    return (static_cast<double>(came) - due) / std::sqrt(std::max(variance, 1.0));
  }
  std::string due_words() const { return percent(due / static_cast<double>(total)); }
  std::string came_words(const char* of) const {
    return percent(static_cast<double>(came) / static_cast<double>(total)) + " of " +
           std::to_string(total) + " " + of;
  }
};

struct ContextCounts {
  std::vector<double> kept;  ///< a copy, since the cache may forget
  std::map<Token, std::uint64_t> counts;
  std::uint64_t total = 0;
  std::size_t position = 0;
  Answer first;
};

std::string prefix_words(const Answer& answer, std::size_t position) {
  return "behind prompt " + words_of(answer.audit_case->request.prompt) +
         (position == 0 ? std::string()
                        : " and the emitted tokens " + words_of(answer.tokens.first(position)));
}

oracle::Witness impossible_witness(const ImpossibleToken& impossible, std::size_t vocab_size) {
  const auto& [answer, position] = impossible;
  const Token token = answer.tokens[position];
  oracle::Witness witness;
  witness.let = "case " + answer.audit_case->id + ", trial " +
                std::to_string(answer.transcript->key.trial) + ": " +
                words_of(answer.transcript->request);
  witness.expected = "token " + std::to_string(position + 1) + " is one that the target's law " +
                     "gives " + prefix_words(answer, position);
  witness.observed = "token " + std::to_string(token) +
                     (is_id(token, vocab_size) ? ", of probability exactly 0"
                                               : ", which is no id of the vocabulary");
  witness.because = "no law of the target explains it: one is enough";
  return witness;
}

std::size_t top_of(const std::vector<double>& law) {
  return static_cast<std::size_t>(std::max_element(law.begin(), law.end()) - law.begin());
}

/// Of places, likeliest first: sixteen cells and one for what no law gives.
oracle::Effect place_effect(const CheckContext& context, const ConditionalFinding& finding) {
  std::array<std::uint64_t, oracle::kPlaceCells + 1> counts = {};
  std::array<double, oracle::kPlaceCells + 1> law = {};
  const auto places = finding.evidence.places_likeliest_first();
  std::copy(places.begin(), places.end(), counts.begin());
  counts.back() = finding.evidence.impossible_count();
  std::fill(law.begin(), law.end() - 1, 1.0 / oracle::kPlaceCells);
  const std::size_t look = finding.look_count == 0 ? 0 : finding.look_count - 1;
  oracle::Effect effect = oracle::effect_of(counts, law, oracle::share_of_look(context.miss, look));
  effect.of = kPlacesOfTokens;
  return effect;
}

}  // namespace

ConditionalFinding conditional_finding(const CheckContext& context, const LawSample& sample) {
  ConditionalFinding finding;
  finding.evidence = oracle::ConditionalEvidence(context.settings.tolerance);
  LawCache laws(*context.settings.target, context.settings.draft);
  // Where a cut may fall either way nobody knows the law, whichever token comes: contexts are left
  // out for that, and not for their tokens, so that what is left still is a sample of its laws.
  NearTies near_ties(context);
  std::size_t done = 0;
  for (const std::size_t look : sample.looks) {
    for (; done < look; ++done) {
      const Answer& answer = sample.answers[done];
      for_each_token(laws, answer, [&](ContextLaw& law, std::size_t position, Token token) {
        const bool is_impossible =
            !is_id(token, laws.vocab_size()) || law.target[static_cast<std::size_t>(token)] <= 0;
        const auto& ties = near_ties.at(law, answer, position);
        if (!ties.empty() && (!is_impossible || ties.contains(token))) {
          ++finding.near_ties;
          return;
        }
        if (is_impossible && !finding.impossible) finding.impossible = {answer, position};
        law.add(finding.evidence, token,
                place_coin(context.matrix, answer.transcript->key, position));
      });
    }
    finding.log_e_value = std::max(finding.log_e_value, finding.evidence.log_e_value());
    ++finding.look_count;
  }
  return finding;
}

double place_p_value(const CheckContext& context, const ConditionalFinding& finding) {
  double least = 1;
  constexpr std::size_t kOrders = 3;
  for (std::size_t order = 0; order < kOrders; ++order) {
    const auto places = finding.evidence.places(order);
    const auto tokens =
        static_cast<double>(std::accumulate(places.begin(), places.end(), std::uint64_t{0}));
    const double expected = tokens / oracle::kPlaceCells;
    // Fewer are no chi-squared variable (Cochran 1954); without a draft's law the third has none.
    if (expected < 5) continue;
    double sum = 0;
    for (const std::uint64_t count : places)
      sum += std::pow(static_cast<double>(count) - expected, 2) / expected;
    // A law that is off by a factor e^t a token adds 2 t at most to twice a log-likelihood ratio.
    const double slack = 2 * context.settings.tolerance * tokens;
    least = std::min(
        least, oracle::chi_squared_at_least(std::max(0.0, sum - slack), oracle::kPlaceCells - 1));
  }
  return std::min(1.0, kOrders * least);
}

bool has_near_ties(const CheckContext& context, const LawSample& sample, std::size_t length) {
  LawCache laws(*context.settings.target);
  NearTies near_ties(context);
  bool is_found = false;
  for (Answer answer : sample.answers) {
    answer.tokens = answer.tokens.first(std::min(length, answer.tokens.size()));
    for_each_token(laws, answer, [&](ContextLaw& law, std::size_t position, Token) {
      is_found = is_found || !near_ties.at(law, answer, position).empty();
    });
    if (is_found) return true;
  }
  return false;
}

void conclude(const CheckContext& context, const LawSample& sample,
              const ConditionalFinding& finding, const std::string& answers,
              oracle::Verdict& verdict) {
  const std::uint64_t tokens = finding.evidence.token_count();
  const double visible = oracle::visible_distance(tokens, context.log_alarm, oracle::kPlaceCells,
                                                  context.settings.tolerance);
  conclude(context, sample, finding.log_e_value,
           {visible, std::string("of ") + kPlacesOfTokens, kCoarsestOfPlaces},
           std::to_string(tokens) + " tokens of " + answers, verdict);
  verdict.effect = place_effect(context, finding);
}

oracle::Witness conditional_witness(const CheckContext& context, const LawSample& sample,
                                    const ConditionalFinding& finding) {
  LawCache laws(*context.settings.target);
  if (finding.impossible) return impossible_witness(*finding.impossible, laws.vocab_size());
  std::map<std::uint64_t, ContextCounts> contexts;
  std::map<std::size_t, Share> likeliest;
  for (const Answer& answer : sample.answers) {
    for_each_token(laws, answer, [&](ContextLaw& law, std::size_t position, Token token) {
      ContextCounts& counts = contexts[law.id];
      if (counts.total++ == 0) {
        counts.kept = law.target;
        counts.position = position;
        counts.first = answer;
      }
      ++counts.counts[token];
      const std::size_t top = top_of(law.target);
      likeliest[position].add(law.target[top], static_cast<std::size_t>(token) == top);
    });
  }
  oracle::Witness witness;
  double most = -1;
  for (const auto& [position, share] : likeliest) {
    if (std::fabs(share.departure()) <= most) continue;
    most = std::fabs(share.departure());
    witness.let = "token " + std::to_string(position + 1) + " of the answers to every prompt of " +
                  "setting " + context.setting.id;
    witness.expected = "the likeliest token of its own law in " + share.due_words() + " of them";
    witness.observed = "in " + share.came_words("answers");
  }
  for (const auto& [id, counts] : contexts) {
    for (std::size_t token = 0; token < counts.kept.size(); ++token) {
      const auto at = counts.counts.find(static_cast<Token>(token));
      const auto total = static_cast<double>(counts.total);
      const double probability = counts.kept[token];
      const Share share{probability * total, probability * (1 - probability) * total,
                        at == counts.counts.end() ? 0 : at->second, counts.total};
      if (std::fabs(share.departure()) <= most) continue;
      most = std::fabs(share.departure());
      witness.let = words_of(counts.first.audit_case->request);
      witness.replay = counts.first.audit_case->id;
      witness.expected = "token " + std::to_string(token) + " at position " +
                         std::to_string(counts.position + 1) + ", " +
                         prefix_words(counts.first, counts.position) + ", in " + share.due_words() +
                         " of the answers that come to this context";
      witness.observed = "in " + share.came_words("tokens there");
    }
  }
  witness.because = "the bet '" + finding.evidence.strongest() +
                    "' has grown most: " + against_words(finding.log_e_value);
  return witness;
}

std::vector<std::string> origin_notes(const CheckContext& context, const LawSample& sample) {
  constexpr std::array<const char*, 3> kNames = {"accepted", "recovered", "bonus"};
  std::array<Share, 3> shares;
  LawCache laws(*context.settings.target);
  for (const Answer& answer : sample.answers) {
    const auto& steps = answer.transcript->completion.steps;
    if (steps.empty()) continue;
    // By position behind the first token, which is the prefill's: each step emits what it accepted
    // and one more.
    std::vector<std::size_t> origins = {kNames.size()};
    for (const VerifyStep& step : steps) {
      origins.insert(origins.end(),
                     static_cast<std::size_t>(std::max<std::int64_t>(step.accepted, 0)), 0);
      origins.push_back(step.accepted < static_cast<std::int64_t>(step.draft_ids.size()) ? 1 : 2);
    }
    for_each_token(laws, answer, [&](ContextLaw& law, std::size_t position, Token token) {
      if (position >= origins.size() || origins[position] >= kNames.size()) return;
      const std::size_t top = top_of(law.target);
      shares[origins[position]].add(law.target[top], static_cast<std::size_t>(token) == top);
    });
  }
  std::vector<std::string> notes;
  for (std::size_t origin = 0; origin < kNames.size(); ++origin)
    if (shares[origin].total > 0)
      notes.push_back(std::string(kNames[origin]) + " tokens are the likeliest of their law in " +
                      shares[origin].came_words("positions") +
                      "; the target's laws alone: " + shares[origin].due_words() +
                      " (a description: right engines differ here too)");
  return notes;
}

}  // namespace draftproof::properties::audits
