// Adjustments of one row, step by step (the rules are in adjustments.h).
#include "reference/adjustments.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "reference/error.h"

namespace draftproof::reference {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

[[noreturn]] void refuse(const std::string& message, const std::string& place) {
  throw Error(ErrorKind::kInput, message, place);
}

void check_ids(const std::vector<Token>& ids, std::size_t vocab_size, const std::string& place) {
  for (const Token id : ids) {
    if (id < 0 || static_cast<std::size_t>(id) >= vocab_size)
      refuse("token " + std::to_string(id) + " is outside the vocabulary of " +
                 std::to_string(vocab_size) + "; ids start at 0",
             place);
  }
}

void check_bias(const std::vector<TokenBias>& biases, std::size_t vocab_size) {
  std::set<Token> seen;
  for (const auto& [token, bias] : biases) {
    check_ids({token}, vocab_size, "logit_bias");
    if (!seen.insert(token).second)
      refuse("token " + std::to_string(token) + " has two biases; give it one", "logit_bias");
    const bool is_ban = std::isinf(bias) && bias < 0;
    if (!is_ban && !(std::fabs(bias) < 0x1.ffffffp+127))
      refuse("bias of token " + std::to_string(token) + " is not finite in fp32; -inf bans it",
             "logit_bias");
  }
}

bool ends_with(const std::vector<Token>& tokens, const std::vector<Token>& word) {
  const std::size_t before = word.size() - 1;
  return tokens.size() >= before && std::equal(word.begin(), word.end() - 1,
                                               tokens.end() - static_cast<std::ptrdiff_t>(before));
}

std::vector<Token> seen_tokens(const History& history, Counted which) {
  std::vector<Token> tokens =
      which == Counted::kPromptAndOutput ? history.prompt : std::vector<Token>{};
  const std::vector<Token> output = output_of(history);
  tokens.insert(tokens.end(), output.begin(), output.end());
  return tokens;
}

std::int64_t length_of(const History& history, DraftCount drafts) {
  const std::size_t drafted = drafts == DraftCount::kPerRow ? history.drafted.size() : 0;
  return static_cast<std::int64_t>(history.committed.size() + drafted);
}

}  // namespace

void validate(const Adjustments& adjustments, std::size_t vocab_size) {
  validate(adjustments.penalties);
  check_bias(adjustments.logit_bias, vocab_size);
  if (adjustments.allowed_ids) check_ids(*adjustments.allowed_ids, vocab_size, "allowed_ids");
  for (const auto& word : adjustments.bad_words) {
    if (word.empty()) refuse("a word without a token; leave it out", "bad_words");
    check_ids(word, vocab_size, "bad_words");
  }
  check_ids(adjustments.end_tokens, vocab_size, "end_tokens");
  if (adjustments.min_tokens < 0) refuse("is negative; 0 switches it off", "min_tokens");
  if (adjustments.min_tokens > 0 && adjustments.end_tokens.empty())
    refuse("bans the end tokens, and there are none; name them", "min_tokens");
  if (adjustments.grammar_mask && adjustments.grammar_mask->size() != vocab_size)
    refuse(std::to_string(adjustments.grammar_mask->size()) + " bits for a vocabulary of " +
               std::to_string(vocab_size) + "; give one a token",
           "grammar_mask");
}

void validate(const History& history, std::size_t vocab_size) {
  check_ids(history.prompt, vocab_size, "prompt");
  check_ids(history.committed, vocab_size, "history");
  check_ids(history.drafted, vocab_size, "drafted");
}

std::vector<bool> banned_by(AdjustmentStep step, const Adjustments& adjustments,
                            const History& history, const AdjustmentRule& rule,
                            std::size_t vocab_size) {
  std::vector<bool> banned(vocab_size, false);
  switch (step) {
    case AdjustmentStep::kPenalties:
    case AdjustmentStep::kLogitBias:
      break;
    case AdjustmentStep::kAllowedIds:
      if (!adjustments.allowed_ids) break;
      banned.assign(vocab_size, true);
      for (const Token id : *adjustments.allowed_ids) banned[static_cast<std::size_t>(id)] = false;
      break;
    case AdjustmentStep::kBadWords: {
      const std::vector<Token> tokens = seen_tokens(history, rule.bad_words_see);
      for (const auto& word : adjustments.bad_words)
        if (ends_with(tokens, word)) banned[static_cast<std::size_t>(word.back())] = true;
      break;
    }
    case AdjustmentStep::kMinTokens:
      if (length_of(history, rule.min_tokens_drafts) >= adjustments.min_tokens) break;
      for (const Token id : adjustments.end_tokens) banned[static_cast<std::size_t>(id)] = true;
      break;
    case AdjustmentStep::kGrammarMask:
      if (adjustments.grammar_mask) {
        banned = *adjustments.grammar_mask;
        banned.flip();
      }
      break;
  }
  return banned;
}

std::vector<float> adjusted(std::vector<float> logits, AdjustmentStep step,
                            const Adjustments& adjustments, const History& history,
                            const AdjustmentRule& rule) {
  if (step == AdjustmentStep::kPenalties)
    return penalised(std::move(logits), adjustments.penalties, history, rule.penalties);
  if (step == AdjustmentStep::kLogitBias) {
    for (const auto& [token, bias] : adjustments.logit_bias) {
      float& logit = logits[static_cast<std::size_t>(token)];
      logit = std::isinf(bias) ? kNever : logit + static_cast<float>(bias);
    }
    return logits;
  }
  const std::vector<bool> banned = banned_by(step, adjustments, history, rule, logits.size());
  for (std::size_t token = 0; token < logits.size(); ++token)
    if (banned[token]) logits[token] = kNever;
  return logits;
}

std::vector<float> adjusted(std::vector<float> logits, const Adjustments& adjustments,
                            const History& history, const AdjustmentRule& rule) {
  for (const AdjustmentStep step : rule.steps)
    logits = adjusted(std::move(logits), step, adjustments, history, rule);
  return logits;
}

std::string_view to_string(AdjustmentStep step) {
  switch (step) {
    case AdjustmentStep::kPenalties:
      return "penalties";
    case AdjustmentStep::kLogitBias:
      return "logit bias";
    case AdjustmentStep::kAllowedIds:
      return "allowed ids";
    case AdjustmentStep::kBadWords:
      return "bad words";
    case AdjustmentStep::kMinTokens:
      return "min tokens";
    case AdjustmentStep::kGrammarMask:
      return "grammar mask";
  }
  return "unknown";
}

}  // namespace draftproof::reference
