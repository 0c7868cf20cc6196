#include "tools/serve/prompt_logprobs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "reference/kv/recurrent_slots.h"

namespace draftproof::tools::serve {
namespace {

/// log softmax in double, as of fp32 logits.
std::vector<double> log_softmax(const reference::Row& row) {
  const double largest = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (const float logit : row) sum += std::exp(static_cast<double>(logit) - largest);
  std::vector<double> logprobs;
  for (const float logit : row)
    logprobs.push_back(static_cast<double>(logit) - largest - std::log(sum));
  return logprobs;
}

}  // namespace

std::vector<OutputToken> prompt_logprobs(const reference::decode::LanguageModel& target,
                                         const Order& order) {
  const std::span<const Token> prompt = order.spec.prompt;
  std::vector<OutputToken> all;
  for (std::size_t count = 1; count < prompt.size(); ++count) {
    const std::span<const Token> before = prompt.first(count);
    const std::vector<double> logprobs =
        log_softmax(target.row({before, 0, reference::kv::state_of(before), order.spec.adapter}));
    const auto at = [&](Token token) { return logprobs[static_cast<std::size_t>(token)]; };
    OutputToken own;
    own.token = prompt[count];
    own.raw_logprob = own.processed_logprob = at(own.token);
    std::vector<Token> ids(logprobs.size());
    std::iota(ids.begin(), ids.end(), 0);
    std::stable_sort(ids.begin(), ids.end(), [&](Token a, Token b) { return at(a) > at(b); });
    ids.resize(std::min(ids.size(), static_cast<std::size_t>(order.prompt_logprob_count)));
    for (const Token token : ids) own.top.push_back({token, at(token)});
    all.push_back(std::move(own));
  }
  return all;
}

}  // namespace draftproof::tools::serve
