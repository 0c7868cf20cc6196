// Fused acceptance for chains: logits in; tokens, accepted lengths, statuses and KV plans out, in
// one launch. The rules are those of chain.cu and greedy.cu, to the bit (reference/verify/chain.h
// and greedy.h state the order of judging): a greedy request is a chain whose laws are one-hot.
//
// A team of blocks takes one row after another, position by position and within a position request
// by request. It reads its row once, into shared memory where that has room, shapes it there,
// judges the drafted token, and publishes one word, the row's verdict. A team whose row does not go
// on waits for the verdicts of the rows before; if those are accepted the request ends here, and
// the team, which still holds the row, reads the draft row and draws the recovered or bonus token.
// So logits are read once, and of the draft rows one a request, when their records were handed in.
//
// Waiting ends: rows wait only for lower positions, teams take rows in ascending order, and all
// teams are resident, so the lowest unfinished row always goes on. Every decision to skip or wait
// is a function of verdicts that are final, hence the same in all blocks of a team.
//
// Determinism: gpu_to_gpu, bit for bit, for every division into teams and blocks (a multiple of 32
// threads up to 1,024), order and schedule: all sums are integers.
#include <cstdint>

#include "gpu/kernels/anchor.cuh"
#include "gpu/kernels/arguments/acceptance.h"
#include "gpu/kernels/coin.cuh"
#include "gpu/kernels/row.cuh"
#include "gpu/kernels/shaping/team_row.cuh"
#include "gpu/kernels/team.cuh"
#include "gpu/kernels/verify/verdicts.cuh"
#include "gpu/kernels/verify/walk.cuh"
#include "gpu/kernels/wide.cuh"

namespace draftproof::gpu::kernels::verify {

using Arguments = ::draftproof_acceptance_arguments;

/// The row that a team works on, the same in all its blocks.
struct RowTask {
  std::uint32_t request;
  std::uint32_t position;
  std::uint32_t draft_count;
  std::uint32_t token;        ///< the drafted one, unless draft_ended
  std::uint32_t draft_ended;  ///< the draft ends in front of this row
  std::uint32_t is_one_hot;   ///< the draft's law has no row
};

/// Shared memory of a block.
struct FusedScratch {
  shaping::TeamRowScratch row;
  RequestParameters parameters;  ///< of the task's request
  RowRecord target;
  RowRecord draft;
  RowTask task;
  Stop stop;
  std::uint32_t goes_on;    ///< the row is to be read
  std::uint32_t ends;       ///< the request ends with it
  std::uint32_t is_writer;  ///< this block writes the outcome
  union {
    LocateScratch<std::uint64_t> bonus;
    LocateScratch<Wide> recovered;
  };
};

template <class T>
__device__ __forceinline__ T* at(draftproof_pointer pointer) {
  return reinterpret_cast<T*>(pointer);
}

/// A block's way through the launch.
template <class Element, bool kIsStaged>
struct FusedChain {
  using Slice = shaping::RowSlice<Element>;

  const Arguments& arguments;
  FusedScratch& scratch;
  unsigned char* room;  ///< dynamic shared memory
  Team team;

  __device__ __forceinline__ const RowTask& task() const { return scratch.task; }

  __device__ __forceinline__ std::uint32_t fraction_bits() const {
    return fraction_bits_for(arguments.vocab_size);
  }
  __device__ __forceinline__ std::uint64_t first_slot() const {
    return target_slot(task().request, 0, arguments.padded_draft_count);
  }
  __device__ __forceinline__ std::uint64_t first_draft_slot() const {
    return draft_slot(task().request, 0, arguments.padded_draft_count);
  }
  __device__ __forceinline__ const Element* target_row() const {
    std::uint64_t offset = (first_slot() + task().position) * arguments.target_row_stride;
    anchor::row_offset(offset);
    return at<const Element>(arguments.target_rows) + offset;
  }
  /// The drafted token's row; T is what its elements are.
  template <class T>
  __device__ __forceinline__ const T* draft_row() const {
    std::uint64_t slot = first_draft_slot() + task().position;
    anchor::draft_row_slot(slot);
    return at<const T>(arguments.draft_rows) + slot * arguments.draft_row_stride;
  }
  __device__ __forceinline__ bool has_probabilities() const {
    return arguments.draft_kind == static_cast<std::uint32_t>(DraftLawKind::kProbabilities);
  }
  __device__ __forceinline__ std::uint64_t coin(CoinPurpose purpose, CoinColumn column) const {
    const CoinSource source{at<const std::uint64_t>(arguments.coins), first_slot(), arguments.seed,
                            scratch.parameters.coin_request, scratch.parameters.coin_position};
    return source.coin(task().position, purpose, column);
  }
  __device__ __forceinline__ DraftLaw<Element> draft_law() const {
    return {task().is_one_hot != 0 ? DraftLawKind::kOneHot
                                   : static_cast<DraftLawKind>(arguments.draft_kind),
            LogitLaw<Element>(draft_row<Element>(), scratch.draft, fraction_bits()),
            draft_row<float>(), fraction_bits(), task().token};
  }

  /// Copies what is small to shared memory, so that it is read once. False when the row is not in
  /// the draft, or a row before it that had to be waited for is not accepted. Called by warp 0.
  __device__ __forceinline__ bool prepare(std::uint32_t request, std::uint32_t position) const {
    constexpr std::uint32_t kWords = sizeof(RequestParameters) / sizeof(std::uint32_t);
    const std::uint32_t lane = threadIdx.x;
    if (lane < kWords)
      reinterpret_cast<std::uint32_t*>(&scratch.parameters)[lane] =
          (at<const std::uint32_t>(arguments.requests) + std::size_t{request} * kWords)[lane];
    __syncwarp();
    const std::uint32_t count = min(scratch.parameters.draft_count, arguments.padded_draft_count);
    const std::uint64_t first = draft_slot(request, 0, arguments.padded_draft_count);
    const std::int32_t* tokens = at<const std::int32_t>(arguments.draft_tokens) + first;
    if (!is_in_draft(tokens, count, position)) return false;
    if (position >= arguments.rows_ahead) {
      const Verdicts verdicts = verdicts_of(arguments, request, scratch.row.team.launch);
      if (!verdicts.all_accepted(position - arguments.rows_ahead + 1)) return false;
    }
    if (lane != 0) return true;
    const std::int32_t token = position < count ? tokens[position] : kNoToken;
    const bool is_one_hot =
        token == kNoToken || (scratch.parameters.flags & kOneHotDraft) != 0 ||
        arguments.draft_kind == static_cast<std::uint32_t>(DraftLawKind::kOneHot);
    scratch.task = {request,
                    position,
                    count,
                    static_cast<std::uint32_t>(token),
                    token == kNoToken ? 1u : 0u,
                    is_one_hot ? 1u : 0u};
    // All mass, 1, on the token itself when the draft has no rows.
    scratch.draft = {1, 0.0f, 0.0f, 0, 0, 0, static_cast<std::uint32_t>(LawKind::kOneHot)};
    if (!is_one_hot && arguments.draft_records != 0)
      scratch.draft = at<const RowRecord>(arguments.draft_records)[first + position];
    return true;
  }

  __device__ __forceinline__ Slice slice_of(const Element* row) const {
    return shaping::slice_of(row, arguments.vocab_size, team);
  }
  /// The target's slice where it is swept.
  __device__ __forceinline__ Slice target_slice() const {
    const Slice slice = slice_of(target_row());
    if constexpr (kIsStaged) return shaping::in_room(slice, room);
    return slice;
  }
  /// True when the row of the drafted token has to be shaped here.
  __device__ __forceinline__ bool shapes_draft() const {
    return task().is_one_hot == 0 && arguments.draft_records == 0 && scratch.target.status == 0;
  }

  /// The record of `row`, valid in thread 0; its slice is staged in `to`.
  __device__ __forceinline__ RowRecord shaped(const Element* row, unsigned char* to) {
    Slice slice = slice_of(row);
    float maximum = -__builtin_huge_valf();
    const auto visit = [&](std::uint32_t, float logit) {
      maximum = shaping::max_or_nan(maximum, logit);
    };
    if constexpr (kIsStaged) {
      shaping::stage(slice, to, visit);
      slice = shaping::in_room(slice, to);
      __syncthreads();
    } else {
      slice.for_each(visit);
    }
    return shaping::team_record(team, slice, shaping::key_or_nan(maximum), fraction_bits(),
                                scratch.parameters, scratch.row);
  }

  /// Fills scratch.target, and scratch.draft where it was not handed in. Rows of logits are shaped
  /// in a loop of two, so that the body is there once.
  __device__ __forceinline__ void shape() {
    const std::uint32_t elements = shaping::slice_length(arguments.vocab_size, team.size);
#pragma unroll 1
    for (std::uint32_t side = 0; side < 2; ++side) {
      const bool is_target = side == 0;
      if (!is_target && (!shapes_draft() || has_probabilities())) break;
      const std::uint32_t skipped = is_target ? 0 : elements * sizeof(Element) + 16;
      const RowRecord record =
          shaped(is_target ? target_row() : draft_row<Element>(), room + skipped);
      if (threadIdx.x == 0) (is_target ? scratch.target : scratch.draft) = record;
      __syncthreads();
    }
    if (!shapes_draft() || !has_probabilities()) return;
    const RowRecord record = shaping::team_record_of_probabilities(
        team, shaping::slice_of(draft_row<float>(), arguments.vocab_size, team), fraction_bits(),
        scratch.row);
    if (threadIdx.x == 0) scratch.draft = record;
    __syncthreads();
  }

  /// What the row says, from its two records. Called by one thread.
  __device__ __forceinline__ Stop judged() const {
    const std::uint32_t position = task().position;
    const RowRecord& target = scratch.target;
    const RowRecord& draft = scratch.draft;
    if (target.status != 0) return stop_for(position, static_cast<Status>(target.status));
    if (task().draft_ended != 0) return {position, Answer::kDraftEnded, Status::kOk};
    if (draft.status != 0) return stop_for(position, static_cast<Status>(draft.status));
    const std::uint64_t draft_mass = draft_law().mass(task().token);
    if (draft_mass == 0) return stop_for(position, Status::kDraftMassZero);
    const LogitLaw<Element> law(target_row(), target, fraction_bits());
    Wide bound = wide_product(law.mass(task().token), draft.total);
    anchor::accept_bound(bound);
    const std::uint64_t accept = coin(CoinPurpose::kAccept, kAcceptColumn);
    const bool is_accepted = less(scaled(accept, wide_product(draft_mass, target.total)), bound);
    return {position, is_accepted ? Answer::kAccepted : Answer::kRejected, Status::kOk};
  }

  /// The recovered or bonus token. Called by all blocks of the team.
  __device__ __forceinline__ TeamLocated draw() {
    const Slice slice = target_slice();
    const Cut cut{scratch.target.cut_key, scratch.target.cut_id};
    const MassFrame frame =
        mass_frame(scratch.target.maximum, scratch.target.scale, fraction_bits());
    const auto target_mass = [&](std::uint32_t index) -> std::uint64_t {
      const float logit = slice.logit(index);
      return cut.keeps(key_of(logit), slice.begin + index) ? mass_of(logit, frame) : 0;
    };
    if (task().draft_ended != 0) {
      const auto threshold_of = [&](std::uint64_t total) {
        return scaled(coin(CoinPurpose::kBonus, kBonusColumn), total);
      };
      return team_locate<std::uint64_t>(team, slice.count, target_mass, threshold_of,
                                        scratch.bonus);
    }
    const DraftLaw<Element> law = draft_law();
    const auto weight = [&](std::uint32_t index) -> Wide {
      const std::uint64_t mass = target_mass(index);
      if (mass == 0) return {};
      const Wide gained = wide_product(mass, scratch.draft.total);
      Wide spent = wide_product(law.mass(slice.begin + index), scratch.target.total);
      anchor::spent(spent);
      return less(spent, gained) ? difference(gained, spent) : Wide{};
    };
    const auto threshold_of = [&](Wide total) {
      return scaled(coin(CoinPurpose::kRecovered, kRecoveredColumn), total);
    };
    return team_locate<Wide>(team, slice.count, weight, threshold_of, scratch.recovered);
  }

  /// Ends the request. Called by all blocks of the team; one of them writes.
  __device__ __forceinline__ void end() {
    const bool draws = scratch.stop.answer != Answer::kCannotBeJudged;
    bool is_writer = team.rank() == 0;
    Located drawn{false, 0};
    if (draws && scratch.target.kind == static_cast<std::uint32_t>(LawKind::kOneHot)) {
      // All mass on one token: a rejection says that the drafted token is another one.
      drawn = {true, scratch.target.cut_id};
    } else if (draws) {
      const TeamLocated found = draw();
      drawn = {found.own.is_found, target_slice().begin + found.own.id};
      if (found.exists) is_writer = drawn.is_found;
    }
    if (threadIdx.x == 0) scratch.is_writer = is_writer ? 1 : 0;
    __syncthreads();
    if (scratch.is_writer == 0) return;
    const Drafts drafts{at<const std::int32_t>(arguments.draft_tokens) + first_draft_slot(),
                        task().draft_count, arguments.vocab_size};
    const Output output{at<std::int32_t>(arguments.emitted_tokens) + first_slot(),
                        at<std::int32_t>(arguments.emitted_reasons) + first_slot(),
                        at<OutcomeRecord>(arguments.outcomes) + task().request,
                        arguments.padded_draft_count + 1};
    write_prefix(output, drafts, scratch.stop);
    if (threadIdx.x != 0) return;
    write_outcome(output, scratch.stop, drawn);
    write_plan(drawn);
  }

  __device__ __forceinline__ void write_plan(const Located& drawn) const {
    if (arguments.kv_plans == 0) return;
    const std::uint32_t request = task().request;
    const std::uint32_t before =
        arguments.kv_lengths == 0 ? 0 : at<const std::uint32_t>(arguments.kv_lengths)[request];
    std::uint32_t kept = scratch.stop.position + 1;
    anchor::kept_count(kept);
    at<draftproof_kv_plan>(arguments.kv_plans)[request] = {
        kept, task().draft_count + 1 - kept, before + kept,
        drawn.is_found ? static_cast<std::int32_t>(drawn.id) : kNoToken};
  }

  /// The row of scratch.task: reads it, judges it, and ends its request if it ends here.
  __device__ __forceinline__ void judge_row() {
    const bool is_token = task().draft_ended != 0 || task().token < arguments.vocab_size;
    if (is_token) shape();
    const Verdicts verdicts = verdicts_of(arguments, task().request, scratch.row.team.launch);
    if (threadIdx.x < kWarpLanes) {
      const std::uint32_t position = task().position;
      if (threadIdx.x == 0) {
        const Stop stop = is_token ? judged() : stop_for(position, Status::kDraftTokenRange);
        scratch.stop = stop;
        scratch.ends = stop.answer != Answer::kAccepted ? 1 : 0;
        if (team.rank() == 0) verdicts.publish(position, stop.answer == Answer::kAccepted);
      }
      __syncwarp();
      if (scratch.ends != 0) {
        std::uint32_t before = position;
        anchor::rows_before(before);
        const bool is_first = verdicts.all_accepted(before);
        __syncwarp();
        if (threadIdx.x == 0) scratch.ends = is_first ? 1 : 0;
      }
    }
    __syncthreads();
    if (scratch.ends != 0) end();
  }

  __device__ __forceinline__ void run() {
    const std::uint32_t requests =
        arguments.request_count == 0
            ? arguments.request_capacity
            : min(*at<const std::uint32_t>(arguments.request_count), arguments.request_capacity);
    const std::uint32_t rows = requests * (arguments.padded_draft_count + 1);
    const std::uint32_t team_count = gridDim.x / team.size;
#pragma unroll 1
    for (std::uint32_t row = blockIdx.x / team.size; row < rows; row += team_count) {
      if (threadIdx.x < kWarpLanes) {
        const bool goes_on = prepare(row % requests, row / requests);
        if (threadIdx.x == 0) scratch.goes_on = goes_on ? 1 : 0;
      }
      __syncthreads();
      if (scratch.goes_on != 0) judge_row();
      __syncthreads();  // the room and the scratch are written again
    }
    team.leave();
  }
};

}  // namespace draftproof::gpu::kernels::verify

/// One entry for each storage format, and for whether slices are staged in dynamic shared memory
/// (shared_bytes is not 0) or read where they lie. The grid is block_count blocks, launched
/// cooperatively.
#define DRAFTPROOF_CHAIN_FUSED(name, Element, is_staged)                          \
  extern "C" __global__ void __launch_bounds__(1024, 1)                           \
      name(const __grid_constant__ draftproof_acceptance_arguments arguments) {   \
    using namespace draftproof::gpu::kernels;                                     \
    extern __shared__ __align__(16) unsigned char room[];                         \
    __shared__ verify::FusedScratch scratch;                                      \
    auto* header = verify::at<TeamHeader>(arguments.workspace);                   \
    auto* areas = verify::at<TeamArea>(arguments.workspace + sizeof(TeamHeader)); \
    const Team team(*header, areas, arguments.team_size, scratch.row.team);       \
    verify::FusedChain<Element, is_staged>{arguments, scratch, room, team}.run(); \
    leave_launch(*header);                                                        \
  }

DRAFTPROOF_CHAIN_FUSED(draftproof_chain_fused_staged_f32, Float32, true)
DRAFTPROOF_CHAIN_FUSED(draftproof_chain_fused_staged_bf16, Bfloat16, true)
DRAFTPROOF_CHAIN_FUSED(draftproof_chain_fused_staged_f16, Float16, true)
DRAFTPROOF_CHAIN_FUSED(draftproof_chain_fused_streamed_f32, Float32, false)
DRAFTPROOF_CHAIN_FUSED(draftproof_chain_fused_streamed_bf16, Bfloat16, false)
DRAFTPROOF_CHAIN_FUSED(draftproof_chain_fused_streamed_f16, Float16, false)
