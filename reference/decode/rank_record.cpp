// What ranks did, as a record: hashes, the first divergence, and the words for it. Also what ranks
// compute on: coarse rows, and the ulp by which they differ.
#include <cmath>
#include <limits>

#include "reference/decode/ranks.h"

namespace draftproof::reference::decode {
namespace {

std::string to_string(const std::vector<Token>& tokens) {
  std::string text = "[";
  for (Token token : tokens) text += (text.size() > 1 ? ", " : "") + std::to_string(token);
  return text + "]";
}

std::string to_string(const std::optional<RankCommit>& commit) {
  if (!commit) return "has no such step";
  return "drafted " + to_string(commit->drafts) + ", accepted " +
         std::to_string(commit->accepted_count) + ", committed " + to_string(commit->tokens);
}

bool parted(const std::optional<RankCommit>& lead, const std::optional<RankCommit>& other) {
  if (!lead || !other) return lead.has_value() != other.has_value();
  return committed_hash(*lead) != committed_hash(*other) || lead->drafts != other->drafts;
}

}  // namespace

Row nudged(Row logits, std::uint64_t seed, std::size_t rank, std::uint64_t row) {
  if (rank == 0) return logits;
  const PhiloxCoins moves(seed);
  for (std::size_t token = 0; token < logits.size(); ++token) {
    float& logit = logits[token];
    if (!std::isfinite(logit)) continue;
    const CoinAddress address{static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(row),
                              Purpose::kDraft, static_cast<std::uint32_t>(token)};
    const std::uint64_t move = moves.coin(address) % 3;
    if (move == 0) continue;
    const float infinity = std::numeric_limits<float>::infinity();
    const float moved = std::nextafter(logit, move == 1 ? infinity : -infinity);
    if (std::isfinite(moved)) logit = moved;
  }
  return logits;
}

RowsBehind coarse_rows(std::size_t vocab_size, std::uint64_t salt, int level_count) {
  return [=](std::span<const Token> history) {
    std::uint64_t hash = 0xcbf29ce484222325 ^ salt;
    for (Token token : history)
      hash = (hash ^ static_cast<std::uint32_t>(token)) * 0x9e3779b97f4a7c15 + 1;
    const PhiloxCoins levels(hash);
    Row row(vocab_size);
    for (std::size_t token = 0; token < vocab_size; ++token) {
      const std::uint64_t level = levels.coin({static_cast<std::uint32_t>(token)});
      row[token] = -static_cast<float>(level % static_cast<std::uint64_t>(level_count)) / 2;
    }
    return row;
  };
}

ReplayDecoder replay_decoder(std::shared_ptr<Ranks> ranks) {
  return [ranks](const ReplayRun& run) { return ranks->decode(run).streams[0]; };
}

std::string to_string(RankSource source) {
  switch (source) {
    case RankSource::kDrafter:
      return "drafter";
    case RankSource::kRows:
      return "target rows";
    case RankSource::kCoins:
      return "coins";
  }
  return "unknown";
}

std::uint64_t committed_hash(const RankCommit& commit) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&](std::uint32_t value) {
    for (int byte = 0; byte < 4; ++byte) hash = (hash ^ (value >> 8 * byte & 0xff)) * 0x100000001b3;
  };
  mix(static_cast<std::uint32_t>(commit.accepted_count));
  for (Token token : commit.tokens) mix(static_cast<std::uint32_t>(token));
  return hash;
}

std::string to_string(const RankDivergence& divergence) {
  std::string text = "step " + std::to_string(divergence.step) + ", request " +
                     std::to_string(divergence.request) + ": rank 0 " + to_string(divergence.lead) +
                     "\n  rank " + std::to_string(divergence.rank) + " " +
                     to_string(divergence.other) + "\n  least cause: ";
  if (!divergence.lead || !divergence.other) return text + "not looked for";
  if (divergence.least_cause.empty())
    return text + "none of drafter, target rows and coins: from the same it decides otherwise";
  for (std::size_t i = 0; i < divergence.least_cause.size(); ++i)
    text += (i > 0 ? " and " : "") + to_string(divergence.least_cause[i]);
  return text;
}

std::optional<RankDivergence> first_divergence(const std::vector<RankStep>& steps) {
  for (const RankStep& step : steps)
    for (std::size_t rank = 1; rank < step.commits.size(); ++rank)
      if (parted(step.commits[0], step.commits[rank]))
        return RankDivergence{step.step,       step.request,       rank,
                              step.commits[0], step.commits[rank], {}};
  return std::nullopt;
}

}  // namespace draftproof::reference::decode
