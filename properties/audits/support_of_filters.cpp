// Support of filters: no token that a filter or a ban of the request leaves out, however it was
// drafted. Where the target's law is known, a token of probability 0 is a proof, and one of a
// probability so small that no run of this length should meet it convicts at the run's budget.
// Where the law is not known, top-k alone can be told, by the candidates that the baseline reports
// behind the same history: a weaker ground, since it believes the baseline's numbers.
//
// Filters cut where logits or cumulative sums are compared, and rounding may move a cut by a token.
// So a token that is outside is held against filters that are wider by what rounding may do, and
// convicts when it is outside of those as well:
//   top_k   as many more as have a logit within the slack of the k-th
//   top_p   larger by 2 expm1(slack) and by vocab_size 2^-24, what an fp32 sum of so many terms
//           may be off by in any order
//   min_p   smaller by a factor exp(-2 slack) and one rounding
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "properties/audits/findings.h"
#include "properties/audits/words.h"

namespace draftproof::properties::audits {
namespace {

using reference::Token;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Offence {
  const Transcript* transcript = nullptr;
  std::size_t position = 0;
  std::string expected, because;
  double log_evidence = kInfinity;
};

struct Tally {
  std::uint64_t completions = 0, failed = 0;
  std::uint64_t judged = 0;  ///< tokens at which something could be outside
  std::uint64_t tokens = 0;
  std::uint64_t at_the_cut = 0;  ///< outside, and inside of what rounding allows
  std::uint64_t unknown = 0;     ///< tokens behind histories that the baseline did not meet
  std::uint64_t undecided = 0;   ///< tokens that the baseline's candidates there do not tell
  std::optional<Offence> worst;

  void add(Offence offence) {
    if (!worst || offence.log_evidence > worst->log_evidence) worst = std::move(offence);
  }
};

bool contains(const std::vector<Token>& tokens, Token token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

/// The ban of the request that `token` breaks at `position`; empty: none. Only what every engine
/// reads alike: bad words that lie within the output.
std::string broken_ban(const SamplingRequest& request, std::span<const Token> emitted,
                       Token token) {
  const reference::Adjustments& adjustments = request.adjustments;
  if (adjustments.allowed_ids && !contains(*adjustments.allowed_ids, token))
    return "it is not among the allowed ids";
  for (const reference::TokenBias& bias : adjustments.logit_bias)
    if (bias.token == token && bias.bias == -kInfinity) return "its logit bias is -inf";
  if (static_cast<std::int64_t>(emitted.size()) < adjustments.min_tokens &&
      contains(adjustments.end_tokens, token))
    return "it ends the output, of which " + std::to_string(adjustments.min_tokens) +
           " tokens are due at least";
  for (const auto& word : adjustments.bad_words) {
    if (word.empty() || word.back() != token || word.size() - 1 > emitted.size()) continue;
    if (std::equal(word.begin(), word.end() - 1, emitted.end() - (word.size() - 1)))
      return "with it the output holds the bad word " + words_of(word);
  }
  return "";
}

bool has_bans(const SamplingRequest& request) {
  const reference::Adjustments& adjustments = request.adjustments;
  return adjustments.allowed_ids || !adjustments.bad_words.empty() || adjustments.min_tokens > 0 ||
         std::any_of(adjustments.logit_bias.begin(), adjustments.logit_bias.end(),
                     [](const auto& bias) { return bias.bias == -kInfinity; });
}

bool has_filters(const SamplingRequest& request) {
  const reference::Sampling& sampling = request.sampling;
  return sampling.top_k > 0 || sampling.top_p < 1 || sampling.min_p > 0;
}

double slack_of(const CheckContext& context) {
  return std::max(2 * context.settings.tolerance, context.settings.near_tie_bound);
}

/// The request with every filter as wide as rounding allows behind these tokens.
SamplingRequest widened(const KnownTarget& target, SamplingRequest request,
                        std::span<const Token> emitted, double slack) {
  reference::Sampling& sampling = request.sampling;
  if (sampling.top_k > 0 && sampling.top_k < target.vocab_size()) {
    SamplingRequest plain = request;
    plain.sampling = {};
    const std::vector<double> law = target.next(plain, emitted);
    std::vector<double> ranked = law;
    std::sort(ranked.rbegin(), ranked.rend());
    const double least = ranked[static_cast<std::size_t>(sampling.top_k) - 1] * std::exp(-slack);
    sampling.top_k = std::count_if(law.begin(), law.end(),
                                   [&](double share) { return share >= least * (1 - 0x1p-24); });
  }
  if (sampling.top_p < 1) sampling.top_p += 2 * std::expm1(slack) + target.vocab_size() * 0x1p-24;
  sampling.min_p *= std::exp(-2 * slack) * (1 - 0x1p-22);
  return request;
}

std::string likely_tokens(const std::vector<double>& law) {
  std::vector<Token> tokens;
  for (std::size_t token = 0; token < law.size() && tokens.size() < 16; ++token)
    if (law[token] > 0) tokens.push_back(static_cast<Token>(token));
  const auto all = std::count_if(law.begin(), law.end(), [](double share) { return share > 0; });
  return words_of(tokens) + (static_cast<std::size_t>(all) > tokens.size()
                                 ? " ... (" + std::to_string(all) + " in all)"
                                 : "");
}

/// Laws behind histories, each asked for once a prompt as far as they are kept.
class KnownSupport {
  static constexpr std::size_t kLawsMax = std::size_t{1} << 16;

 public:
  KnownSupport(const CheckContext& context, Tally& tally) : context_(context), tally_(tally) {}

  void add(const Transcript& transcript) {
    const std::span<const Token> tokens = transcript.completion.token_ids;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto& law = law_behind(transcript, tokens.first(i));
      const Token token = tokens[i];
      if (token < 0 || static_cast<std::size_t>(token) >= law.size()) return;  // well_formed's
      if (std::any_of(law.begin(), law.end(), [](double share) { return share <= 0; }))
        ++tally_.judged;
      const double share = law[static_cast<std::size_t>(token)];
      if (share <= 0) {
        judge_impossible(transcript, tokens.first(i), token, law);
      } else {
        judge_unlikely(transcript, i, token, share, law.size());
      }
    }
  }

 private:
  const std::vector<double>& law_behind(const Transcript& transcript,
                                        std::span<const Token> emitted) {
    if (laws_.size() > kLawsMax) laws_.clear();
    auto& law = laws_[{transcript.key.case_id, {emitted.begin(), emitted.end()}}];
    if (law.empty()) law = context_.settings.target->next(transcript.request, emitted);
    return law;
  }

  void judge_impossible(const Transcript& transcript, std::span<const Token> emitted, Token token,
                        const std::vector<double>& law) {
    const KnownTarget& target = *context_.settings.target;
    const SamplingRequest wide = widened(target, transcript.request, emitted, slack_of(context_));
    if (has_filters(transcript.request) &&
        target.next(wide, emitted)[static_cast<std::size_t>(token)] > 0) {
      ++tally_.at_the_cut;
      return;
    }
    tally_.add({&transcript, emitted.size(),
                "behind the emitted tokens " + words_of(emitted) + " one of " + likely_tokens(law),
                "every other token has probability exactly 0 there, also with filters as wide as "
                "rounding\nmay make them: one is a proof",
                kInfinity});
  }

  /// All tokens below a share s have together at most vocab_size s of the law, so that a token of
  /// a run is one of them with at most that probability. Tokens split the budget by their address,
  /// which no look changes: trial t has 1 / ((t + 1) (t + 2)) of it, cases and positions the same.
  void judge_unlikely(const Transcript& transcript, std::size_t position, Token token, double share,
                      std::size_t vocab_size) {
    if (transcript.key.repeat > 0) return;
    const auto trial = static_cast<double>(transcript.key.trial);
    const double places = static_cast<double>(context_.cases.size()) *
                          static_cast<double>(std::max(transcript.request.max_tokens, 1));
    const double evidence = -std::log(share) - context_.settings.tolerance -
                            std::log(static_cast<double>(vocab_size) * places) -
                            std::log((trial + 1) * (trial + 2));
    if (evidence < context_.log_alarm) return;
    tally_.add({&transcript, position,
                "token " + std::to_string(token) + " with probability " + rounded(share),
                "no lossless run meets a token so unlikely, but with probability " +
                    rounded(std::exp(-evidence)),
                evidence});
  }

  const CheckContext& context_;
  Tally& tally_;
  std::map<std::pair<std::string, std::vector<Token>>, std::vector<double>> laws_;
};

/// The k likeliest tokens behind a history, as the baseline reports candidates there.
class ReportedSupport {
 public:
  ReportedSupport(const CheckContext& context, Tally& tally) : context_(context), tally_(tally) {
    for_each_transcript(context, Arm::kBaseline, [&](const AuditCase&, const Transcript& one) {
      const Completion& completion = one.completion;
      const std::size_t size =
          std::min(completion.top_logprobs.size(), completion.token_ids.size());
      for (std::size_t i = 0; i < size; ++i)
        candidates_.emplace(place_of(one, i), &completion.top_logprobs[i]);
    });
  }

  void add(const Transcript& transcript) {
    const auto& tokens = transcript.completion.token_ids;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto found = candidates_.find(place_of(transcript, i));
      if (found == candidates_.end()) {
        ++tally_.unknown;
        continue;
      }
      const std::optional<bool> is_outside = outside(transcript.request, *found->second, tokens[i]);
      if (!is_outside) {
        ++tally_.undecided;
        continue;
      }
      ++tally_.judged;
      if (!*is_outside) continue;
      std::vector<Token> told;
      for (const TokenLogprob& candidate : *found->second) told.push_back(candidate.token);
      tally_.add({&transcript, i,
                  "one of the " + std::to_string(transcript.request.sampling.top_k) +
                      " likeliest tokens; the baseline reports, likeliest first, " + words_of(told),
                  "behind the same history the baseline, without drafts, leaves it out",
                  kInfinity});
    }
  }

 private:
  using Place = std::pair<std::string, std::vector<Token>>;

  static Place place_of(const Transcript& transcript, std::size_t position) {
    const auto& tokens = transcript.completion.token_ids;
    return {transcript.key.case_id,
            {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(position)}};
  }

  /// nullopt: these candidates do not tell. Raw ones must reach below the k-th by more than the
  /// slack before a token that is not among them is left out.
  std::optional<bool> outside(const SamplingRequest& request,
                              const std::vector<TokenLogprob>& candidates, Token token) const {
    const auto top_k = static_cast<std::size_t>(request.sampling.top_k);
    const bool is_raw = context_.settings.baseline.logprobs == LogprobKind::kRaw;
    if (is_raw && (request.adjustments != reference::Adjustments{} || !request.grammar.empty()))
      return {};
    std::vector<double> ranked;
    double own = -kInfinity;
    bool is_told = false;
    for (const TokenLogprob& candidate : candidates) {
      if (std::isnan(candidate.logprob)) return {};
      ranked.push_back(candidate.logprob);
      if (candidate.token != token) continue;
      own = candidate.logprob;
      is_told = true;
    }
    std::sort(ranked.rbegin(), ranked.rend());
    if (ranked.size() < top_k) return {};
    const double least = ranked[top_k - 1] - std::max(slack_of(context_), kReportedRounding);
    if (is_told) return own < least;
    if (ranked.size() > top_k && ranked.back() < least) return true;
    return {};
  }

  /// Logprobs are reported in fp32: half a unit at 32 in size is 1e-6.
  static constexpr double kReportedRounding = 1e-5;

  const CheckContext& context_;
  Tally& tally_;
  std::map<Place, const std::vector<TokenLogprob>*> candidates_;
};

void judge_bans(const Transcript& transcript, Tally& tally) {
  const std::span<const Token> tokens = transcript.completion.token_ids;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string ban = broken_ban(transcript.request, tokens.first(i), tokens[i]);
    if (!ban.empty())
      tally.add({&transcript, i, "a token that the request does not ban", ban, kInfinity});
  }
}

Tally tally_of(const CheckContext& context) {
  Tally tally;
  const bool is_known = context.settings.target != nullptr;
  const bool has_top_k = context.setting.request.sampling.top_k > 0;
  const bool is_banning = has_bans(context.setting.request);
  KnownSupport known(context, tally);
  std::optional<ReportedSupport> reported;
  if (!is_known && has_top_k) reported.emplace(context, tally);
  for_each_transcript(context, Arm::kSpeculative, [&](const AuditCase&, const Transcript& one) {
    if (one.completion.end == CompletionEnd::kFailed) {
      ++tally.failed;
      return;
    }
    ++tally.completions;
    tally.tokens += one.completion.token_ids.size();
    if (is_banning) judge_bans(one, tally);
    if (is_known) {
      known.add(one);
    } else if (reported) {
      reported->add(one);
    }
  });
  // Of bans every token tells; of filters beside them only those whose candidates are known.
  const bool has_bans_alone = is_banning && !has_filters(context.setting.request);
  if (!is_known && has_bans_alone) tally.judged = tally.tokens;
  return tally;
}

void uphold(const CheckContext& context, oracle::Verdict& verdict, const Tally& tally) {
  const bool is_known = context.settings.target != nullptr;
  const bool has_nothing_outside =
      !has_bans(context.setting.request) &&
      (is_known ? tally.judged == 0 : !has_filters(context.setting.request));
  if (has_nothing_outside) {
    verdict.label = oracle::Label::kNotExercised;
    verdict.evidence = std::to_string(tally.tokens) +
                       " tokens, and nothing could be outside: no filter and no ban leaves any "
                       "token out in this setting";
    return;
  }
  // Candidates that end at the k-th tell every token inside and none outside.
  if (tally.judged == 0 || tally.undecided > 0) {
    verdict.evidence = tally.judged == 0
                           ? "no token could be judged: its candidates are not known"
                           : std::to_string(tally.judged) + " tokens, each one inside, and " +
                                 std::to_string(tally.undecided) +
                                 " that the candidates do not tell";
    verdict.notes.push_back(
        "ask the baseline for the logprobs of more candidates than top_k has (logprob_count), or "
        "audit a model whose law is known");
    return;
  }
  verdict.kind = oracle::VerdictKind::kUpheld;
  verdict.evidence = std::to_string(tally.judged) + " tokens, each one inside";
  if (tally.at_the_cut > 0) {
    verdict.label = oracle::Label::kNearTie;
    verdict.evidence += ", " + std::to_string(tally.at_the_cut) + " of them where a filter cuts";
  }
  if (tally.unknown > 0)
    verdict.evidence += "; " + std::to_string(tally.unknown) +
                        " stand behind tokens that the baseline did not emit";
  verdict.smallest_visible_effect = visible_share_words(
      context, tally.judged,
      std::string(tally.unknown > 0 ? "those" : "all") + " tokens outside of the support");
}

}  // namespace

oracle::Verdict support_of_filters(const CheckContext& context) {
  oracle::Verdict verdict = begun(context);
  const Tally tally = tally_of(context);
  verdict.trials = tally.completions;
  if (tally.tokens == 0) {
    verdict.evidence = "no token of the speculative arm came that could be judged";
    return verdict;
  }
  if (context.settings.target == nullptr && has_filters(context.setting.request))
    verdict.assumption =
        "the candidates that the baseline reports are the likeliest ones; of filters top_k alone "
        "is judged";
  if (tally.worst) {
    const Offence& worst = *tally.worst;
    const auto token = worst.transcript->completion.token_ids[worst.position];
    verdict.evidence = "token " + std::to_string(worst.position + 1) +
                       " of a completion is outside of the support";
    verdict.log_e_value = worst.log_evidence;
    verdict.log_alarm = context.log_alarm;
    refute(context, verdict, *worst.transcript, oracle::Label::kLossy,
           {.let = "",
            .expected = "token " + std::to_string(worst.position + 1) + ": " + worst.expected,
            .observed = std::to_string(token),
            .because = worst.because,
            .replay = "",
            .case_json = ""});
    return verdict;
  }
  uphold(context, verdict, tally);
  verdict =
      unless_too_many_lost(tally.failed, tally.completions, "requests failed", std::move(verdict));
  return unless_never_drafted(context, std::move(verdict));
}

}  // namespace draftproof::properties::audits
