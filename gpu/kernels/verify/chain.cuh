// Chain: one request under the chain rule (gpu/kernels/verify/chain.cu states it), whichever way
// its rows are read. `Reading` says how logits of target rows are read: by the lanes that judge one
// position each, and by the block that reads one row in full to draw from it.
#pragma once

#include <cstdint>

#include "gpu/kernels/anchor.cuh"
#include "gpu/kernels/coin.cuh"
#include "gpu/kernels/locate.cuh"
#include "gpu/kernels/row.cuh"
#include "gpu/kernels/verify/request.cuh"
#include "gpu/kernels/verify/walk.cuh"
#include "gpu/kernels/wide.cuh"

namespace draftproof::gpu::kernels::verify {

struct ChainScratch {
  Stop stop;
  union {
    LocateScratch<std::uint64_t> bonus;
    LocateScratch<Wide> recovered;
  };
};

/// Logits as they are.
struct RawReading {
  using OneLogit = RawLogits;
  using WholeRow = RawLogits;
  __device__ __forceinline__ OneLogit one_logit(std::uint32_t) const { return {}; }
  __device__ __forceinline__ WholeRow whole_row(std::uint32_t) const { return {}; }
};

/// One request: its rows, its coins, its drafted tokens.
template <class Element, class Reading>
struct Chain {
  using TargetLaw = LogitLaw<Element, typename Reading::WholeRow>;

  Rows<Element> rows;
  CoinSource coins;
  Drafts drafts;
  Reading reading;

  __device__ __forceinline__ Stop judge(std::uint32_t position, std::uint32_t token) const {
    const RowRecord target_record = rows.target_record(position);
    if (target_record.status != 0)
      return stop_for(position, static_cast<Status>(target_record.status));
    const RowRecord draft = rows.draft_record(position);
    if (draft.status != 0) return stop_for(position, static_cast<Status>(draft.status));
    const std::uint64_t draft_mass = rows.draft_law(position, draft, token).mass(token);
    if (draft_mass == 0) return stop_for(position, Status::kDraftMassZero);
    const std::uint64_t target_mass =
        rows.target_law(position, target_record, reading.one_logit(position)).mass(token);
    std::uint32_t coin_position = position;
    anchor::accept_coin(coin_position);
    const std::uint64_t coin = coins.coin(coin_position, CoinPurpose::kAccept, kAcceptColumn);
    Wide bound = wide_product(target_mass, draft.total);
    anchor::accept_bound(bound);
    const bool is_accepted =
        less(scaled(coin, wide_product(draft_mass, target_record.total)), bound);
    return {position, is_accepted ? Answer::kAccepted : Answer::kRejected, Status::kOk};
  }

  __device__ __forceinline__ Stop judge_end(std::uint32_t position) const {
    std::uint32_t row = position;
    anchor::end_row(row);
    const std::uint32_t status = rows.target_record(row).status;
    if (status != 0) return stop_for(position, static_cast<Status>(status));
    return {position, Answer::kDraftEnded, Status::kOk};
  }

  __device__ __forceinline__ Located draw_bonus(const TargetLaw& target, std::uint64_t coin,
                                                LocateScratch<std::uint64_t>& scratch) const {
    const auto weight = [&](std::uint32_t id) { return target.mass(id); };
    const auto threshold_of = [&](std::uint64_t total) { return scaled(coin, total); };
    return locate<std::uint64_t>(drafts.vocab_size, weight, threshold_of, scratch);
  }

  __device__ __forceinline__ Located draw_recovered(const TargetLaw& target,
                                                    std::uint64_t target_total,
                                                    const DraftLaw<Element>& draft,
                                                    std::uint64_t draft_total, std::uint64_t coin,
                                                    LocateScratch<Wide>& scratch) const {
    const auto weight = [&](std::uint32_t id) -> Wide {
      const std::uint64_t mass = target.mass(id);
      if (mass == 0) return {};
      const Wide gained = wide_product(mass, draft_total);
      Wide spent = wide_product(draft.mass(id), target_total);
      anchor::spent(spent);
      return less(spent, gained) ? difference(gained, spent) : Wide{};
    };
    const auto threshold_of = [&](Wide total) { return scaled(coin, total); };
    return locate<Wide>(drafts.vocab_size, weight, threshold_of, scratch);
  }

  /// The recovered or bonus token; valid in warp 0. Called by the whole block.
  __device__ __forceinline__ Located draw(const Stop& stop, ChainScratch& scratch) const {
    std::uint32_t position = stop.position;
    anchor::drawn_row(position, static_cast<std::uint32_t>(stop.answer));
    const RowRecord record = rows.target_record(position);
    // All mass on one token: the bonus draw finds it, and so does the residual draw, because a
    // rejection says that the drafted token is another one.
    if (record.kind == static_cast<std::uint32_t>(LawKind::kOneHot)) return {true, record.cut_id};
    const TargetLaw target = rows.target_law(position, record, reading.whole_row(position));
    if (stop.answer == Answer::kDraftEnded)
      return draw_bonus(target, coins.coin(stop.position, CoinPurpose::kBonus, kBonusColumn),
                        scratch.bonus);
    const std::uint32_t token = static_cast<std::uint32_t>(drafts.tokens[stop.position]);
    const RowRecord draft = rows.draft_record(stop.position);
    std::uint32_t purpose = static_cast<std::uint32_t>(CoinPurpose::kRecovered);
    std::uint32_t column = kRecoveredColumn;
    anchor::recovered_coin(purpose, column);
    const std::uint64_t coin = coins.coin(stop.position, static_cast<CoinPurpose>(purpose),
                                          static_cast<CoinColumn>(column));
    return draw_recovered(target, record.total, rows.draft_law(stop.position, draft, token),
                          draft.total, coin, scratch.recovered);
  }

  __device__ __forceinline__ void run(const Output& output, ChainScratch& scratch) const {
    if (threadIdx.x < kWarpLanes) {
      const Stop stop = walk(
          drafts,
          [&](std::uint32_t position, std::uint32_t token) { return judge(position, token); },
          [&](std::uint32_t position) { return judge_end(position); });
      if (threadIdx.x == 0) scratch.stop = stop;
    }
    __syncthreads();
    const Stop stop = scratch.stop;
    write_prefix(output, drafts, stop);
    Located drawn{false, 0};
    if (stop.answer != Answer::kCannotBeJudged) drawn = draw(stop, scratch);
    if (threadIdx.x == 0) write_outcome(output, stop, drawn);
  }
};

}  // namespace draftproof::gpu::kernels::verify
