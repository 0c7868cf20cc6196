// Known law: the target's laws are exact numbers, so an engine's tokens are counted against them.
// Two e-processes over the same completions:
//   next token   each token's place in its own law, likeliest first, is uniform (Rosenblatt 1952,
//                with a coin of ours inside the token's share); sixteen cells, all contexts
//                together. Any order of the tokens that is known beforehand would do; sorted by
//                probability a token drawn from a row of another context shows, by vocabulary id
//                it would not (averaged over contexts it is uniform there too).
//   two tokens   tokens 2 and 3 of every prompt, the first that drafts can reach, against their
//                joint law: V^2 cells a prompt, the mean of the prompts' e-values.
// No condition on what was accepted: given that a draft was rejected, a right engine's token does
// not have the target's law.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "oracle/sequential.h"
#include "properties/audits/words.h"
#include "properties/describe.h"
#include "properties/random.h"
#include "reference/error.h"

namespace draftproof::properties::audits {
namespace {

using reference::Token;
using Counts = std::vector<std::uint64_t>;

constexpr std::size_t kPlaces = 16;
constexpr std::size_t kPairBehind = 1;  ///< the pair's tokens are at this index and the next one
constexpr int kPairVocabMax = 64;

/// "0.45"; from ten thousand on "10^9.3".
std::string e_value(double log_evidence) {
  if (std::isinf(log_evidence)) return "infinite";
  const double power = log_evidence / std::log(10.0);
  if (power < 3) return rounded(std::exp(log_evidence));
  return "10^" + short_number(std::round(10 * power) / 10);
}

std::string against(double log_evidence) {
  return "e-value " + e_value(log_evidence) +
         ";\na lossless engine ever comes to x with probability 1/x at most";
}

std::vector<std::size_t> likeliest_first(const std::vector<double>& law) {
  std::vector<std::size_t> order(law.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t first, std::size_t second) { return law[first] > law[second]; });
  return order;
}

/// Places of tokens in their laws. The last cell is for what no law gives.
class Places {
 public:
  explicit Places(std::uint64_t seed) : random_(seed), counts_(kPlaces + 1) {}

  void add(const SamplingRequest& request, std::span<const Token> before, Token token,
           const std::vector<double>& law) {
    const std::vector<std::size_t> order = likeliest_first(law);
    const auto own = static_cast<std::size_t>(token);
    ++tokens_;
    likeliest_due_ += law[order.front()];
    if (own == order.front()) ++likeliest_;
    if (law[own] <= 0) {
      if (counts_.back()++ == 0)
        impossible_ = words_of(request) + "; behind the emitted tokens " + words_of(before) +
                      " came token " + std::to_string(token) + ", of probability 0";
      return;
    }
    double place = law[own] * random_.unit();
    for (const std::size_t other : order) {
      if (other == own) break;
      place += law[other];
    }
    ++counts_[std::min(static_cast<std::size_t>(place * kPlaces), kPlaces - 1)];
  }
  void add_none(const std::string& reason) {
    if (counts_.back()++ == 0) impossible_ = reason;
  }

  double log_evidence() const { return oracle::log_evidence(counts_, law()); }
  std::uint64_t tokens() const { return tokens_; }
  static std::vector<double> law() {
    std::vector<double> law(kPlaces, 1.0 / kPlaces);
    law.push_back(0);
    return law;
  }

  oracle::Witness witness(const std::string& let, double log_evidence) const {
    oracle::Witness witness;
    witness.let = let;
    const auto total = static_cast<double>(tokens_);
    if (!impossible_.empty()) {
      witness.expected = "tokens that the target's law gives";
      witness.observed = impossible_;
      witness.because = "no law of the target explains it: one is enough";
      return witness;
    }
    witness.expected = "the likeliest token of its own law at " + percent(likeliest_due_ / total) +
                       " of the positions";
    witness.observed = "it came at " + percent(static_cast<double>(likeliest_) / total) + " of " +
                       std::to_string(tokens_) + " positions";
    witness.because =
        "places of the tokens in their laws are not uniform: " + against(log_evidence);
    return witness;
  }

 private:
  Random random_;
  Counts counts_;
  std::uint64_t tokens_ = 0, likeliest_ = 0;
  double likeliest_due_ = 0;
  std::string impossible_;
};

/// Tokens 2 and 3 of one prompt. The last cell is for what is no pair.
class Pairs {
 public:
  Pairs(const KnownTarget& target, SamplingRequest request)
      : request_(std::move(request)), vocab_size_(static_cast<std::size_t>(target.vocab_size())) {
    law_.resize(vocab_size_ * vocab_size_ + 1);
    counts_.resize(law_.size());
    std::vector<Token> emitted;
    add_law(target, emitted, 1);
  }

  void add(const std::vector<Token>& tokens) {
    ++counts_[tokens.size() < kPairBehind + 2 ? counts_.size() - 1 : cell_of(tokens)];
    ++total_;
  }

  double log_evidence() const { return oracle::log_evidence(counts_, law_); }
  const std::vector<double>& law() const { return law_; }

  /// The pair that departs most; `log_evidence` is that of all prompts, since this one was chosen.
  oracle::Witness witness(double log_evidence) const {
    std::size_t worst = 0;
    double most = -1;
    for (std::size_t cell = 0; cell < law_.size(); ++cell) {
      const double due = law_[cell] * static_cast<double>(total_);
      const double off = std::fabs(static_cast<double>(counts_[cell]) - due);
      const double score = off / std::sqrt(std::max(due, 1e-9));
      if (score <= most) continue;
      most = score;
      worst = cell;
    }
    const std::string pair = worst + 1 == law_.size()
                                 ? "fewer than three tokens"
                                 : "tokens 2 and 3 are " + std::to_string(worst / vocab_size_) +
                                       " " + std::to_string(worst % vocab_size_);
    oracle::Witness witness;
    witness.let = words_of(request_);
    witness.expected = pair + " in " + percent(law_[worst]) + " of the completions";
    witness.observed = "in " +
                       percent(static_cast<double>(counts_[worst]) / static_cast<double>(total_)) +
                       " of " + std::to_string(total_) + " completions";
    witness.because = "the pair that departs most of " + std::to_string(vocab_size_ * vocab_size_) +
                      "; all prompts together:\n" + against(log_evidence);
    return witness;
  }

 private:
  std::size_t cell_of(const std::vector<Token>& tokens) const {
    return static_cast<std::size_t>(tokens[kPairBehind]) * vocab_size_ +
           static_cast<std::size_t>(tokens[kPairBehind + 1]);
  }

  void add_law(const KnownTarget& target, std::vector<Token>& emitted, double weight) {
    const std::vector<double> law = target.next(request_, emitted);
    for (std::size_t token = 0; token < law.size(); ++token) {
      if (law[token] <= 0) continue;
      emitted.push_back(static_cast<Token>(token));
      if (emitted.size() == kPairBehind + 2) {
        law_[cell_of(emitted)] += weight * law[token];
      } else {
        add_law(target, emitted, weight * law[token]);
      }
      emitted.pop_back();
    }
  }

  SamplingRequest request_;
  std::size_t vocab_size_;
  std::vector<double> law_;
  Counts counts_;
  std::uint64_t total_ = 0;
};

class Sample {
 public:
  Sample(Engine& engine, const KnownTarget& target, const AuditSettings& settings)
      : engine_(engine), target_(target), settings_(settings), places_(settings.seed) {
    // Spread over all prompts, which are of all lengths.
    const std::size_t count = std::min(settings.sampled_prompts, settings.prompts.size());
    for (std::size_t i = 0; i < count; ++i) {
      const Prompt& prompt = settings.prompts[i * settings.prompts.size() / count];
      requests_.push_back(request_for(settings, prompt, {}));
      requests_.back().seed.reset();  // with one of its own all completions would be the same draw
      if (has_pairs()) pairs_.emplace_back(target, requests_.back());
    }
    log_alarm_ = -std::log(settings.false_alarms);
  }

  /// Until all have been drawn or every law has raised its alarm.
  void draw() {
    for (std::size_t done = 0; done < settings_.sample_count; done += settings_.batch_size) {
      for (std::size_t i = 0; i < requests_.size(); ++i) {
        const auto count = std::min(settings_.batch_size, settings_.sample_count - done);
        for (const Completion& completion :
             engine_.generate(Arm::kSpeculative, {count, requests_[i]}))
          add(i, completion);
      }
      look(places_.log_evidence(), place_evidence_);
      look(mean_of_pairs(), pair_evidence_);
      if (place_evidence_ >= log_alarm_ && pair_evidence_ >= log_alarm_) return;
    }
  }

  oracle::Verdict next_token() const {
    oracle::Verdict verdict =
        verdict_of(engine_, "next_token_law", oracle::Claim::kMarginalLossless);
    judge(verdict, place_evidence_,
          places_.witness(words_of(requests_.front()) + others(), place_evidence_));
    if (verdict.kind == oracle::VerdictKind::kUpheld && places_.tokens() == 0) {
      verdict.kind = oracle::VerdictKind::kInconclusive;
      verdict.evidence = "no token came that could be counted";
      return verdict;
    }
    verdict.evidence = std::to_string(places_.tokens()) + " tokens, " + verdict.evidence;
    verdict.smallest_visible_effect =
        "places off by a total variation of " +
        rounded_up(visible_distance(Places::law(), places_.tokens(), log_alarm_));
    return verdict;
  }

  oracle::Verdict two_tokens() const {
    oracle::Verdict verdict =
        verdict_of(engine_, "two_token_law", oracle::Claim::kSequenceLossless);
    if (!has_pairs()) {
      verdict.evidence = "a vocabulary above " + std::to_string(kPairVocabMax) +
                         ", or fewer than three tokens a completion: no pairs are counted";
      return verdict;
    }
    const auto worst = std::max_element(
        pairs_.begin(), pairs_.end(),
        [](auto& first, auto& second) { return first.log_evidence() < second.log_evidence(); });
    judge(verdict, pair_evidence_, worst->witness(pair_evidence_));
    verdict.evidence =
        std::to_string(pairs_.size()) + " joint laws of tokens 2 and 3, " + verdict.evidence;
    // The mean over m prompts is large when one of them is m times as large.
    const double log_alarm = log_alarm_ + std::log(static_cast<double>(pairs_.size()));
    double distance = 0;
    for (const Pairs& pairs : pairs_)
      distance = std::max(distance,
                          visible_distance(pairs.law(), verdict.trials / pairs_.size(), log_alarm));
    verdict.smallest_visible_effect =
        "a joint law off by a total variation of " + rounded_up(distance);
    return verdict;
  }

 private:
  bool has_pairs() const {
    return target_.vocab_size() <= kPairVocabMax &&
           settings_.request.max_tokens >= static_cast<int>(kPairBehind) + 2;
  }

  void add(std::size_t index, const Completion& completion) {
    ++completions_;
    const SamplingRequest& request = requests_[index];
    if (const auto fault = malformation(request, completion, target_.vocab_size())) {
      places_.add_none(words_of(request) + ": " + *fault);
      if (has_pairs()) pairs_[index].add({});
      return;
    }
    const std::span<const Token> tokens = completion.token_ids;
    for (std::size_t i = 0; i < tokens.size(); ++i)
      places_.add(request, tokens.first(i), tokens[i], law_behind(index, tokens.first(i)));
    if (has_pairs()) pairs_[index].add(completion.token_ids);
  }

  const std::vector<double>& law_behind(std::size_t index, std::span<const Token> emitted) {
    auto& known = laws_[{index, std::vector<Token>(emitted.begin(), emitted.end())}];
    if (known.empty()) known = target_.next(requests_[index], emitted);
    return known;
  }

  /// An alarm stays one, whatever comes behind it; its evidence is then the largest of any look.
  void look(double log_evidence, double& known) const {
    known = known >= log_alarm_ ? std::max(known, log_evidence) : log_evidence;
  }

  /// Without pairs nothing is waited for.
  double mean_of_pairs() const {
    if (!has_pairs()) return log_alarm_;
    std::vector<double> each;
    for (const Pairs& pairs : pairs_) each.push_back(pairs.log_evidence());
    return oracle::log_mean(each);
  }

  std::string others() const {
    return requests_.size() == 1
               ? ""
               : " (and " + std::to_string(requests_.size() - 1) + " more prompts)";
  }

  void judge(oracle::Verdict& verdict, double log_evidence, oracle::Witness witness) const {
    verdict.trials = completions_;
    verdict.evidence = std::to_string(completions_) + " completions, e-value " +
                       e_value(log_evidence) + ", alarm at " + e_value(log_alarm_);
    verdict.kind = oracle::VerdictKind::kUpheld;
    if (log_evidence >= log_alarm_) convict(verdict, std::move(witness), settings_);
  }

  Engine& engine_;
  const KnownTarget& target_;
  const AuditSettings& settings_;
  double log_alarm_ = 0;
  double place_evidence_ = 0, pair_evidence_ = 0;  ///< as look() keeps them
  std::uint64_t completions_ = 0;
  std::vector<SamplingRequest> requests_;
  Places places_;
  std::vector<Pairs> pairs_;
  std::map<std::pair<std::size_t, std::vector<Token>>, std::vector<double>> laws_;
};

}  // namespace

double visible_distance(const std::vector<double>& law, std::uint64_t sample_count,
                        double log_alarm) {
  // Cells go to the lighter half, largest first.
  std::vector<bool> is_raised(law.size());
  double raised = 0, lowered = 0;
  for (const std::size_t cell : likeliest_first(law)) {
    is_raised[cell] = raised <= lowered;
    (is_raised[cell] ? raised : lowered) += law[cell];
  }
  const auto is_seen = [&](double distance) {
    Counts counts;
    for (std::size_t cell = 0; cell < law.size(); ++cell) {
      const double factor = is_raised[cell] ? 1 + distance / raised : 1 - distance / lowered;
      counts.push_back(static_cast<std::uint64_t>(
          std::llround(law[cell] * factor * static_cast<double>(sample_count))));
    }
    return oracle::log_evidence(counts, law) >= log_alarm;
  };
  if (lowered <= 0 || !is_seen(lowered)) return 1;
  double hidden = 0, seen = lowered;
  for (int halving = 0; halving < 40; ++halving) {
    const double middle = (hidden + seen) / 2;
    (is_seen(middle) ? seen : hidden) = middle;
  }
  return seen;
}

std::vector<oracle::Verdict> known_law(Engine& engine, const KnownTarget& target,
                                       const AuditSettings& settings) {
  DRAFTPROOF_CHECK(!settings.prompts.empty() && settings.batch_size > 0 &&
                   settings.sampled_prompts > 0 && settings.sample_count > 0);
  Sample sample(engine, target, settings);
  sample.draw();
  return {sample.next_token(), sample.two_tokens()};
}

}  // namespace draftproof::properties::audits
