// Penalties in fp32, one rounding an operation (the contract is in penalties.h). This file is
// compiled without contraction, so that z - c * f is a product and a difference.
#include "reference/penalties.h"

#include <cmath>
#include <span>

#include "reference/error.h"

namespace draftproof::reference {
namespace {

[[noreturn]] void refuse(const char* name, double value, const char* remedy) {
  throw Error(ErrorKind::kInput, std::string(name) + " " + std::to_string(value) + " " + remedy,
              "penalties");
}

/// The three parameters as the operations see them.
struct Rounded {
  explicit Rounded(const Penalties& penalties)
      : repetition(static_cast<float>(penalties.repetition)),
        frequency(static_cast<float>(penalties.frequency)),
        presence(static_cast<float>(penalties.presence)) {}
  float repetition, frequency, presence;
};

/// A double outside the range of float has no defined conversion; it is refused before any is made.
bool fits_float(double value) { return std::fabs(value) < 0x1.ffffffp+127; }

float repeated(float logit, float repetition, RepetitionForm form) {
  if (form == RepetitionForm::kQuotient) return logit > 0 ? logit / repetition : logit * repetition;
  const float factor = logit > 0 ? 1.0F / repetition : repetition;
  return logit * factor;
}

float frequency_share(std::int64_t count, float frequency, FrequencyForm form) {
  if (form == FrequencyForm::kProduct) return static_cast<float>(count) * frequency;
  float sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum = sum + frequency;
  return sum;
}

/// Frequency and presence of one token that counts `count` > 0 times.
float subtracted(float logit, std::int64_t count, const Rounded& by, const PenaltyRule& rule) {
  const bool has_frequency = by.frequency != 0;
  const bool has_presence = by.presence != 0;
  const float share = has_frequency ? frequency_share(count, by.frequency, rule.frequency) : 0.0F;
  if (has_frequency && has_presence && rule.order != PenaltyOrder::kRepetitionFrequencyPresence) {
    const float both = share + by.presence;
    return logit - both;
  }
  if (has_frequency) logit = logit - share;
  if (has_presence) logit = logit - by.presence;
  return logit;
}

}  // namespace

void validate(const Penalties& penalties) {
  const double r = penalties.repetition;
  if (!(r > 0)) refuse("repetition_penalty", r, "is not above 0; 1 switches it off");
  if (!fits_float(r) || static_cast<float>(r) == 0)
    refuse("repetition_penalty", r, "is outside fp32; 1 switches it off");
  // A reciprocal of a subnormal number may be infinite, and infinity times a logit says nothing.
  if (!std::isfinite(1.0F / static_cast<float>(r)))
    refuse("repetition_penalty", r, "has no reciprocal in fp32; 1 switches it off");
  if (!fits_float(penalties.frequency))
    refuse("frequency_penalty", penalties.frequency, "is not finite in fp32; 0 switches it off");
  if (!fits_float(penalties.presence))
    refuse("presence_penalty", penalties.presence, "is not finite in fp32; 0 switches it off");
}

bool is_off(const Penalties& penalties) {
  return penalties.repetition == 1 && penalties.frequency == 0 && penalties.presence == 0;
}

std::vector<std::int64_t> counts_of(std::size_t vocab_size, const History& history, Counted counted,
                                    const Penalties& penalties, const PenaltyRule& rule) {
  std::vector<Token> tokens =
      counted == Counted::kPromptAndOutput ? history.prompt : std::vector<Token>{};
  tokens.insert(tokens.end(), history.committed.begin(), history.committed.end());
  if (rule.drafts == DraftCount::kPerRow)
    tokens.insert(tokens.end(), history.drafted.begin(), history.drafted.end());
  const std::int64_t window =
      rule.has_window ? penalties.last_n.value_or(rule.last_n) : rule.last_n;
  const bool is_cut = window >= 0 && static_cast<std::uint64_t>(window) < tokens.size();
  const std::size_t first = is_cut ? tokens.size() - static_cast<std::size_t>(window) : 0;
  std::vector<std::int64_t> counts(vocab_size);
  for (const Token token : std::span(tokens).subspan(first)) {
    DRAFTPROOF_CHECK(token >= 0 && static_cast<std::size_t>(token) < vocab_size,
                     std::to_string(token));
    ++counts[static_cast<std::size_t>(token)];
  }
  return counts;
}

std::vector<float> penalised(std::vector<float> logits, const Penalties& penalties,
                             const History& history, const PenaltyRule& rule) {
  validate(penalties);
  if (is_off(penalties)) return logits;
  const Rounded by(penalties);
  const auto counts = [&](Counted counted) {
    return counts_of(logits.size(), history, counted, penalties, rule);
  };
  const std::vector<std::int64_t> repetitions = counts(rule.repetition_counts);
  const std::vector<std::int64_t> occurrences = counts(rule.frequency_counts);
  const bool is_sum_first = rule.order == PenaltyOrder::kSumThenRepetition;
  for (std::size_t token = 0; token < logits.size(); ++token) {
    float logit = logits[token];
    if (is_sum_first && occurrences[token] > 0)
      logit = subtracted(logit, occurrences[token], by, rule);
    if (by.repetition != 1 && repetitions[token] > 0)
      logit = repeated(logit, by.repetition, rule.repetition);
    if (!is_sum_first && occurrences[token] > 0)
      logit = subtracted(logit, occurrences[token], by, rule);
    logits[token] = logit;
  }
  return logits;
}

std::string to_string(PenaltyOrder order) {
  switch (order) {
    case PenaltyOrder::kRepetitionFrequencyPresence:
      return "repetition, then frequency, then presence";
    case PenaltyOrder::kRepetitionThenSum:
      return "repetition, then frequency + presence";
    case PenaltyOrder::kSumThenRepetition:
      return "frequency + presence, then repetition";
  }
  return "unknown";
}

std::string to_string(const PenaltyRule& rule) {
  const auto counted = [](Counted which) {
    return which == Counted::kOutput ? "output" : "prompt and output";
  };
  std::string text = to_string(rule.order);
  text += rule.repetition == RepetitionForm::kReciprocal ? "; times 1/r" : "; over r";
  if (rule.frequency == FrequencyForm::kSummed)
    text += "; frequency summed occurrence by occurrence";
  text += std::string("; repetition counts ") + counted(rule.repetition_counts);
  text += std::string(", the others ") + counted(rule.frequency_counts);
  if (rule.last_n >= 0) text += ", last " + std::to_string(rule.last_n);
  text += rule.drafts == DraftCount::kPerRow ? "; per row" : "; frozen over the draft";
  return text;
}

}  // namespace draftproof::reference
