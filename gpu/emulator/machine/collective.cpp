// WarpExecution: what shuffle, vote, match, redux and elect compute once their members have met
// (collective_meeting.cpp). PTX ISA 9.0, 9.7.9 and 9.7.13. The instruction may stand at different
// places of the text, so lanes of several strands may take part.
#include <bit>

#include "gpu/emulator/machine/warp_execution.h"

namespace draftproof::gpu::emulator {

namespace {

std::uint32_t reduce(ReduxMode mode, bool is_signed, std::uint32_t a, std::uint32_t b) {
  const auto signed_a = static_cast<std::int32_t>(a);
  const auto signed_b = static_cast<std::int32_t>(b);
  switch (mode) {
    case ReduxMode::kAdd:
      return a + b;
    case ReduxMode::kMin:
      return is_signed ? (signed_a < signed_b ? a : b) : (a < b ? a : b);
    case ReduxMode::kMax:
      return is_signed ? (signed_a > signed_b ? a : b) : (a > b ? a : b);
    case ReduxMode::kAnd:
      return a & b;
    case ReduxMode::kOr:
      return a | b;
    case ReduxMode::kXor:
      return a ^ b;
  }
  return 0;
}

template <class F>
void for_each_lane(LaneMask lanes, F function) {
  for (; lanes != 0; lanes &= lanes - 1) {
    function(static_cast<std::uint32_t>(std::countr_zero(lanes)));
  }
}

}  // namespace

void WarpExecution::perform(std::span<const Part> parts) {
  LaneMask all = 0;
  for (const Part& part : parts) {
    all |= part.lanes;
    if (launch_.counters) [[unlikely]]
      launch_.counters->step(*part.instruction, frame_, part.lanes, part.lanes, block_.index,
                             warp_.index);
  }
  switch (parts[0].instruction->kind) {
    case Kind::kShuffle:
      shuffle(parts, all);
      break;
    case Kind::kVote:
      vote(parts);
      break;
    case Kind::kMatch:
      match(parts);
      break;
    case Kind::kRedux:
      redux(parts);
      break;
    case Kind::kElect:
      elect(parts, all);
      break;
    default:
      break;  // bar.warp.sync: lanes of one warp are ordered in any case.
  }
}

void WarpExecution::shuffle(std::span<const Part> parts, LaneMask all) {
  std::array<std::uint32_t, kLanes> from{};
  LaneMask from_valid = 0;
  for (const Part& part : parts) {
    const Operand& a = part.instruction->sources[0];
    const auto* values = frame_.lanes<std::uint32_t>(a);
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      from[lane] = (part.lanes >> lane & 1) != 0 ? values[lane] : from[lane];
    }
    from_valid |= part.lanes & frame_.valid(a);
  }
  // A lane that does not execute has no value to give.
  from_valid &= all;
  for (const Part& part : parts) {
    const Instruction& in = *part.instruction;
    const LaneMask control = frame_.valid(in.sources[1]) & frame_.valid(in.sources[2]);
    std::array<std::uint32_t, kLanes> source;
    const LaneMask inside = shuffle_sources(in, source);
    LaneMask valid = ~LaneMask{0};
    if (from_valid != ~LaneMask{0}) {
      valid = 0;
      for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
        valid |= (from_valid >> source[lane] & 1) << lane;
      }
    }
    if (in.destinations[0].present) {
      auto* to = frame_.lanes<std::uint32_t>(in.destinations[0]);
      for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
        to[lane] = (part.lanes >> lane & 1) != 0 ? from[source[lane]] : to[lane];
      }
      set_valid(in.destinations[0], part.lanes, valid & control);
    }
    if (in.destinations[1].present) {
      LaneMask& bits = *frame_.lanes<LaneMask>(in.destinations[1]);
      bits = (bits & ~part.lanes) | (inside & part.lanes);
      set_valid(in.destinations[1], part.lanes, control);
    }
  }
}

LaneMask WarpExecution::shuffle_sources(const Instruction& in,
                                        std::array<std::uint32_t, kLanes>& source) const {
  const auto* b = frame_.lanes<std::uint32_t>(in.sources[1]);
  const auto* c = frame_.lanes<std::uint32_t>(in.sources[2]);
  std::array<std::int32_t, kLanes> wanted;
  std::array<std::int32_t, kLanes> bound;
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto segment = static_cast<std::int32_t>(c[lane] >> 8 & 31);
    bound[lane] = (lane & segment) | (static_cast<std::int32_t>(c[lane] & 31) & ~segment);
  }
  const auto step = [b](int lane) { return static_cast<std::int32_t>(b[lane] & 31); };
  switch (in.shuffle) {
    case ShuffleMode::kUp:
      for (int lane = 0; lane < kLanes; ++lane) wanted[lane] = lane - step(lane);
      break;
    case ShuffleMode::kDown:
      for (int lane = 0; lane < kLanes; ++lane) wanted[lane] = lane + step(lane);
      break;
    case ShuffleMode::kButterfly:
      for (int lane = 0; lane < kLanes; ++lane) wanted[lane] = lane ^ step(lane);
      break;
    case ShuffleMode::kIndex:
      for (int lane = 0; lane < kLanes; ++lane) {
        const auto segment = static_cast<std::int32_t>(c[lane] >> 8 & 31);
        wanted[lane] = (lane & segment) | (step(lane) & ~segment);
      }
      break;
  }
  LaneMask inside = 0;
  const bool is_up = in.shuffle == ShuffleMode::kUp;
  for (int lane = 0; lane < kLanes; ++lane) {
    const bool fits = is_up ? wanted[lane] >= bound[lane] : wanted[lane] <= bound[lane];
    source[lane] = static_cast<std::uint32_t>(fits ? wanted[lane] : lane) & 31;
    inside |= static_cast<LaneMask>(fits) << lane;
  }
  return inside;
}

void WarpExecution::vote(std::span<const Part> parts) {
  LaneMask votes = 0;
  LaneMask all = 0;
  bool is_valid = true;
  for (const Part& part : parts) {
    const Operand& source = part.instruction->sources[0];
    votes |= frame_.predicate(source) & part.lanes;
    all |= part.lanes;
    is_valid = is_valid && (part.lanes & ~frame_.valid(source)) == 0;
  }
  for (const Part& part : parts) {
    const Instruction& in = *part.instruction;
    const Operand& to = in.destinations[0];
    if (!to.present) continue;
    if (in.vote == VoteMode::kBallot) {
      for_each_lane(part.lanes, [&](std::uint32_t lane) { write_register(to, lane, votes); });
    } else {
      const bool result = in.vote == VoteMode::kAll   ? votes == all
                          : in.vote == VoteMode::kAny ? votes != 0
                                                      : votes == all || votes == 0;
      LaneMask& bits = *frame_.lanes<LaneMask>(to);
      bits = result ? bits | part.lanes : bits & ~part.lanes;
    }
    set_valid(to, part.lanes, is_valid ? part.lanes : 0);
  }
}

void WarpExecution::match(std::span<const Part> parts) {
  std::array<std::uint64_t, kLanes> values{};
  LaneMask all = 0;
  bool is_valid = true;
  for (const Part& part : parts) {
    const Operand& source = part.instruction->sources[0];
    for_each_lane(part.lanes,
                  [&](std::uint32_t lane) { values[lane] = read_register(source, lane); });
    all |= part.lanes;
    is_valid = is_valid && (part.lanes & ~frame_.valid(source)) == 0;
  }
  for (const Part& part : parts) {
    const Instruction& in = *part.instruction;
    for_each_lane(part.lanes, [&](std::uint32_t lane) {
      LaneMask equal = 0;
      for_each_lane(all, [&](std::uint32_t other) {
        if (values[other] == values[lane]) equal |= LaneMask{1} << other;
      });
      const bool is_all = in.modifier == 1;
      const bool agree = equal == all;
      if (in.destinations[0].present) {
        write_register(in.destinations[0], lane, is_all ? (agree ? all : 0) : equal);
      }
      if (in.destinations[1].present) {
        LaneMask& bits = *frame_.lanes<LaneMask>(in.destinations[1]);
        const LaneMask bit = LaneMask{1} << lane;
        bits = agree ? bits | bit : bits & ~bit;
      }
    });
    for (int i = 0; i < 2; ++i) {
      if (in.destinations[i].present) {
        set_valid(in.destinations[i], part.lanes, is_valid ? part.lanes : 0);
      }
    }
  }
}

void WarpExecution::redux(std::span<const Part> parts) {
  bool is_first = true;
  bool is_valid = true;
  std::uint32_t total = 0;
  for (const Part& part : parts) {
    const Instruction& in = *part.instruction;
    const auto* values = frame_.lanes<std::uint32_t>(in.sources[0]);
    const bool is_signed = in.access.type == ElementType::kSigned;
    for_each_lane(part.lanes, [&](std::uint32_t lane) {
      total = is_first ? values[lane] : reduce(in.redux, is_signed, total, values[lane]);
      is_first = false;
    });
    is_valid = is_valid && (part.lanes & ~frame_.valid(in.sources[0])) == 0;
  }
  for (const Part& part : parts) {
    const Operand& to = part.instruction->destinations[0];
    for_each_lane(part.lanes, [&](std::uint32_t lane) { write_register(to, lane, total); });
    set_valid(to, part.lanes, is_valid ? part.lanes : 0);
  }
}

void WarpExecution::elect(std::span<const Part> parts, LaneMask all) {
  // The leader is unspecified, so the seed decides: code that relies on one lane then shows.
  auto skip = launch_.options.schedule == reference::ScheduleKind::kRandom
                  ? launch_.random() % static_cast<std::uint64_t>(std::popcount(all))
                  : 0;
  LaneMask candidates = all;
  for (; skip != 0; --skip) candidates &= candidates - 1;
  const auto leader = static_cast<std::uint32_t>(std::countr_zero(candidates));
  for (const Part& part : parts) {
    const Instruction& in = *part.instruction;
    if (in.destinations[0].present) {
      for_each_lane(part.lanes,
                    [&](std::uint32_t lane) { write_register(in.destinations[0], lane, leader); });
      set_valid(in.destinations[0], part.lanes, part.lanes);
    }
    if (in.destinations[1].present) {
      LaneMask& bits = *frame_.lanes<LaneMask>(in.destinations[1]);
      bits = (bits & ~part.lanes) | (part.lanes & (LaneMask{1} << leader));
      set_valid(in.destinations[1], part.lanes, part.lanes);
    }
  }
}

}  // namespace draftproof::gpu::emulator
