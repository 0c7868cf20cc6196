#include "properties/audits/scores.h"

#include <algorithm>
#include <cmath>

namespace draftproof::properties::audits {

const Transcript* score_of(const CheckContext& context, const TrialKey& key) {
  const auto& scores = context.evidence.of(key.case_id, key.arm, kScoreRepeat);
  const auto score = scores.find(key.trial);
  if (score == scores.end() || score->second.completion.end == CompletionEnd::kFailed) return {};
  return &score->second;
}

bool has_lost_its_score(const CheckContext& context, const Transcript& answer) {
  if (answer.completion.token_ids.empty()) return false;
  const TrialKey& key = answer.key;
  const auto& scores = context.evidence.of(key.case_id, key.arm, kScoreRepeat);
  return !scores.empty() && key.trial <= scores.rbegin()->first &&
         score_of(context, key) == nullptr;
}

std::string score_obstacle(const Transcript& score, const Transcript& answer) {
  const std::size_t due = answer.request.prompt.size() + answer.completion.token_ids.size();
  const std::size_t there = score.completion.top_logprobs.size();
  const std::string name =
      "the score of " + answer.key.case_id + ", trial " + std::to_string(answer.key.trial);
  if (there < due)
    return name + " has " + std::to_string(there) + " rows for " + std::to_string(due) + " tokens";
  for (const auto& row : score.completion.top_logprobs)
    for (const TokenLogprob& each : row)
      if (std::isnan(each.logprob)) return name + " has a logprob that is no number";
  if (!answer.request.grammar.empty()) return "a grammar bans tokens, which reading does not do";
  if (!answer.request.adapter.empty()) return "answers of an adapter are read without it";
  return "";
}

std::vector<TokenLogprob> candidates_at(const Transcript& score, std::size_t index,
                                        std::size_t vocab_size) {
  std::vector<TokenLogprob> row = score.completion.top_logprobs[index];
  std::stable_sort(row.begin(), row.end(), [](const TokenLogprob& one, const TokenLogprob& other) {
    return one.logprob > other.logprob;
  });
  if (vocab_size > 0 && row.size() >= vocab_size) return row;
  const int count = score.request.logprob_count;
  if (count <= 0 || index >= score.request.prompt.size()) return {};
  if (row.size() > static_cast<std::size_t>(count)) {
    const reference::Token own = score.request.prompt[index];
    row.erase(std::remove_if(row.begin(), row.end(),
                             [own](const TokenLogprob& each) { return each.token == own; }),
              row.end());
  }
  row.resize(std::min(row.size(), static_cast<std::size_t>(count)));
  return row;
}

}  // namespace draftproof::properties::audits
