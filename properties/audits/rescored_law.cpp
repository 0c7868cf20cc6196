// Rescored law: where there is one server only, which always drafts, and nobody knows its law, it
// can be asked to read its own answers: the rows behind every prefix, computed in one pass without
// any draft, shaped here as the contract says, are the laws that its tokens must have had. Judges
// acceptance and state: a model that is wrong reads its wrong answers with the same wrong rows.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "properties/audits/conditional_law.h"
#include "properties/audits/findings.h"
#include "properties/audits/scores.h"
#include "properties/audits/words.h"
#include "reference/contract.h"
#include "reference/error.h"

namespace draftproof::properties::audits {
namespace {

using reference::Token;

/// One row as far as it was reported: candidates, and one cell for all others where they matter.
struct RescoredRow {
  std::vector<double> law;
  std::map<Token, Token> cells;  ///< token -> cell; others are in the last cell
  bool has_others = false;

  Token cell_of(Token token) const {
    const auto at = cells.find(token);
    if (at != cells.end()) return at->second;
    return has_others ? static_cast<Token>(law.size() - 1) : static_cast<Token>(law.size());
  }
};

/// Whether what a filter keeps is among the `count` likeliest candidates.
bool keeps_within(const reference::Sampling& sampling, std::size_t count) {
  return sampling.top_k > 0 && static_cast<std::size_t>(sampling.top_k) <= count;
}

bool is_unfiltered(const reference::Sampling& sampling) {
  return sampling.temperature == 1 && sampling.top_k <= 0 && sampling.top_p >= 1 &&
         sampling.min_p <= 0;
}

/// Why the law cannot be built from so many candidates of a row; empty: it can.
std::string obstacle_of(const SamplingRequest& request, std::size_t candidate_count,
                        std::size_t vocab_size) {
  if (candidate_count == 0)
    return "of a position no candidates came, or how many were asked for is not told";
  if (vocab_size > 0 && candidate_count >= vocab_size) return "";
  if (request.adjustments != reference::Adjustments{})
    return "penalties and biases need the whole row, and " + std::to_string(candidate_count) +
           " candidates are reported";
  if (keeps_within(request.sampling, candidate_count) || is_unfiltered(request.sampling)) return "";
  return std::to_string(candidate_count) +
         " candidates of a row are reported: enough for temperature 1 without filters, or for "
         "top_k "
         "of " +
         std::to_string(candidate_count) + " at most, which this setting does not have";
}

/// Precondition: obstacle_of() is empty. Of a whole row ids are cells.
RescoredRow row_of(const reference::Contract& contract, const SamplingRequest& request,
                   const std::vector<TokenLogprob>& candidates, std::span<const Token> emitted,
                   std::size_t vocab_size) {
  RescoredRow row;
  std::vector<float> logits;
  const bool is_whole = vocab_size > 0 && candidates.size() >= vocab_size;
  if (is_whole) {
    logits.assign(vocab_size, -std::numeric_limits<float>::infinity());
    for (const TokenLogprob& each : candidates) {
      if (each.token < 0 || static_cast<std::size_t>(each.token) >= vocab_size) continue;
      logits[static_cast<std::size_t>(each.token)] = static_cast<float>(each.logprob);
      row.cells[each.token] = each.token;
    }
    row.law = shaped_law(contract, logits, request, emitted);
    return row;
  }
  double mass = 0;
  for (const TokenLogprob& each : candidates) {
    if (!row.cells.try_emplace(each.token, static_cast<Token>(logits.size())).second) continue;
    logits.push_back(static_cast<float>(each.logprob));
    mass += std::exp(each.logprob);
  }
  if (!keeps_within(request.sampling, logits.size())) {
    row.has_others = true;
    logits.push_back(static_cast<float>(std::log(std::max(1 - mass, 0.0))));
  }
  row.law = shaped_law(contract, logits, request, {});
  return row;
}

struct Rescored {
  oracle::ConditionalEvidence evidence;
  double log_e_value = 0;
  std::uint64_t answers = 0, unscored = 0;
  std::string obstacle;
  const Transcript* impossible = nullptr;
  oracle::Witness witness;
};

class Rescoring {
 public:
  explicit Rescoring(const CheckContext& context)
      : context_(context),
        contract_(reference::contract(context.settings.contract)),
        vocab_size_(static_cast<std::size_t>(std::max(vocab_size_of(context), 0))) {
    found_.evidence = oracle::ConditionalEvidence(context.settings.tolerance);
  }

  Rescored over(const LawSample& sample) {
    std::size_t done = 0;
    for (const std::size_t look : sample.looks) {
      for (; done < look && found_.obstacle.empty(); ++done) add(sample.answers[done]);
      found_.log_e_value = std::max(found_.log_e_value, found_.evidence.log_e_value());
    }
    return std::move(found_);
  }

 private:
  void add(const Answer& answer) {
    const TrialKey& key = answer.transcript->key;
    const Transcript* score = score_of(context_, key);
    if (score == nullptr) {
      found_.unscored += has_lost_its_score(context_, *answer.transcript) ? 1 : 0;
      return;
    }
    const Prompt& prompt = answer.transcript->request.prompt;
    found_.obstacle = score_obstacle(*score, *answer.transcript);
    if (!found_.obstacle.empty()) return;
    ++found_.answers;
    for (std::size_t position = 0; position < answer.tokens.size(); ++position) {
      const auto candidates = candidates_at(*score, prompt.size() + position, vocab_size_);
      found_.obstacle = obstacle_of(answer.audit_case->request, candidates.size(), vocab_size_);
      if (!found_.obstacle.empty()) return;
      const RescoredRow row = row_of(contract_, answer.audit_case->request, candidates,
                                     answer.tokens.first(position), vocab_size_);
      const Token cell = row.cell_of(answer.tokens[position]);
      const std::set<Token> ties =
          near_ties(row, score->completion.top_logprobs[prompt.size() + position]);
      // Nobody knows the law of a row that a filter cuts so close, whichever token came.
      if (!ties.empty() && (!is_dropped(row, cell) || ties.contains(answer.tokens[position])))
        continue;
      if (is_dropped(row, cell) && found_.impossible == nullptr) tell_impossible(answer, position);
      found_.evidence.add(oracle::PositionLaws{row.law, {}}, cell,
                          place_coin(context_.matrix, key, position));
    }
  }

  static bool is_dropped(const RescoredRow& row, Token cell) {
    return static_cast<std::size_t>(cell) >= row.law.size() ||
           row.law[static_cast<std::size_t>(cell)] <= 0;
  }

  /// What a filter drops by less than two passes of the server may differ.
  std::set<Token> near_ties(const RescoredRow& row,
                            const std::vector<TokenLogprob>& candidates) const {
    const double slack = 2 * (context_.settings.tolerance + context_.settings.near_tie_bound);
    std::set<Token> ties;
    if (slack <= 0) return ties;
    double least = std::numeric_limits<double>::infinity();
    for (const TokenLogprob& each : candidates)
      if (!is_dropped(row, row.cell_of(each.token))) least = std::min(least, each.logprob);
    for (const TokenLogprob& each : candidates)
      if (is_dropped(row, row.cell_of(each.token)) && each.logprob + slack >= least)
        ties.insert(each.token);
    return ties;
  }

  void tell_impossible(const Answer& answer, std::size_t position) {
    found_.impossible = answer.transcript;
    found_.witness.expected = "token " + std::to_string(position + 1) +
                              " is one that the server's own row gives behind "
                              "the emitted tokens " +
                              words_of(answer.tokens.first(position));
    found_.witness.observed =
        "token " + std::to_string(answer.tokens[position]) + ", of probability exactly 0 there";
    found_.witness.because = "one is enough, if both passes of the server compute one row";
  }

  const CheckContext& context_;
  const reference::Contract& contract_;
  std::size_t vocab_size_;
  Rescored found_;
};

}  // namespace

oracle::Verdict rescored_law(const CheckContext& context) {
  oracle::Verdict verdict = begun(context);
  LawSample sample = law_sample(context, Arm::kSpeculative);
  if (is_nothing(sample, verdict)) return verdict;
  Rescored found = Rescoring(context).over(sample);
  if (!found.obstacle.empty() || found.answers == 0) {
    verdict.evidence = found.obstacle.empty() ? "no answer was scored" : found.obstacle;
    return verdict;
  }
  sample.failed += found.unscored;  // those may be the ones that show it
  sample.judged = found.answers;
  ConditionalFinding places;
  places.evidence = found.evidence;
  places.log_e_value = found.log_e_value;
  places.look_count = sample.looks.size();
  conclude(context, sample, places, std::to_string(found.answers) + " scored answers", verdict);
  verdict.trials = found.answers;
  verdict.assumption = kWhatRescoringJudges;
  if (context.settings.tolerance > 0)
    verdict.assumption += "; two passes differ by a factor of e^" +
                          rounded(context.settings.tolerance) + " a token at most";
  if (verdict.kind == oracle::VerdictKind::kViolated) {
    if (found.impossible == nullptr) {
      found.witness.let = "the answers to every prompt of setting " + context.setting.id;
      found.witness.expected = "tokens whose places in the server's own laws are uniform";
      found.witness.observed = "the bet '" + found.evidence.strongest() + "' has grown most, TV " +
                               rounded(verdict.effect->total_variation) + " of sixteen places";
      found.witness.because = against_words(found.log_e_value);
    }
    const Transcript& shown =
        found.impossible != nullptr ? *found.impossible : *sample.answers.front().transcript;
    refute(context, verdict, shown, oracle::Label::kLossy, std::move(found.witness));
  }
  return unless_never_drafted(context, std::move(verdict));
}

}  // namespace draftproof::properties::audits
