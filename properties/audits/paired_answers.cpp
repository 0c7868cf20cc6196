#include "properties/audits/paired_answers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "oracle/distance.h"
#include "oracle/family.h"
#include "oracle/power.h"
#include "oracle/two_sample.h"
#include "properties/audits/findings.h"
#include "properties/audits/law_sample.h"
#include "properties/audits/words.h"

namespace draftproof::properties::audits {
namespace {

using reference::Token;

/// Where nobody says how many there are.
constexpr std::uint64_t kVocabSizeMax = std::uint64_t{1} << 20;

std::uint64_t vocab_bound(const CheckContext& context) {
  const int told = vocab_size_of(context);
  return told > 0 ? static_cast<std::uint64_t>(told) : kVocabSizeMax;
}

bool can_be_compared(const Transcript& transcript, std::uint64_t vocab_size) {
  if (transcript.completion.end == CompletionEnd::kFailed) return false;
  return std::all_of(
      transcript.completion.token_ids.begin(), transcript.completion.token_ids.end(),
      [&](Token token) { return token >= 0 && static_cast<std::uint64_t>(token) < vocab_size; });
}

class Pairing {
 public:
  explicit Pairing(const CheckContext& context) : vocab_size_(vocab_bound(context)) {}

  void add(const AuditCase& audit_case, const Transcript& one, const Transcript& other) {
    if (can_be_compared(one, vocab_size_) && can_be_compared(other, vocab_size_)) {
      sample_.pairs.push_back({&audit_case, &one, &other});
    } else {
      ++sample_.left_out;
    }
  }
  void end_look() { sample_.looks.push_back(sample_.pairs.size()); }
  PairSample take() { return std::move(sample_); }

 private:
  std::uint64_t vocab_size_;
  PairSample sample_;
};

/// Cells of what came at a position, the end among them, as counts of both sides.
using Sides = std::array<std::uint64_t, 2>;
using Cells = std::map<std::pair<const AuditCase*, Token>, Sides>;

Token token_at(const Transcript& transcript, std::size_t position) {
  const auto& tokens = transcript.completion.token_ids;
  return position < tokens.size() ? tokens[position] : reference::kPlaceholder;
}

Cells cells_at(const PairSample& sample, std::size_t position) {
  Cells cells;
  for (const AnswerPair& pair : sample.pairs) {
    ++cells[{pair.audit_case, token_at(*pair.one, position)}][0];
    ++cells[{pair.audit_case, token_at(*pair.other, position)}][1];
  }
  return cells;
}

/// The token that drafts reach first.
std::size_t effect_position(const CheckContext& context) {
  return context.setting.request.max_tokens > 1 ? 1 : 0;
}

}  // namespace

PairSample pairs_of_arms(const CheckContext& context) {
  Pairing pairing(context);
  std::uint64_t from = 0;
  for (const std::uint64_t to : look_sizes(context, Arm::kSpeculative)) {
    for (const AuditCase* each : context.cases) {
      if (each->seeding != Seeding::kIndependent) continue;
      const auto& ones = context.evidence.of(each->id, Arm::kBaseline);
      const auto& others = context.evidence.of(each->id, Arm::kSpeculative);
      for (auto at = ones.lower_bound(from); at != ones.end() && at->first < to; ++at)
        if (const auto other = others.find(at->first); other != others.end())
          pairing.add(*each, at->second, other->second);
    }
    pairing.end_look();
    from = to;
  }
  return pairing.take();
}

PairSample pairs_of_baseline(const CheckContext& context) {
  Pairing pairing(context);
  std::uint64_t from = 0;
  for (const std::uint64_t size : look_sizes(context, Arm::kBaseline)) {
    const std::uint64_t to = size / 2 * 2;
    for (const AuditCase* each : context.cases) {
      const auto& trials = context.evidence.of(each->id, Arm::kBaseline);
      for (auto at = trials.lower_bound(from); at != trials.end() && at->first < to; ++at)
        if (const auto other = trials.find(at->first + 1);
            at->first % 2 == 0 && other != trials.end())
          pairing.add(*each, at->second, other->second);
    }
    pairing.end_look();
    from = to;
  }
  return pairing.take();
}

PairFinding pair_finding(const CheckContext& context, const PairSample& sample, double tolerance) {
  PairFinding finding;
  std::map<const AuditCase*, std::size_t> places;
  std::vector<oracle::TwoSampleEvidence> prompts;
  for (const AuditCase* each : context.cases) {
    places[each] = prompts.size();
    prompts.emplace_back(vocab_bound(context));
  }
  std::vector<double> slack(prompts.size());
  std::size_t done = 0;
  for (const std::size_t look : sample.looks) {
    for (; done < look; ++done) {
      const AnswerPair& pair = sample.pairs[done];
      const std::size_t place = places.at(pair.audit_case);
      prompts[place].add(pair.one->completion.token_ids, pair.other->completion.token_ids);
      slack[place] += tolerance * static_cast<double>(pair.other->completion.token_ids.size());
    }
    std::vector<double> each;
    for (std::size_t i = 0; i < prompts.size(); ++i)
      if (prompts[i].pair_count() > 0) each.push_back(prompts[i].log_e_value() - slack[i]);
    finding.log_e_value = std::max(finding.log_e_value, oracle::log_combined(each));
    ++finding.look_count;
  }
  finding.slack = std::accumulate(slack.begin(), slack.end(), 0.0);
  finding.cell_count = cells_at(sample, effect_position(context)).size();
  return finding;
}

oracle::Effect pair_effect(const CheckContext& context, const PairSample& sample,
                           const PairFinding& finding, std::size_t position) {
  std::vector<std::uint64_t> ones, others;
  for (const auto& [cell, counts] : cells_at(sample, position)) {
    ones.push_back(counts[0]);
    others.push_back(counts[1]);
  }
  const std::size_t look = finding.look_count == 0 ? 0 : finding.look_count - 1;
  oracle::Effect effect =
      oracle::effect_between(others, ones, oracle::share_of_look(context.miss, look));
  effect.of = "token " + std::to_string(position + 1) + " of the answers";
  return effect;
}

std::string words_of(const oracle::Effect& effect) {
  return "TV " + rounded(effect.total_variation) + " (" +
         rounded(effect.total_variation_bounds.low) + " to " +
         rounded(effect.total_variation_bounds.high) + ")";
}

oracle::Witness pair_witness(const PairSample& sample, double log_e_value, const char* one_name,
                             const char* other_name) {
  struct Node {
    Sides total = {};
    std::map<Token, Sides> tokens;
  };
  std::map<std::pair<const AuditCase*, std::vector<Token>>, Node> nodes;
  constexpr std::size_t kDepth = 3;
  for (const AnswerPair& pair : sample.pairs)
    for (const std::size_t side : {0U, 1U}) {
      const Transcript& answer = side == 0 ? *pair.one : *pair.other;
      std::vector<Token> prefix;
      for (std::size_t position = 0; position < kDepth; ++position) {
        Node& node = nodes[{pair.audit_case, prefix}];
        const Token token = token_at(answer, position);
        ++node.total[side];
        ++node.tokens[token][side];
        if (token == reference::kPlaceholder) break;
        prefix.push_back(token);
      }
    }
  oracle::Witness witness;
  double most = -1;
  for (const auto& [place, node] : nodes)
    for (const auto& [token, counts] : node.tokens) {
      const auto one_total = static_cast<double>(std::max<std::uint64_t>(node.total[0], 1));
      const auto other_total = static_cast<double>(std::max<std::uint64_t>(node.total[1], 1));
      const double one = static_cast<double>(counts[0]) / one_total;
      const double other = static_cast<double>(counts[1]) / other_total;
      const double pooled = static_cast<double>(counts[0] + counts[1]) / (one_total + other_total);
      const double score =
          std::fabs(one - other) /
          std::sqrt(std::max(pooled * (1 - pooled), 1 / (one_total + other_total)) *
                    (1 / one_total + 1 / other_total));
      if (score <= most) continue;
      most = score;
      const std::string what = token == reference::kPlaceholder
                                   ? "the answer ends"
                                   : "token " + std::to_string(token) + " comes";
      witness.let = words_of(place.first->request);
      witness.replay = place.first->id;
      const std::string behind =
          place.second.empty()
              ? " first"
              : " behind the emitted tokens " + words_of(std::span<const Token>(place.second));
      witness.expected = what + behind + " in " + percent(one) + " of " +
                         std::to_string(node.total[0]) + " answers, " + one_name;
      witness.observed = "in " + percent(other) + " of " + std::to_string(node.total[1]) +
                         " answers, " + other_name;
    }
  witness.because =
      "of all tokens behind " + std::to_string(nodes.size()) +
      " prefixes these shares differ most; all answers together: " + against_words(log_e_value);
  return witness;
}

void conclude(const CheckContext& context, const PairSample& sample, const PairFinding& finding,
              oracle::Verdict& verdict) {
  verdict.trials = sample.pairs.size();
  verdict.log_e_value = finding.log_e_value;
  verdict.log_alarm = context.log_alarm;
  if (sample.left_out > 0)
    verdict.notes.push_back(std::to_string(sample.left_out) +
                            " pairs have an answer that failed or is none, and are not in the "
                            "sample");
  if (sample.pairs.empty()) {
    verdict.evidence = "no pairs of answers are there";
    return;
  }
  verdict.evidence = std::to_string(sample.pairs.size()) + " pairs of answers";
  const std::size_t position = effect_position(context);
  verdict.effect = pair_effect(context, sample, finding, position);
  if (position > 0)
    verdict.notes.push_back("token 1, which no draft reaches: " +
                            words_of(pair_effect(context, sample, finding, 0)));
  const double visible = oracle::visible_distance_of_pairs(
      sample.pairs.size(), context.log_alarm,
      static_cast<std::size_t>(std::max<std::uint64_t>(finding.cell_count, 2)),
      finding.slack / static_cast<double>(sample.pairs.size()));
  if (finding.log_e_value >= context.log_alarm) {
    verdict.kind = oracle::VerdictKind::kViolated;
  } else if (are_too_many_lost(sample.left_out, sample.pairs.size())) {
    verdict.evidence += ": too many pairs are left out, and theirs may be those that show it";
  } else {
    uphold_what_is_seen(context, {visible, "at token " + std::to_string(position + 1)}, verdict);
  }
}

}  // namespace draftproof::properties::audits
