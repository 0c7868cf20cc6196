// The block rule on integer masses (the formulas and the order of judging are in block.h).
#include "reference/verify/block.h"

#include "reference/error.h"
#include "reference/verify/chain.h"
#include "reference/verify/rows.h"

namespace draftproof::reference::verify {
namespace {

/// Every row of a block: n draft rows, n + 1 target rows, and P_0 .. P_n.
struct Block {
  std::vector<MassRow> target;
  std::vector<MassRow> draft;
  std::vector<PrefixRatio> ratio = {kWholeRatio};
  Status status = Status::kOk;  ///< of the first row that could not be judged, number target.size()
};

Block read_block(const Batch& batch, const Request& request) {
  Block block;
  const std::vector<Token>& tokens = request.proposal.tokens;
  for (std::size_t i = 0;; ++i) {
    const bool draft_ended = i == tokens.size() || tokens[i] == kPlaceholder;
    block.status = Status::kDraftTokenRange;
    if (!draft_ended && !is_token(batch, tokens[i])) return block;
    MassRow target = target_law(batch, request, i);
    block.status = target.status;
    if (target.status != Status::kOk) return block;
    if (!draft_ended) {
      MassRow draft = draft_law(batch, request, i);
      block.status = draft.status;
      if (draft.status != Status::kOk) return block;
      block.status = Status::kDraftMassZero;
      if (draft.mass[tokens[i]] == 0) return block;
      block.status = Status::kOk;
      block.ratio.push_back(carried(block.ratio.back(), target, draft, tokens[i]));
      block.draft.push_back(std::move(draft));
    }
    block.target.push_back(std::move(target));
    if (draft_ended) return block;
  }
}

}  // namespace

RequestOutcome block(const Batch& batch, const Request& request, const Coins& coins) {
  const auto coin = [&](std::size_t offset, Purpose purpose) {
    const auto position = request.position + static_cast<std::uint32_t>(offset);
    return coins.coin({request.id, position, purpose, 0, request.iteration});
  };
  const Block rows = read_block(batch, request);
  if (rows.status != Status::kOk) return stopped({}, rows.status, rows.target.size());

  const std::size_t length = rows.draft.size();
  std::size_t kept = length;
  for (; kept > 0; --kept) {
    const std::uint64_t accept = coin(kept - 1, Purpose::kAccept);
    if (kept == length
            ? keeps_whole(accept, rows.ratio[kept])
            : is_candidate(accept, rows.ratio[kept], rows.target[kept], rows.draft[kept]))
      break;
  }

  RequestOutcome outcome;
  outcome.accepted_count = static_cast<int>(kept);
  for (std::size_t i = 0; i < kept; ++i)
    outcome.emitted.push_back({request.proposal.tokens[i], Reason::kAccepted});
  if (kept == length) {
    const Token bonus = draw(coin(kept, Purpose::kBonus), rows.target[kept]);
    outcome.emitted.push_back({bonus, Reason::kBonus});
  } else {
    const std::vector<Wide> left =
        block_residual(rows.ratio[kept], rows.target[kept], rows.draft[kept]);
    outcome.emitted.push_back({draw(coin(kept, Purpose::kRecovered), left), Reason::kRecovered});
  }
  return outcome;
}

PrefixRatio carried(PrefixRatio before, const MassRow& target, const MassRow& draft, Token token) {
  const WideMass target_side = static_cast<WideMass>(target.mass[token]) * draft.total;
  const WideMass draft_side = static_cast<WideMass>(draft.mass[token]) * target.total;
  DRAFTPROOF_CHECK(draft_side > 0, "a drafted token without draft mass");
  const Wide product = Wide::product(before, target_side);
  if (Wide::product(kWholeRatio, draft_side) <= product) return kWholeRatio;
  // The quotient, rounded down, is the largest ratio whose product with draft_side still fits.
  PrefixRatio ratio = 0;
  for (PrefixRatio bit = kWholeRatio >> 1; bit > 0; bit >>= 1)
    if (Wide::product(ratio | bit, draft_side) <= product) ratio |= bit;
  return ratio;
}

std::vector<Wide> block_residual(PrefixRatio ratio, const MassRow& target, const MassRow& draft) {
  std::vector<Wide> weights(target.mass.size());
  for (std::size_t v = 0; v < weights.size(); ++v) {
    const Wide target_side =
        Wide::product(ratio, static_cast<WideMass>(target.mass[v]) * draft.total);
    const Wide draft_side =
        Wide::product(kWholeRatio, static_cast<WideMass>(draft.mass[v]) * target.total);
    if (target_side > draft_side) weights[v] = target_side - draft_side;
  }
  return weights;
}

bool is_candidate(std::uint64_t coin, PrefixRatio ratio, const MassRow& target,
                  const MassRow& draft) {
  Wide sum;
  for (const Wide& weight : block_residual(ratio, target, draft)) sum += weight;
  const WideMass totals = static_cast<WideMass>(target.total) * draft.total;
  const Wide denominator = sum + Wide::product(kWholeRatio - ratio, totals);
  // Nothing is left to recover and nothing was lost so far: the rows are equal, and a longer prefix
  // is a candidate as well.
  if (denominator == Wide()) return true;
  return scaled(coin, denominator) < sum;
}

bool keeps_whole(std::uint64_t coin, PrefixRatio ratio) {
  return scaled(coin, WideMass{kWholeRatio}) < ratio;
}

Token draw(std::uint64_t coin, const std::vector<Wide>& weights) {
  Wide sum;
  for (const Wide& weight : weights) sum += weight;
  DRAFTPROOF_CHECK(sum > Wide(), "a law without mass");
  const Wide point = scaled(coin, sum);  // < sum, so some prefix exceeds it
  std::size_t v = 0;
  for (Wide prefix = weights[0]; prefix <= point; prefix += weights[v]) ++v;
  return static_cast<Token>(v);
}

}  // namespace draftproof::reference::verify
