// Request fields: what several dialects read alike under names of their own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reference/adjustments.h"
#include "tools/serve/dialect.h"

namespace draftproof::tools::serve {

/// All functions throw Error(kInput) at the field.

/// A text, ids, or a list of either; never empty, ids in the vocabulary.
std::vector<std::vector<Token>> prompts_of(const Json& value, const std::string& place,
                                           const Served& served);

/// {"ID": BIAS}, biases in [low, high].
std::vector<reference::TokenBias> bias_of(const Json& value, const std::string& place,
                                          const Served& served, double low, double high);

/// Ids in the vocabulary.
std::vector<Token> vocabulary_ids_of(const Json& value, const std::string& place,
                                     std::size_t count_max, const Served& served);

/// Tokens that fit behind a prompt.
int room_behind(const std::vector<Token>& prompt, const Served& served);
/// `max_tokens`, or all the room when absent. Throws when it exceeds the room, as engines do whose
/// limit is the sum.
int tokens_within(const std::vector<Token>& prompt, std::optional<std::int64_t> max_tokens,
                  const std::string& place, const Served& served);

/// Orders for `choice_count` choices of each prompt, prompt by prompt; seeds count up within a
/// prompt.
std::vector<Order> orders_for(const std::vector<std::vector<Token>>& prompts, const Order& order,
                              std::int64_t choice_count);

/// Single tokens that end a request.
void add_stop_tokens(Order& order, const std::vector<Token>& ids);

/// Which word a finish is: stop, length or another.
enum class FinishKind { kStop, kLength, kAborted };
FinishKind kind_of(FinishReason reason);

/// `logprob`, not below `least`: JSON has no -inf.
double finite(double logprob, double least);

}  // namespace draftproof::tools::serve
