// Rescored parity: greedy decoding where there is one server only. Each token at temperature 0 is
// the likeliest of the row that comes back when the answer is read again, which is held against
// every token by itself, since each row is that of the prefix that was emitted. Where another is
// likelier, the margin decides (oracle/margin.h): the floor is the largest difference between two
// readings of one prompt, and below the rounding of bfloat16 a margin convicts nobody, since a
// verification sums in another order than a reading (vllm-project/vllm#54506).
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "oracle/margin.h"
#include "properties/audits/findings.h"
#include "properties/audits/scores.h"
#include "properties/audits/words.h"
#include "reference/contract.h"

namespace draftproof::properties::audits {
namespace {

using oracle::PartingKind;
using reference::Token;

/// As in partings.cpp: two units of bfloat16 at logits of 16 to 32.
constexpr double kReadingFaultMin = 0.25;

/// Logarithms by token; `rest`: of all others at most.
struct ReadRow {
  std::map<Token, double> logits;
  double rest = -std::numeric_limits<double>::infinity();
};

struct ReadingTally {
  std::uint64_t likeliest = 0, ties = 0, near_ties = 0, faults = 0, undecided = 0, answers = 0;
  std::uint64_t lost = 0;  ///< requests that failed, or whose answer was not scored
  double margin_max = 0;   ///< of near ties and of what is not decided
  std::string obstacle;
  const Transcript* wrong = nullptr;
  oracle::Witness witness;

  std::uint64_t tokens() const { return likeliest + ties + near_ties + faults + undecided; }
};

class Reading {
 public:
  explicit Reading(const CheckContext& context)
      : context_(context),
        contract_(reference::contract(context.settings.contract)),
        vocab_size_(static_cast<std::size_t>(std::max(vocab_size_of(context), 0))) {
    measure();
    const double declared =
        std::max(context.settings.near_tie_bound, 2 * context.settings.tolerance);
    near_ = std::max(declared, 2 * floor_.bound);
    // Where the law is known, and the slack of the arithmetic with it, nothing else is rounding.
    fault_ = context.settings.target != nullptr || context.settings.near_tie_bound > 0
                 ? near_
                 : std::max(near_, kReadingFaultMin);
  }

  ReadingTally all() {
    ReadingTally tally;
    for_each_transcript(context_, Arm::kSpeculative, [&](const AuditCase&, const Transcript& each) {
      if (each.key.repeat == 0) add(each, tally);
    });
    return tally;
  }

  double near() const { return near_; }
  double fault() const { return fault_; }
  const oracle::NoiseFloor& floor() const { return floor_; }

 private:
  /// Readings of one prompt: its rows do not know what follows.
  void measure() {
    for (const AuditCase* each : context_.cases) {
      const Transcript* first = nullptr;
      for (const auto& [trial, score] :
           context_.evidence.of(each->id, Arm::kSpeculative, kScoreRepeat)) {
        if (score.completion.end == CompletionEnd::kFailed) continue;
        if (first == nullptr) {
          first = &score;
          continue;
        }
        const auto& one = first->completion.top_logprobs;
        const auto& other = score.completion.top_logprobs;
        const std::size_t size = std::min(
            {one.size(), other.size(), first->request.prompt.size(), score.request.prompt.size()});
        for (std::size_t i = 0; i < size; ++i) {
          add_gaps(one[i], other[i]);
          if (first->request.prompt[i] != score.request.prompt[i]) break;
        }
      }
    }
  }

  void add_gaps(const std::vector<TokenLogprob>& one, const std::vector<TokenLogprob>& other) {
    for (const TokenLogprob& here : one)
      for (const TokenLogprob& there : other) {
        if (here.token != there.token || !std::isfinite(here.logprob + there.logprob)) continue;
        floor_.bound = std::max(floor_.bound, std::fabs(here.logprob - there.logprob));
        ++floor_.gap_count;
      }
  }

  void add(const Transcript& answer, ReadingTally& tally) {
    if (!tally.obstacle.empty()) return;
    const bool has_failed = answer.completion.end == CompletionEnd::kFailed;
    const Transcript* score = score_of(context_, answer.key);
    if (score == nullptr || has_failed) {
      tally.lost += has_failed || has_lost_its_score(context_, answer) ? 1 : 0;
      return;
    }
    tally.obstacle = score_obstacle(*score, answer);
    if (!tally.obstacle.empty()) return;
    ++tally.answers;
    for (std::size_t i = 0; i < answer.completion.token_ids.size(); ++i) {
      const auto row = row_at(*score, answer, i, tally.obstacle);
      if (!row) return;
      judge(answer, i, *row, tally);
    }
  }

  std::optional<ReadRow> row_at(const Transcript& score, const Transcript& answer,
                                std::size_t position, std::string& obstacle) const {
    const std::size_t index = answer.request.prompt.size() + position;
    const auto& reported = score.completion.top_logprobs[index];
    ReadRow row;
    if (answer.request.adjustments == reference::Adjustments{}) {
      // The token's own comes besides, which changes nothing here: it is the one that is judged.
      if (reported.size() < 1 || (reported.size() < 2 && vocab_size_ != 1))
        obstacle = "the server gave no candidates of a position";
      for (const TokenLogprob& each : reported) row.logits[each.token] = each.logprob;
      for (const auto& [token, logit] : row.logits) row.rest = std::max(row.rest, logit);
      for (const auto& [token, logit] : row.logits) row.rest = std::min(row.rest, logit);
    } else if (vocab_size_ == 0 || reported.size() < vocab_size_) {
      obstacle = "penalties and biases need the whole row, and " + std::to_string(reported.size()) +
                 " candidates are reported";
    } else {
      std::vector<float> logits(vocab_size_, -std::numeric_limits<float>::infinity());
      for (const TokenLogprob& each : reported)
        if (each.token >= 0 && static_cast<std::size_t>(each.token) < vocab_size_)
          logits[static_cast<std::size_t>(each.token)] = static_cast<float>(each.logprob);
      SamplingRequest plain = answer.request;
      plain.sampling = {};
      const std::span<const Token> emitted = answer.completion.token_ids;
      const auto law = shaped_law(contract_, logits, plain, emitted.first(position));
      for (std::size_t i = 0; i < law.size(); ++i)
        row.logits[static_cast<Token>(i)] = std::log(law[i]);
    }
    if (!obstacle.empty()) return {};
    return row;
  }

  void judge(const Transcript& answer, std::size_t position, const ReadRow& row,
             ReadingTally& tally) const {
    const Token own = answer.completion.token_ids[position];
    const auto top = std::max_element(
        row.logits.begin(), row.logits.end(),
        [](const auto& one, const auto& other) { return one.second < other.second; });
    const auto at = row.logits.find(own);
    const double logit = at != row.logits.end() ? at->second : row.rest;
    if (top->first == own) {
      ++tally.likeliest;
      return;
    }
    const std::vector<double> logits = {top->second, logit};
    const oracle::Parting parting = oracle::parting(position, 0, 1, logits, near_);
    if (parting.kind == PartingKind::kTie) {
      ++tally.ties;
    } else if (parting.kind == PartingKind::kNearTie) {
      ++tally.near_ties;
      tally.margin_max = std::max(tally.margin_max, parting.margin);
    } else if (parting.margin <= fault_) {
      ++tally.undecided;
      tally.margin_max = std::max(tally.margin_max, parting.margin);
    } else if (tally.faults++ == 0) {
      tell(answer, position, top->first, parting.margin, tally);
    }
  }

  void tell(const Transcript& answer, std::size_t position, Token likeliest, double margin,
            ReadingTally& tally) const {
    const std::span<const Token> emitted = answer.completion.token_ids;
    tally.wrong = &answer;
    tally.witness.expected = "token " + std::to_string(likeliest) + ", the likeliest behind " +
                             words_of(emitted.first(position)) + " when the answer is read again";
    tally.witness.observed =
        "token " + std::to_string(emitted[position]) + " at position " +
        std::to_string(position + 1) +
        (std::isfinite(margin) ? ", less likely by " + rounded(margin) + " nats"
                               : ", of probability 0");
    tally.witness.because = "no rounding explains more than " + rounded(fault_);
  }

  const CheckContext& context_;
  const reference::Contract& contract_;
  std::size_t vocab_size_;
  oracle::NoiseFloor floor_;
  double near_ = 0, fault_ = 0;
};

std::string reading_words(const ReadingTally& tally, const Reading& reading) {
  std::string text = of_all(tally.likeliest, tally.tokens()) + " tokens of " +
                     std::to_string(tally.answers) + " scored answers are the likeliest";
  const auto add = [&](std::uint64_t number, const char* name) {
    if (number > 0) text += ", " + std::to_string(number) + " " + name;
  };
  add(tally.ties, "ties");
  add(tally.near_ties, "near ties");
  add(tally.undecided, "not decided");
  add(tally.faults, "that no rounding explains");
  text += "; two readings of one prompt differ by " + rounded(reading.floor().bound) +
          " at most (" + std::to_string(reading.floor().gap_count) + " gaps)";
  return text;
}

}  // namespace

oracle::Verdict rescored_parity(const CheckContext& context) {
  oracle::Verdict verdict = begun(context);
  Reading reading(context);
  ReadingTally tally = reading.all();
  verdict.trials = tally.answers;
  if (!tally.obstacle.empty() || tally.tokens() == 0) {
    verdict.evidence = tally.obstacle.empty() ? "no answer was scored" : tally.obstacle;
    return verdict;
  }
  verdict.evidence = reading_words(tally, reading);
  verdict.assumption = kWhatRescoringJudges;
  verdict.cells = {{"likeliest", tally.likeliest},
                   {"tie", tally.ties},
                   {"near tie", tally.near_ties},
                   {"fault", tally.faults},
                   {"not decided", tally.undecided}};
  if (tally.wrong != nullptr) {
    refute(context, verdict, *tally.wrong, oracle::Label::kLossy, std::move(tally.witness));
  } else if (tally.undecided > 0) {
    verdict.notes.push_back("not decided: tokens below the likeliest by up to " +
                            rounded(tally.margin_max) + ", above the measured floor of " +
                            rounded(reading.near()) + " and below " + rounded(reading.fault()) +
                            ", the rounding that bfloat16 may bring");
  } else {
    verdict.kind = oracle::VerdictKind::kUpheld;
    if (tally.ties + tally.near_ties > 0) verdict.label = oracle::Label::kNearTie;
    verdict.smallest_visible_effect = "another token, by more than " + rounded(reading.near()) +
                                      ", at " +
                                      visible_share_words(context, tally.tokens(), "all tokens");
  }
  verdict = unless_too_many_lost(tally.lost, tally.answers, "answers failed or were not scored",
                                 std::move(verdict));
  return unless_never_drafted(context, std::move(verdict));
}

}  // namespace draftproof::properties::audits
