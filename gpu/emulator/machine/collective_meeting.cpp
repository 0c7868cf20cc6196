// WarpExecution: who takes part in a collective. PTX ISA 9.0, 9.7.9 and 9.7.13: the executing
// thread waits until all threads that the member mask names and that have not exited executed the
// same instruction with the same mask. The lanes of one strand may have several masks (tiles of a
// warp), and the lanes of one mask may stand in several strands, so a meeting is neither.
#include <bit>
#include <vector>

#include "gpu/emulator/machine/warp_execution.h"

namespace draftproof::gpu::emulator {

namespace {

/// Which operand names the members.
const Operand& mask_operand(const Instruction& in) {
  switch (in.kind) {
    case Kind::kShuffle:
      return in.sources[3];
    case Kind::kVote:
    case Kind::kMatch:
    case Kind::kRedux:
      return in.sources[1];
    default:
      return in.sources[0];
  }
}

/// The same operation in two places: same qualifiers.
bool is_same_operation(const Instruction& left, const Instruction& right) {
  return left.kind == right.kind && left.shuffle == right.shuffle && left.vote == right.vote &&
         left.redux == right.redux && left.access.type == right.access.type &&
         left.modifier == right.modifier && left.sources[0].bytes == right.sources[0].bytes;
}

}  // namespace

LaneMask WarpExecution::member_mask(const Instruction& in, std::uint32_t lane) const {
  return frame_.lanes<std::uint32_t>(mask_operand(in))[lane];
}

LaneMask WarpExecution::lanes_with_mask(const Instruction& in, LaneMask lanes,
                                        LaneMask members) const {
  if (mask_operand(in).area == 1) return lanes;
  const auto* masks = frame_.lanes<std::uint32_t>(mask_operand(in));
  LaneMask equal = 0;
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    equal |= static_cast<LaneMask>(masks[lane] == members) << lane;
  }
  return equal & lanes;
}

WarpExecution::Next WarpExecution::collective(std::size_t index, const Instruction& in) {
  const LaneMask here = warp_.strands[index].mask;
  const LaneMask undefined = here & ~frame_.valid(mask_operand(in));
  if (undefined != 0) report_undefined(in, undefined, "member mask");
  // Tiles of a warp have masks of their own and may stand here together.
  LaneMask done = 0;
  LaneMask waiting = 0;
  for (LaneMask rest = here; rest != 0;) {
    const LaneMask members = member_mask(in, static_cast<std::uint32_t>(std::countr_zero(rest)));
    const LaneMask group = lanes_with_mask(in, rest, members);
    rest &= ~group;
    const LaneMask strangers = group & ~members;
    if (strangers != 0) {
      launch_.observer.add("shuffle", party(in, strangers), [] {
        return std::string("a lane executes a collective whose member mask does not name it");
      });
    }
    if ((members & warp_.live & ~group) == 0) {
      const Part part{&in, group};
      perform({&part, 1});
      done |= group;
    } else {
      waiting |= group;
    }
  }
  if (waiting == 0) return Next::kAdvance;
  Strand& strand = warp_.strands[index];
  strand.mask = waiting;
  strand.wait = Wait::kLanes;
  if (done != 0) {
    Strand onward;
    onward.pc = strand.pc + 1;
    onward.mask = done;
    warp_.strands.push_back(onward);
  }
  return Next::kReselect;
}

LaneMask WarpExecution::find_parts(const Instruction& in, LaneMask members,
                                   std::vector<Part>& parts) const {
  parts.clear();
  LaneMask present = 0;
  for (const Strand& strand : warp_.strands) {
    if (strand.wait != Wait::kLanes) continue;
    const Instruction& there = launch_.program.instructions[strand.pc];
    if (!is_same_operation(in, there)) continue;
    const LaneMask lanes = lanes_with_mask(there, strand.mask, members);
    if (lanes == 0) continue;
    parts.push_back({&there, lanes});
    present |= lanes;
  }
  return present;
}

void WarpExecution::release(LaneMask lanes) {
  const std::size_t count = warp_.strands.size();
  for (std::size_t i = 0; i < count; ++i) {
    Strand& strand = warp_.strands[i];
    const LaneMask done = strand.mask & lanes;
    if (done == 0) continue;
    if (done == strand.mask) {
      strand.wait = Wait::kNothing;
      ++strand.pc;
      continue;
    }
    Strand onward;
    onward.pc = strand.pc + 1;
    onward.mask = done;
    strand.mask &= ~done;
    warp_.strands.push_back(onward);
  }
  warp_.merge();
}

bool WarpExecution::complete_across_strands() {
  // All tiles that are complete go on together, as they would on hardware that reconverges.
  LaneMask done = 0;
  std::vector<Part> parts;
  for (const Strand& strand : warp_.strands) {
    if (strand.wait != Wait::kLanes) continue;
    const Instruction& in = launch_.program.instructions[strand.pc];
    for (LaneMask rest = strand.mask & ~done; rest != 0;) {
      const LaneMask members = member_mask(in, static_cast<std::uint32_t>(std::countr_zero(rest)));
      rest &= ~lanes_with_mask(in, rest, members);
      const LaneMask present = find_parts(in, members, parts);
      if ((members & warp_.live & ~present) != 0) continue;
      perform(parts);
      done |= present;
    }
  }
  if (done != 0) release(done);
  return done != 0;
}

void WarpExecution::force_collective() {
  const auto& code = launch_.program.instructions;
  std::size_t index = 0;
  while (warp_.strands[index].wait != Wait::kLanes) ++index;
  const Strand& strand = warp_.strands[index];
  const Instruction& in = code[strand.pc];
  const LaneMask members =
      member_mask(in, static_cast<std::uint32_t>(std::countr_zero(strand.mask)));
  std::vector<Part> parts;
  const LaneMask present = find_parts(in, members, parts);
  const LaneMask missing = members & warp_.live & ~present;
  Party other;
  for (const Strand& elsewhere : warp_.strands) {
    if ((elsewhere.mask & missing) != 0 && elsewhere.pc < code.size()) {
      other = party(code[elsewhere.pc], elsewhere.mask & missing);
      break;
    }
  }
  launch_.observer.add(
      "shuffle", party(in, parts[0].lanes),
      [&] {
        return "the member mask names " + std::to_string(std::popcount(missing)) +
               " live lanes that never arrive";
      },
      other);
  // Going on without them shows what else is wrong.
  perform(parts);
  release(present);
}

}  // namespace draftproof::gpu::emulator
