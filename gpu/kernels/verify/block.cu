// Block verification on the device: Sun et al., "Block verification accelerates speculative
// decoding" (ICLR 2025), on integer masses (the formulas and the order of judging are those that
// reference/verify/block.h declares). One block a request, after a shape_rows launch.
//
//   P_i  prefix ratios in units of 2^-62, rounded down: the drafted tokens' own masses decide them
//   R_v  max(0, P_i T_v sum D - 2^62 D_v sum T) on row i; S_i their sum, below 2^188
//   d_i  S_i + (2^62 - P_i) sum T sum D
//   prefix i < n is kept iff it is the largest with scaled(u_i, d_i) < S_i, the whole draft iff
//   scaled(u_n, 2^62) < P_n
//
// One warp carries the ratio along the draft. Then prefixes are tried from the longest down, and
// the first that is kept ends the search. A row is read only where its sum decides:
//   u_i d_i < 2^64 S_i  <=>  u_i (2^62 - P_i) sum T sum D < (2^64 - u_i) S_i, increasing in S_i,
//   and S_i <= P_i sum T sum D. So floor(u_i / 4) >= P_i keeps no prefix, whatever its row says;
//   and P_i = 2^62 keeps it always. Rows of tokens that are no candidates are not read beyond the
//   drafted token's own logits.
// The sweep that sums a row also draws from it, so that a prefix that is kept costs one sweep.
//
// Determinism: gpu_to_gpu, bit for bit, for every block size (a multiple of 32 up to 1,024), order
// and schedule: all sums are integers.
#include <cstdint>

#include "gpu/kernels/anchor.cuh"
#include "gpu/kernels/coin.cuh"
#include "gpu/kernels/locate.cuh"
#include "gpu/kernels/row.cuh"
#include "gpu/kernels/triple.cuh"
#include "gpu/kernels/verify/block_anchor.cuh"
#include "gpu/kernels/verify/request.cuh"
#include "gpu/kernels/verify/walk.cuh"
#include "gpu/kernels/wide.cuh"

namespace draftproof::gpu::kernels::verify {

/// P in units of 2^-62.
inline constexpr std::uint64_t kWholeRatio = std::uint64_t{1} << 62;
/// So many ratios are kept; in longer drafts those of short prefixes are carried a second time,
/// should the search come down to them.
inline constexpr std::uint32_t kKeptRatios = 128;

/// No prefix: carry as far as the draft goes.
inline constexpr std::uint32_t kToTheEnd = ~std::uint32_t{0};

struct BlockRuleScratch {
  Stop stop;  ///< of the last carry: the prefixes tried are its position and shorter ones
  std::uint32_t draft_length;
  std::uint64_t ratios[kKeptRatios];  ///< P_i at i % kKeptRatios
  union {
    LocateScratch<std::uint64_t> bonus;
    LocateScratch<Triple> recovered;
  };
};

/// Both sides of the test of a drafted token: T_x sum D and D_x sum T.
struct Sides {
  Wide target;
  Wide draft;
};

/// A prefix of the draft, the coin that tests it, and the totals of the rows behind it.
struct Prefix {
  std::uint32_t length;
  std::uint64_t ratio;
  std::uint64_t test_coin;
  std::uint64_t target_total;
  std::uint64_t draft_total;
};

/// The request of this block. Asked anew wherever it is needed, as everything that follows from it
/// is: kept over a sweep, it would cost the sweep registers.
__device__ __forceinline__ std::uint32_t own_request() {
  std::uint32_t request;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(request));
  return request;
}

/// One request.
template <class Element>
struct BlockRule {
  const draftproof_verify_arguments& arguments;
  BlockRuleScratch& scratch;

  /// The block rule's coins are new in every iteration.
  __device__ __forceinline__ CoinSource coins() const {
    const std::uint32_t request = own_request();
    CoinSource source = coins_of(arguments, request);
    source.iteration = parameters_of(arguments, request).coin_iteration;
    block_anchor::iteration(source.iteration);
    return source;
  }

  __device__ __forceinline__ Stop judge(const Rows<Element>& rows, std::uint32_t position,
                                        std::uint32_t token, Sides& sides) const {
    const RowRecord target = rows.target_record(position);
    if (target.status != 0) return stop_for(position, static_cast<Status>(target.status));
    const RowRecord draft = rows.draft_record(position);
    if (draft.status != 0) return stop_for(position, static_cast<Status>(draft.status));
    const std::uint64_t draft_mass = rows.draft_law(position, draft, token).mass(token);
    if (draft_mass == 0) return stop_for(position, Status::kDraftMassZero);
    sides.target = wide_product(rows.target_law(position, target).mass(token), draft.total);
    sides.draft = wide_product(draft_mass, target.total);
    return {position, Answer::kAccepted, Status::kOk};
  }

  __device__ __forceinline__ Stop judge_end(const Rows<Element>& rows,
                                            std::uint32_t position) const {
    const std::uint32_t status = rows.target_record(position).status;
    if (status != 0) return stop_for(position, static_cast<Status>(status));
    return {position, Answer::kDraftEnded, Status::kOk};
  }

  /// What this lane's position says; its sides when it is a token that can be judged.
  __device__ __forceinline__ Stop judge_lane(const Rows<Element>& rows, const Drafts& drafts,
                                             std::uint32_t position, Sides& sides) const {
    const std::int32_t token = position < drafts.count ? drafts.tokens[position] : kNoToken;
    const std::uint32_t ends = __ballot_sync(0xffffffffu, token == kNoToken);
    const std::uint32_t lane = threadIdx.x % kWarpLanes;
    const std::uint32_t end_lane = ends == 0 ? kWarpLanes : __ffs(static_cast<int>(ends)) - 1;
    if (lane > end_lane) return {position, Answer::kAccepted, Status::kOk};
    if (lane == end_lane) return judge_end(rows, position);
    const std::uint32_t id = static_cast<std::uint32_t>(token);
    return id < drafts.vocab_size ? judge(rows, position, id, sides)
                                  : stop_for(position, Status::kDraftTokenRange);
  }

  /// P over one more token.
  __device__ __forceinline__ static std::uint64_t carried(std::uint64_t ratio, const Sides& sides) {
    block_anchor::carried_ratio(ratio);
    const bool is_whole =
        !less(triple_product(ratio, sides.target), triple_product(kWholeRatio, sides.draft));
    return is_whole ? kWholeRatio : scaled_quotient(ratio, sides.target, sides.draft);
  }

  /// Carries the ratio from the start to prefix `last`, or to the end of the draft, and says where
  /// that was and why. Called by one warp; the answer is valid in all its lanes.
  __device__ __forceinline__ Stop carry(std::uint32_t last) const {
    const std::uint32_t request = own_request();
    const Rows<Element> rows(arguments, request);
    const Drafts drafts = drafts_of(arguments, request);
    const std::uint32_t lane = threadIdx.x % kWarpLanes;
    std::uint64_t ratio = kWholeRatio;
    if (lane == 0) scratch.ratios[0] = ratio;
    if (last == 0) return {0, Answer::kAccepted, Status::kOk};
#pragma unroll 1
    for (std::uint32_t first = 0;; first += kWarpLanes) {
      Sides sides{};
      const Stop own = judge_lane(rows, drafts, first + lane, sides);
      const std::uint32_t stops = __ballot_sync(0xffffffffu, own.answer != Answer::kAccepted);
      const std::uint32_t tokens = stops == 0 ? kWarpLanes : __ffs(static_cast<int>(stops)) - 1;
#pragma unroll 1
      for (std::uint32_t i = 0; i < tokens; ++i) {
        const int from = static_cast<int>(i);
        ratio =
            carried(ratio, {exchange_from(sides.target, from), exchange_from(sides.draft, from)});
        const std::uint32_t length = first + i + 1;
        if (lane == 0) scratch.ratios[length % kKeptRatios] = ratio;
        if (length == last) return {length, Answer::kAccepted, Status::kOk};
      }
      if (stops == 0) continue;
      const int from = static_cast<int>(tokens);
      return {first + tokens,
              static_cast<Answer>(
                  __shfl_sync(0xffffffffu, static_cast<std::uint32_t>(own.answer), from)),
              static_cast<Status>(
                  __shfl_sync(0xffffffffu, static_cast<std::uint32_t>(own.status), from))};
    }
  }

  /// The coin that tests a prefix; the empty one is kept in any case, as it is at 0.
  __device__ __forceinline__ std::uint64_t test_coin(std::uint32_t length) const {
    if (length == 0) return 0;
    std::uint32_t position = length - 1;
    block_anchor::prefix_coin(position);
    return coins().coin(position, CoinPurpose::kAccept, kAcceptColumn);
  }

  /// Draws from what is left of the row behind a prefix, if its coin keeps the prefix.
  /// draft_mass(id) is the draft's mass of a token.
  template <class DraftMass>
  __device__ __forceinline__ Located sweep(const Prefix& prefix, const LogitLaw<Element>& target,
                                           const DraftMass& draft_mass) const {
    const auto weight_of = [&](std::uint64_t mass, std::uint32_t id) -> Triple {
      if (mass == 0) return {};
      const Triple gained = triple_product(prefix.ratio, wide_product(mass, prefix.draft_total));
      Wide spent = wide_product(draft_mass(id), prefix.target_total);
      anchor::spent(spent);
      const Triple raised_spent = raised({0, spent.high, spent.low}, 62);
      return less(raised_spent, gained) ? difference(gained, raised_spent) : Triple{};
    };
    // A threshold that is the whole sum is crossed nowhere.
    const auto threshold_of = [&](Triple total) -> Triple {
      std::uint64_t lost = kWholeRatio - prefix.ratio;
      block_anchor::lost(lost);
      const Triple either =
          sum(total, triple_product(lost, wide_product(prefix.target_total, prefix.draft_total)));
      if (lost != 0 && !less(scaled(prefix.test_coin, either), total)) return total;
      return scaled(coins().coin(prefix.length, CoinPurpose::kRecovered, kRecoveredColumn), total);
    };
    // All mass on one token: nothing else is left in the residual either.
    if (target.is_one_hot) {
      const Triple total = weight_of(1, target.cut.id);
      return {less(threshold_of(total), total), target.cut.id};
    }
    const auto weight = [&](std::uint32_t id) { return weight_of(target.spread_mass(id), id); };
    return locate<Triple>(arguments.vocab_size, weight, threshold_of, scratch.recovered);
  }

  /// The token recovered behind a prefix; is_found is false when the prefix is not kept. The token
  /// is valid in warp 0, is_found in all threads. Called by the whole block.
  __device__ __forceinline__ Located recover(std::uint32_t length, std::uint64_t ratio,
                                             std::uint64_t coin) const {
    block_anchor::prefix(length, ratio);
    const std::uint32_t request = own_request();
    const Rows<Element> rows(arguments, request);
    const RowRecord target_record = rows.target_record(length);
    const RowRecord draft_record = rows.draft_record(length);
    const LogitLaw<Element> target = rows.target_law(length, target_record);
    const Prefix prefix{length, ratio, coin, target_record.total, draft_record.total};
    const auto token = static_cast<std::uint32_t>(drafts_of(arguments, request).tokens[length]);
    const DraftLaw<Element> draft = rows.draft_law(length, draft_record, token);
    // One sweep for each way to write a draft down, so that none carries the others' registers.
    if (draft.kind == DraftLawKind::kProbabilities)
      return sweep(prefix, target, [&](std::uint32_t id) {
        return mass_of_probability(draft.probabilities[id], draft.fraction_bits);
      });
    const bool has_rows = draft.kind == DraftLawKind::kLogits;
    if (has_rows && !draft.logits.is_one_hot)
      return sweep(prefix, target, [&](std::uint32_t id) { return draft.logits.spread_mass(id); });
    const std::uint32_t certain = has_rows ? draft.logits.cut.id : token;
    return sweep(prefix, target,
                 [&](std::uint32_t id) { return std::uint64_t{id == certain ? 1u : 0u}; });
  }

  __device__ __forceinline__ Located draw_bonus(std::uint32_t length) const {
    const Rows<Element> rows(arguments, own_request());
    const RowRecord record = rows.target_record(length);
    if (record.kind == static_cast<std::uint32_t>(LawKind::kOneHot)) return {true, record.cut_id};
    const LogitLaw<Element> target = rows.target_law(length, record);
    const std::uint64_t coin = coins().coin(length, CoinPurpose::kBonus, kBonusColumn);
    const auto weight = [&](std::uint32_t id) { return target.spread_mass(id); };
    const auto threshold_of = [&](std::uint64_t total) { return scaled(coin, total); };
    return locate<std::uint64_t>(arguments.vocab_size, weight, threshold_of, scratch.bonus);
  }

  /// Tries the prefixes from scratch.stop down, as far as their ratios are in place. True when one
  /// is kept: then `kept` is its length, and `drawn` the token behind it.
  __device__ __forceinline__ bool search(std::uint32_t& kept, Located& drawn) const {
#pragma unroll 1
    for (kept = scratch.stop.position;; --kept) {
      const std::uint64_t ratio = scratch.ratios[kept % kKeptRatios];
      const std::uint64_t coin = test_coin(kept);
      if (coin >> 2 < ratio) {
        drawn = kept == scratch.draft_length ? draw_bonus(kept) : recover(kept, ratio, coin);
        if (drawn.is_found) return true;
      }
      if (kept == 0) return true;
      if (scratch.stop.position - kept == kKeptRatios - 1) return false;
    }
  }

  __device__ __forceinline__ void run() const {
    std::uint32_t kept = 0;
    Located drawn{false, 0};
    for (std::uint32_t longest = kToTheEnd;; longest = kept - 1) {
      if (threadIdx.x < kWarpLanes) {
        const Stop stop = carry(longest);
        if (threadIdx.x == 0) {
          scratch.stop = stop;
          if (longest == kToTheEnd) scratch.draft_length = stop.position;
        }
      }
      __syncthreads();
      if (scratch.stop.answer == Answer::kCannotBeJudged) return write_status(scratch.stop);
      if (search(kept, drawn)) break;
      __syncthreads();  // the ratios in place have been read
    }
    write(kept, drawn);
  }

  __device__ __forceinline__ void write(std::uint32_t kept, const Located& drawn) const {
    const std::uint32_t request = own_request();
    const Output output = output_of(arguments, request);
    const bool is_bonus = kept == scratch.draft_length;
    const Stop stop{kept, is_bonus ? Answer::kDraftEnded : Answer::kRejected, Status::kOk};
    write_prefix(output, drafts_of(arguments, request), stop);
    if (threadIdx.x == 0) write_outcome(output, stop, drawn);
  }

  /// Whether earlier tokens are kept depends on all rows: where one cannot be judged, none is.
  __device__ __forceinline__ void write_status(const Stop& end) const {
    const std::uint32_t request = own_request();
    const Output output = output_of(arguments, request);
    write_prefix(output, drafts_of(arguments, request), stop_for(0, end.status));
    if (threadIdx.x == 0)
      *output.outcome = {0, 0, static_cast<std::uint32_t>(end.status), end.position};
  }
};

}  // namespace draftproof::gpu::kernels::verify

/// One entry for each storage format. One block a request, a multiple of 32 threads up to 1,024.
#define DRAFTPROOF_VERIFY_BLOCK(name, Element)                              \
  extern "C" __global__ void __launch_bounds__(1024, 1)                     \
      name(const __grid_constant__ draftproof_verify_arguments arguments) { \
    using namespace draftproof::gpu::kernels;                               \
    __shared__ verify::BlockRuleScratch scratch;                            \
    verify::BlockRule<Element>{arguments, scratch}.run();                   \
  }

DRAFTPROOF_VERIFY_BLOCK(draftproof_verify_block_f32, Float32)
DRAFTPROOF_VERIFY_BLOCK(draftproof_verify_block_bf16, Bfloat16)
DRAFTPROOF_VERIFY_BLOCK(draftproof_verify_block_f16, Float16)
