// Sampled siblings on the device, tested one after the other against what is left of the target,
// with and without replacement (rules and order of judging are those of
// reference/verify/siblings.h). One block a request, after a shape_rows launch; masses are
// recomputed from the logits and the rows' records.
//
//   R_0 = target row; for the children j = 0, 1, ... with token x and draft row D
//   taken      scaled(coin_j, D_x sum R_j) < R_j,x sum D
//   W_v = max(0, R_j,v sum D - D_v sum R_j);  R_(j+1) = W >> max(0, bits of sum W - 62)
//   recovered  drawn from the last W
//   without replacement D has no mass at the tokens of children 0 .. j - 1, and sum D shrinks
//
// No R is ever written down: R_j of a token follows from its target logit, its logits in the draft
// rows of the j siblings that were rejected, and a trail of a few words a sibling in shared memory.
// So there is no scratch of the size of the vocabulary, and a first child costs what a chain costs;
// every rejection that is followed by another sibling costs two sweeps over j + 2 rows, one for the
// shift and one for the sum. A scratch row of 8 bytes a token would cost 32 bytes a token and sweep
// pair instead of 8 (j + 2) for fp32 rows, half of it for 16 bits: it would win from the third
// rejection on, and need 8 vocab_size bytes for every request at all times.
//
// The whole block walks. Determinism: gpu_to_gpu, bit for bit, for every block size (a multiple of
// 32 up to 1,024), order and schedule: all sums are integers.
#include <cstdint>

#include "gpu/kernels/locate.cuh"
#include "gpu/kernels/verify/tree_walk.cuh"
#include "gpu/kernels/wide.cuh"

namespace draftproof::gpu::kernels::verify {

/// Siblings that a trail has room for; the host refuses more draft slots.
inline constexpr std::uint32_t kTrailMax = 512;

/// A row's law in shared memory: read where it is needed, so that it holds no registers.
struct SharedLaw {
  draftproof_pointer row;
  std::uint32_t cut_key;
  std::uint32_t cut_id;
  float scale;
  float anchor;
  std::uint32_t kind;  ///< LawKind

  template <class Element>
  __device__ __forceinline__ std::uint64_t mass(std::uint32_t id, std::uint32_t fraction_bits) const
      volatile {
    const LawKind own = static_cast<LawKind>(kind);
    if (own == LawKind::kOneHot) return id == cut_id ? 1 : 0;
    if (own == LawKind::kProbabilities)
      return mass_of_probability(reinterpret_cast<const float*>(row)[id], fraction_bits);
    const float logit = widened(reinterpret_cast<const Element*>(row)[id]);
    const MassFrame frame{scale, anchor, kAnchorBits + 55u - fraction_bits};
    return Cut{cut_key, cut_id}.keeps(key_of(logit), id) ? mass_of(logit, frame) : 0;
  }
};

template <class Element>
__device__ __forceinline__ SharedLaw shared_law(const LogitLaw<Element>& law) {
  return {reinterpret_cast<draftproof_pointer>(law.row),
          law.cut.key,
          law.cut.id,
          law.frame.scale,
          law.frame.anchor,
          static_cast<std::uint32_t>(law.is_one_hot ? LawKind::kOneHot : LawKind::kMasses)};
}

template <class Element>
__device__ __forceinline__ SharedLaw shared_law(const DraftLaw<Element>& law) {
  SharedLaw result = shared_law(law.logits);
  if (law.kind == DraftLawKind::kLogits) return result;
  const bool is_one_hot = law.kind == DraftLawKind::kOneHot;
  result.row = reinterpret_cast<draftproof_pointer>(law.probabilities);
  result.cut_id = law.token;
  result.kind = static_cast<std::uint32_t>(is_one_hot ? LawKind::kOneHot : LawKind::kProbabilities);
  return result;
}

/// What is remembered of a rejected sibling.
struct Rejected {
  SharedLaw draft;
  std::uint64_t left_total;   ///< sum R_j
  std::uint64_t draft_total;  ///< sum D, without what was struck out
  std::uint32_t token;
  std::uint32_t shift;  ///< of W, towards R_(j+1); known once another sibling follows
};

struct SiblingsScratch {
  Rejected trail[kTrailMax];
  SharedLaw target;
  union {
    LocateScratch<std::uint64_t> bonus;
    LocateScratch<Wide> recovered;
    Wide partial[kWarpLanes];
  };
};

/// Sum over the values of all threads; valid in all threads. Called by the whole block.
__device__ __forceinline__ Wide block_total(Wide value, SiblingsScratch& scratch) {
  const std::uint32_t lane = threadIdx.x % kWarpLanes;
  const Wide own = warp_sum(value);
  if (lane == 0) scratch.partial[threadIdx.x / kWarpLanes] = own;
  __syncthreads();
  const Wide total = warp_sum(lane < blockDim.x / kWarpLanes ? scratch.partial[lane] : Wide{});
  __syncthreads();  // the next sum may write the partials
  return total;
}

/// max(0, bits of value - 62).
__device__ __forceinline__ std::uint32_t shift_for(Wide value) {
  const std::uint32_t bits = value.high != 0 ? 128 - static_cast<std::uint32_t>(__clzll(value.high))
                                             : 64 - static_cast<std::uint32_t>(__clzll(value.low));
  std::uint32_t shift = bits > 62 ? bits - 62 : 0;
  tree_anchor::shortening(shift);
  return shift;
}

/// value >> shift. Precondition: shift < 128.
__device__ __forceinline__ Wide shifted(Wide value, std::uint32_t shift) {
  if (shift == 0) return value;
  if (shift >= 64) return {0, value.high >> (shift - 64)};
  return {value.high >> shift, value.low >> shift | value.high << (64 - shift)};
}

/// No sibling strikes a token out.
inline constexpr std::uint32_t kNeverStruck = 0xffffffffu;

/// What is left of a target row when the siblings in the trail have been rejected.
template <class Element>
struct Left {
  const SiblingsScratch& scratch;
  std::uint32_t fraction_bits;

  __device__ __forceinline__ std::uint32_t token(std::uint32_t j) const {
    return scratch.trail[j].token;
  }

  /// W_j of token `id` from its R_j. `struck`: behind this sibling, draft rows exclude it.
  __device__ __forceinline__ Wide residual(std::uint64_t left, std::uint32_t j, std::uint32_t id,
                                           std::uint32_t struck) const {
    const volatile Rejected& rejected = scratch.trail[j];
    const Wide gained = wide_product(left, rejected.draft_total);
    const std::uint64_t draft_mass =
        j > struck ? 0 : rejected.draft.template mass<Element>(id, fraction_bits);
    const Wide spent = wide_product(draft_mass, rejected.left_total);
    return less(spent, gained) ? difference(gained, spent) : Wide{};
  }

  /// R_count of token `id`.
  __device__ __forceinline__ std::uint64_t mass(std::uint32_t id, std::uint32_t count,
                                                std::uint32_t struck) const {
    const volatile SharedLaw& target = scratch.target;
    std::uint64_t left = target.template mass<Element>(id, fraction_bits);
#pragma unroll 1
    for (std::uint32_t j = 0; j < count && left != 0; ++j)
      left = shifted(residual(left, j, id, struck), scratch.trail[j].shift).low;
    return left;
  }

  /// W_last of token `id`.
  __device__ __forceinline__ Wide weight(std::uint32_t id, std::uint32_t last,
                                         std::uint32_t struck) const {
    const std::uint64_t left = mass(id, last, struck);
    return left == 0 ? Wide{} : residual(left, last, id, struck);
  }
};

/// The tokens of siblings 0 .. count - 1, which draft rows behind them exclude.
template <class Element>
struct StruckSiblings {
  static constexpr bool kAreThere = true;
  const Left<Element>& left;
  std::uint32_t last;
  std::uint32_t count;  ///< 0 with replacement, else last

  template <class Visit>
  __device__ __forceinline__ void for_each(const Visit& visit) const {
#pragma unroll 1
    for (std::uint32_t first = 0; first < count; first += kWarpLanes) {
      const std::uint32_t j = first + threadIdx.x % kWarpLanes;
      std::uint32_t token = 0;
      Wide excess{};
      if (j < count) {
        token = left.token(j);
        excess = difference(left.weight(token, last, j), left.weight(token, last, kNeverStruck));
      }
      visit(j < count, token, excess);
    }
  }
};

/// One request. What it reads is taken from the arguments where it is needed.
template <class Element, bool kWithReplacement>
struct Siblings {
  const draftproof_verify_arguments& arguments;
  SiblingsScratch& scratch;

  __device__ __forceinline__ Rows<Element> rows() const {
    return Rows<Element>(arguments, blockIdx.x);
  }
  __device__ __forceinline__ Tree tree() const { return tree_of(arguments, blockIdx.x); }
  __device__ __forceinline__ Left<Element> left() const {
    return {scratch, fraction_bits_for(arguments.vocab_size)};
  }
  __device__ __forceinline__ bool is_one_hot() const {
    return scratch.target.kind == static_cast<std::uint32_t>(LawKind::kOneHot);
  }

  /// Sum of W_last >> shift over the row. Called by the whole block.
  __device__ __forceinline__ Wide total(std::uint32_t last, std::uint32_t shift) const {
    const Left<Element> own = left();
    // The ids that the row has mass at: all, or the one of a one-hot row.
    const std::uint32_t begin = is_one_hot() ? scratch.target.cut_id : 0;
    const std::uint32_t end = is_one_hot() ? begin + 1 : arguments.vocab_size;
    Wide value{};
#pragma unroll 1
    for (std::uint32_t id = begin + threadIdx.x; id < end; id += blockDim.x)
      value = sum(value, shifted(own.weight(id, last, kNeverStruck), shift));
    if constexpr (!kWithReplacement) {
#pragma unroll 1
      for (std::uint32_t j = threadIdx.x; j < last; j += blockDim.x) {
        const std::uint32_t token = own.token(j);
        if (token < begin || token >= end) continue;
        value = sum(value, difference(shifted(own.weight(token, last, j), shift),
                                      shifted(own.weight(token, last, kNeverStruck), shift)));
      }
    }
    return block_total(value, scratch);
  }

  /// sum R_count, and on the way the shift towards it. Called by the whole block.
  __device__ __forceinline__ std::uint64_t shorten(std::uint32_t count) const {
    Wide whole{};
    std::uint32_t shift = 0;
#pragma unroll 1
    for (int sweep = 0; sweep < 2; ++sweep) {
      whole = total(count - 1, shift);
      if (sweep == 0) shift = shift_for(whole);
    }
    if (threadIdx.x == 0) scratch.trail[count - 1].shift = shift;
    __syncthreads();
    return whole.low;
  }

  /// Mass of a sibling's token in its draft row, and the row's total.
  struct Drafted {
    std::uint64_t mass;
    std::uint64_t total;
  };
  __device__ __forceinline__ Drafted drafted(const DraftLaw<Element>& draft, std::uint64_t whole,
                                             std::uint32_t token,
                                             std::uint32_t rejected_count) const {
    Drafted result{draft.mass(token), whole};
    if constexpr (!kWithReplacement) {
      std::uint64_t struck = 0;
      bool is_repeated = false;
#pragma unroll 1
      for (std::uint32_t j = threadIdx.x % kWarpLanes; j < rejected_count; j += kWarpLanes) {
        const std::uint32_t earlier = scratch.trail[j].token;
        is_repeated = is_repeated || earlier == token;
        struck += draft.mass(earlier);
      }
      result.total -= warp_sum(struck);
      tree_anchor::struck_total(result.total, whole);
      if (__any_sync(0xffffffffu, is_repeated) != 0) result.mass = 0;
    }
    return result;
  }

  /// Tests child number `sibling`; kRejected: it is in the trail now. Called by the whole block,
  /// with the same arguments.
  __device__ __forceinline__ TreeStep test(const Place& place, std::uint32_t node,
                                           std::uint32_t sibling) const {
    const RowRecord record = rows().draft_record(node);
    if (record.status != 0) return fails(static_cast<Status>(record.status));
    const std::uint64_t left_total =
        sibling == 0 ? rows().target_record(place.row()).total : shorten(sibling);
    const std::uint32_t token = static_cast<std::uint32_t>(tree().tokens[node]);
    const DraftLaw<Element> law = rows().draft_law(node, record, token);
    const Drafted draft = drafted(law, record.total, token, sibling);
    if (draft.mass == 0) return fails(Status::kDraftMassZero);
    std::uint32_t slot = sibling;
    tree_anchor::accept_sibling(slot);
    const std::uint64_t coin =
        tree_coins_of(arguments, blockIdx.x).accept_coin_of(node, place.depth, slot);
    const Wide bound = wide_product(left().mass(token, sibling, kNeverStruck), draft.total);
    if (less(scaled(coin, wide_product(draft.mass, left_total)), bound)) return takes(node);
    __syncthreads();  // everybody has read the trail
    if (threadIdx.x == 0)
      scratch.trail[sibling] = {shared_law(law), left_total, draft.total, token, 0};
    __syncthreads();
    return {Answer::kRejected, Status::kOk, 0};
  }

  __device__ __forceinline__ TreeStep judge(const Place& place, const Children& children) const {
    const RowRecord record = rows().target_record(place.row());
    if (record.status != 0) return fails(static_cast<Status>(record.status));
    __syncthreads();  // everybody has read the target of the place before
    if (threadIdx.x == 0) scratch.target = shared_law(rows().target_law(place.row(), record));
    __syncthreads();
    TreeStep step = ends(children);
    std::uint32_t node = place.row();
#pragma unroll 1
    for (std::uint32_t sibling = 0; sibling < children.count; ++sibling, ++node) {
      node = next_child(tree(), place, node);
      step = test(place, node, sibling);
      if (step.answer != Answer::kRejected) return step;
    }
    return step;
  }

  /// The recovered or bonus token; valid in warp 0. Called by the whole block.
  __device__ __forceinline__ Located draw(const TreeStop& stop) const {
    // All mass on one token: the bonus draw finds it, and so does the residual draw, because what
    // is left of the row weighs nothing elsewhere.
    if (is_one_hot()) return {true, scratch.target.cut_id};
    const bool is_bonus = stop.answer == Answer::kDraftEnded;
    const std::uint64_t coin =
        tree_coins_of(arguments, blockIdx.x)
            .row_coin(stop.place.row(), stop.place.depth,
                      is_bonus ? CoinPurpose::kBonus : CoinPurpose::kRecovered);
    const Left<Element> own = left();
    if (is_bonus)
      return locate<std::uint64_t>(
          arguments.vocab_size, [&](std::uint32_t id) { return own.mass(id, 0, kNeverStruck); },
          [&](std::uint64_t total) { return scaled(coin, total); }, scratch.bonus);
    const std::uint32_t last = children_of(tree(), stop.place).count - 1;
    const StruckSiblings<Element> struck{own, last, kWithReplacement ? 0 : last};
    return locate<Wide>(
        arguments.vocab_size, [&](std::uint32_t id) { return own.weight(id, last, kNeverStruck); },
        [&](Wide total) { return scaled(coin, total); }, scratch.recovered, struck);
  }

  __device__ __forceinline__ void run() const {
    const TreeOutput output = tree_output_of(arguments, blockIdx.x);
    const TreeStop stop = walk_tree(
        tree(), output,
        [&](const Place& place, const Children& children) { return judge(place, children); });
    write_tree_rest(output, stop);
    Located drawn{false, 0};
    if (stop.draws()) drawn = draw(stop);
    if (threadIdx.x == 0) write_tree_outcome(output, stop, drawn);
  }
};

}  // namespace draftproof::gpu::kernels::verify

/// One entry for each rule and storage format. One block a request, a multiple of 32 threads up to
/// 1,024; at most kTrailMax draft slots a request. `coins` may be null: then they come from Philox
/// under `seed`.
#define DRAFTPROOF_VERIFY_SIBLINGS(name, Element, is_with_replacement)             \
  extern "C" __global__ void __launch_bounds__(1024, 1)                            \
      name(const __grid_constant__ draftproof_verify_arguments arguments) {        \
    using namespace draftproof::gpu::kernels;                                      \
    __shared__ verify::SiblingsScratch scratch;                                    \
    const verify::Siblings<Element, is_with_replacement> rule{arguments, scratch}; \
    rule.run();                                                                    \
  }

DRAFTPROOF_VERIFY_SIBLINGS(draftproof_verify_with_replacement_f32, Float32, true)
DRAFTPROOF_VERIFY_SIBLINGS(draftproof_verify_with_replacement_bf16, Bfloat16, true)
DRAFTPROOF_VERIFY_SIBLINGS(draftproof_verify_with_replacement_f16, Float16, true)
DRAFTPROOF_VERIFY_SIBLINGS(draftproof_verify_without_replacement_f32, Float32, false)
DRAFTPROOF_VERIFY_SIBLINGS(draftproof_verify_without_replacement_bf16, Bfloat16, false)
DRAFTPROOF_VERIFY_SIBLINGS(draftproof_verify_without_replacement_f16, Float16, false)
