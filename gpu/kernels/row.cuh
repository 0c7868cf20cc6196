// Rows: reading logits of any storage format, and the law that a record makes of them.
#pragma once

#include <cstdint>

#include "gpu/kernels/layout.h"
#include "gpu/kernels/mass.cuh"

namespace draftproof::gpu::kernels {

/// Storage types of logits; widening to fp32 is exact.
using Float32 = float;
struct Bfloat16 {
  std::uint16_t bits;
};
struct Float16 {
  std::uint16_t bits;
};

__device__ __forceinline__ float widened(Float32 value) { return value; }
__device__ __forceinline__ float widened(Bfloat16 value) {
  return __uint_as_float(std::uint32_t{value.bits} << 16);
}
__device__ __forceinline__ float widened(Float16 value) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
}

/// Calls visit(id, value) for every element of a row, once, spread over the threads of the block,
/// in no particular order. Slots of 16 bytes are read with one load where they lie wholly inside
/// the row; elements outside [0, count) are never read.
template <class Element, class Visit>
__device__ __forceinline__ void for_each_element(const Element* row, std::uint32_t count,
                                                 Visit visit) {
  constexpr std::uint32_t kPerSlot = 16 / sizeof(Element);
  const std::uint32_t skew =
      static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(row) / sizeof(Element)) %
      kPerSlot;
  const std::uint32_t slots = (skew + count + kPerSlot - 1) / kPerSlot;
  for (std::uint32_t slot = threadIdx.x; slot < slots; slot += blockDim.x) {
    // Ids before the row wrap around and fail the comparison with count.
    const std::uint32_t first = slot * kPerSlot - skew;
    if (first < count && count - first >= kPerSlot) {
      const uint4 raw = *reinterpret_cast<const uint4*>(row + first);
      Element values[kPerSlot];
      memcpy(values, &raw, sizeof(raw));
#pragma unroll
      for (std::uint32_t i = 0; i < kPerSlot; ++i) visit(first + i, widened(values[i]));
    } else {
#pragma unroll 1
      for (std::uint32_t i = 0; i < kPerSlot; ++i) {
        const std::uint32_t id = first + i;
        if (id < count) visit(id, widened(row[id]));
      }
    }
  }
}

/// How a row's logits are read: as they are.
struct RawLogits {
  static constexpr bool kIsSearched = false;  ///< one logit costs no more in a sweep than alone
  __device__ __forceinline__ float logit(std::uint32_t, float raw) const { return raw; }
  template <class Element, class Visit>
  __device__ __forceinline__ void for_each(const Element* row, std::uint32_t count,
                                           const Visit& visit) const {
    for_each_element(row, count, visit);
  }
};

/// The same for logits as `logits` reads them: every id once, in no particular order.
template <class Element, class Logits, class Visit>
__device__ __forceinline__ void for_each_logit(const Element* row, std::uint32_t count,
                                               const Logits& logits, const Visit& visit) {
  logits.for_each(row, count, visit);
}

/// A prefix of the order "logit descending, id ascending": what a filter keeps.
struct Cut {
  std::uint32_t key;  ///< smallest key that stays
  std::uint32_t id;   ///< of that key, the ids up to this one stay

  __device__ __forceinline__ bool keeps(std::uint32_t token_key, std::uint32_t token_id) const {
    return token_key > key || (token_key == key && token_id <= id);
  }
};
inline constexpr std::uint32_t kAnyId = 0xffffffffu;
/// Keeps every token.
inline constexpr Cut kNothingCut{0, kAnyId};

/// The shorter of two prefixes of one order.
__device__ __forceinline__ Cut tighter(Cut a, Cut b) {
  return a.key > b.key || (a.key == b.key && a.id < b.id) ? a : b;
}

/// The slot of a row on the target side: padded_draft_count + 1 slots a request, in 64 bits.
__device__ __forceinline__ std::uint64_t target_slot(std::uint32_t request, std::uint32_t position,
                                                     std::uint32_t padded_draft_count) {
  return std::uint64_t{request} * (padded_draft_count + 1) + position;
}

/// The slot of a row on the draft side: padded_draft_count slots a request, in 64 bits.
__device__ __forceinline__ std::uint64_t draft_slot(std::uint32_t request, std::uint32_t position,
                                                    std::uint32_t padded_draft_count) {
  return std::uint64_t{request} * padded_draft_count + position;
}

/// The law of a row of logits, token by token, as `Logits` reads them.
template <class Element, class Logits = RawLogits>
struct LogitLaw {
  const Element* row;
  Logits logits;
  Cut cut;
  MassFrame frame;
  bool is_one_hot;

  __device__ __forceinline__ LogitLaw(const Element* elements, const RowRecord& record,
                                      std::uint32_t fraction_bits, const Logits& reader = {})
      : row(elements),
        logits(reader),
        cut{record.cut_key, record.cut_id},
        frame(mass_frame(record.maximum, record.scale, fraction_bits)),
        is_one_hot(record.kind == static_cast<std::uint32_t>(LawKind::kOneHot)) {}

  __device__ __forceinline__ std::uint64_t mass(std::uint32_t id) const {
    if (is_one_hot) return id == cut.id ? 1 : 0;
    return spread_mass(id);
  }

  /// The same of a law that is not one-hot.
  __device__ __forceinline__ std::uint64_t spread_mass(std::uint32_t id) const {
    const float logit = logits.logit(id, widened(row[id]));
    return cut.keeps(key_of(logit), id) ? mass_of(logit, frame) : 0;
  }
};

/// The law a drafted token came from, in whichever way it is written down.
template <class Element>
struct DraftLaw {
  DraftLawKind kind;
  LogitLaw<Element> logits;    ///< kLogits
  const float* probabilities;  ///< kProbabilities
  std::uint32_t fraction_bits;
  std::uint32_t token;  ///< kOneHot: the drafted token itself

  __device__ __forceinline__ std::uint64_t mass(std::uint32_t id) const {
    if (kind == DraftLawKind::kOneHot) return id == token ? 1 : 0;
    if (kind == DraftLawKind::kProbabilities)
      return mass_of_probability(probabilities[id], fraction_bits);
    return logits.mass(id);
  }
};

}  // namespace draftproof::gpu::kernels
