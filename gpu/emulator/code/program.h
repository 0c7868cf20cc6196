// Program: an entry of a PTX module, decoded for execution. The text (text/) becomes this once per
// module; the machine (machine/) runs it; the compute instructions' functions come from isa/.
//
// Register file of one warp, structure of arrays so that one instruction is a few vector
// operations:
//   8-, 16- and 32-bit registers  uint32_t[32]   (the upper bits of narrow values mean nothing)
//   64-bit registers              uint64_t[32]
//   predicates                    uint32_t       one bit a lane
// Every register has a validity word beside it: bit l says that lane l's value is defined. Validity
// is per register and lane, not per bit. Immediates live in a read-only constant area of the
// program that has the same layout, so that handlers know one kind of operand only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/device.h"

namespace draftproof::gpu::emulator {

inline constexpr int kLanes = 32;
using LaneMask = std::uint32_t;

/// Generic addresses: a window's base plus the offset in the space. Global and constant memory have
/// generic addresses equal to their own, below every window.
inline constexpr std::uint64_t kSharedWindow = std::uint64_t{1} << 56;
inline constexpr std::uint64_t kLocalWindow = std::uint64_t{2} << 56;
inline constexpr std::uint64_t kParamWindow = std::uint64_t{3} << 56;
inline constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 56;

/// Where an operand lives. area 0: the warp's registers; area 1: the program's constants.
struct Operand {
  std::uint32_t offset = 0;    ///< bytes from the start of the area's values
  std::uint32_t validity = 0;  ///< index into the area's validity words
  std::uint8_t area = 0;
  std::uint8_t bytes = 4;  ///< width of the *register*: 4, 8, or 0 for a predicate
  bool present = false;
  bool negated = false;  ///< predicates only: !%p
};

/// The registers a handler works on.
struct Frame {
  std::array<std::byte*, 2> values;      ///< [area]; [1] is never written
  std::array<LaneMask*, 2> validity;     ///< [area]; [1] is all ones
  std::uint32_t approximation_seed = 0;  ///< 0: approximate instructions round correctly

  template <class T>
  T* lanes(const Operand& operand) const {
    return reinterpret_cast<T*>(values[operand.area] + operand.offset);
  }
  /// The predicate's bits, negation applied.
  LaneMask predicate(const Operand& operand) const {
    const LaneMask bits = *lanes<LaneMask>(operand);
    return operand.negated ? ~bits : bits;
  }
  LaneMask& valid(const Operand& operand) const { return validity[operand.area][operand.validity]; }
};

struct Instruction;

/// Executes a compute instruction for the lanes in `active` (never empty): writes destinations and
/// their validity for these lanes only. Returns lanes in which something must be reported
/// (division by zero); 0 otherwise.
using Handler = LaneMask (*)(const Instruction&, const Frame&, LaneMask active);

enum class Kind : std::uint8_t {
  kCompute,  ///< handler does it all: arithmetic, logic, moves, compares, conversions, cvta
  kLoad,     ///< memory; also ld.param (space kParam) and ld.const
  kStore,
  kAtomic,         ///< atom: destination[0] receives the old value
  kReduction,      ///< red
  kBranch,         ///< target; guard decides the lanes
  kIndexedBranch,  ///< brx.idx: sources[0] indexes branch_targets
  kExit,           ///< exit, and ret in an entry
  kBarrier,        ///< bar / barrier.sync|arrive|red: sources are the number, the count of
                   ///< threads (absent: all) and, for red, the predicate
  kWarpBarrier,    ///< bar.warp.sync: sources[0] is the mask
  kShuffle,
  kVote,
  kMatch,  ///< modifier 1: .all, whose predicate is destinations[1]
  kRedux,  ///< access.type tells s32 from u32
  kActiveMask,
  kElect,       ///< destinations: the leader's lane (may be absent) and the predicate
  kFence,       ///< membar / fence: order and scope
  kClock,       ///< mov from %clock, %clock64, %globaltimer
  kSleep,       ///< nanosleep: give way to other warps
  kTrap,        ///< trap, brkpt
  kExternCall,  ///< vprintf, __assertfail: sources are the arguments
  kCopyAsync,   ///< cp.async: address + immediate is the shared side, sources[0] the global
                ///< address, sources[1], if present, the bytes to read; modifier = bytes to write
  kCopyCommit,
  kCopyWait,  ///< immediate = groups that may stay in flight; wait_all: 0
  kClusterBarrier,
  kNothing,  ///< prefetch, griddepcontrol, .pragma, discard: no visible effect
};

enum class Space : std::uint8_t {
  kGeneric,
  kGlobal,
  kShared,
  kSharedCluster,
  kLocal,
  kParam,
  kConst
};
enum class Order : std::uint8_t {
  kWeak,
  kVolatile,
  kRelaxed,
  kAcquire,
  kRelease,
  kAcquireRelease,
  kSequential
};
enum class Scope : std::uint8_t { kCta, kCluster, kGpu, kSystem };
enum class ElementType : std::uint8_t {
  kBits,
  kUnsigned,
  kSigned,
  kFloat,
  kBfloat,
  kFloat16x2,
  kBfloat16x2
};
enum class AtomicOperation : std::uint8_t {
  kAdd,
  kAnd,
  kOr,
  kXor,
  kExchange,
  kCompareAndSwap,
  kIncrement,
  kDecrement,
  kMin,
  kMax
};

/// What a memory instruction does. Address of lane l = base register's lane l (or 0 if absent)
/// + Instruction::immediate (symbol address and offset folded).
struct Access {
  Space space = Space::kGeneric;
  ElementType type = ElementType::kBits;
  std::uint8_t element_bytes = 4;  ///< 1, 2, 4, 8
  std::uint8_t elements = 1;       ///< .v2, .v4, .v8
  Order order = Order::kWeak;
  Scope scope = Scope::kSystem;
  bool noncoherent = false;  ///< .nc
  AtomicOperation atomic = AtomicOperation::kAdd;
  std::uint32_t used_bytes_mask = 0xffffffffu;  ///< .pragma "used_bytes_mask": bytes that are meant
};

/// shfl.sync
enum class ShuffleMode : std::uint8_t { kUp, kDown, kButterfly, kIndex };
/// vote.sync, bar.red
enum class VoteMode : std::uint8_t { kAll, kAny, kUniform, kBallot };
enum class ReduxMode : std::uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor };
enum class BarrierMode : std::uint8_t { kSync, kArrive, kReduceAnd, kReduceOr, kReducePopc };
enum class ClockKind : std::uint8_t { kClock32, kClock64, kGlobalTimer };
enum class ExternFunction : std::uint8_t { kPrintf, kAssertFail };

/// One decoded instruction. Which of the lower fields mean something depends on `kind`.
struct Instruction {
  Handler handler = nullptr;  ///< kCompute only
  Kind kind = Kind::kNothing;
  Operand guard;                        ///< present: executes for lanes where the predicate holds
  std::array<Operand, 4> destinations;  ///< loads: elements; shfl, setp: [1] is the predicate
  std::array<Operand, 6> sources;  ///< stores: [0..] elements; loads, stores: base is `address`
  Operand address;                 ///< base register of a memory instruction
  std::int64_t immediate = 0;      ///< address offset, or as the kind says
  std::uint32_t target = 0;        ///< kBranch: index of the next instruction
  std::vector<std::uint32_t> branch_targets;  ///< kIndexedBranch
  std::uint32_t reconvergence = 0;  ///< branches: immediate post-dominator; size() when none
  bool is_uniform = false;          ///< .uni
  bool is_aligned = true;           ///< bar.sync / .aligned, against barrier.sync
  Access access;
  // Modifiers of the collectives, and a word of free use for handlers.
  ShuffleMode shuffle = ShuffleMode::kIndex;
  VoteMode vote = VoteMode::kAll;
  ReduxMode redux = ReduxMode::kAdd;
  BarrierMode barrier = BarrierMode::kSync;
  ClockKind clock = ClockKind::kClock64;
  ExternFunction function = ExternFunction::kPrintf;
  std::uint64_t modifier = 0;
  // Where it stands.
  std::uint32_t form = 0;  ///< index into Module forms: opcode with all suffixes
  int ptx_line = 0;
  int source_file = 0;  ///< .file number; 0: none
  int source_line = 0;
};

enum class SpecialRegister : std::uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneId,
  kWarpId,
  kNwarpId,
  kLanemaskEq,
  kLanemaskLe,
  kLanemaskLt,
  kLanemaskGe,
  kLanemaskGt,
  kSmId,
  kNsmId,
  kGridId,
  kDynamicSmemSize,
  kTotalSmemSize,
  kClusterCtaRank,
  kClusterNctaRank,
  kEnvReg,
  kZero
};

/// A special register that the program reads; the machine fills it when a warp starts.
struct SpecialOperand {
  SpecialRegister which;
  int index = 0;  ///< %envregN
  Operand operand;
};

/// A static variable of the module or the entry.
struct Variable {
  std::string name;
  Space space = Space::kGlobal;  ///< kGlobal, kConst, kShared, kLocal
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 1;
  std::uint64_t address = 0;  ///< kShared, kLocal: offset in the window; kGlobal, kConst: address
  /// The first bytes; those of .global and .const behind them are zero, .shared and .local are
  /// uninitialised.
  std::vector<std::byte> initial;
};

/// A place that holds the address of a module-scope variable. Module::variables get their
/// addresses when the machine has placed them; apply_relocations then fills these places.
struct Relocation {
  enum class Place : std::uint8_t {
    kConstant,   ///< 32 lanes of 8 bytes in Program::constants, at `at`
    kImmediate,  ///< Instruction::immediate of the instruction `at`
  };
  Place place = Place::kConstant;
  std::size_t at = 0;
  std::uint32_t variable = 0;  ///< index in DecodedModule::variables
  std::int64_t addend = 0;
};

/// An entry, ready to run. Device functions are expanded at their call sites.
struct Program {
  EntryInfo info;
  std::vector<Instruction> instructions;
  std::vector<SpecialOperand> specials;
  std::vector<std::byte> constants;  ///< area 1
  std::uint32_t constant_count = 0;  ///< validity words of area 1
  std::uint32_t register_bytes = 0;  ///< area 0, after slot compaction; multiple of 128
  std::uint32_t register_count = 0;  ///< validity words of area 0
  std::vector<Variable> variables;   ///< shared and local of this entry, at their offsets
  std::uint64_t static_shared_bytes = 0;
  std::uint64_t shared_alignment = 16;  ///< dynamic shared starts at the next multiple of >= 16
  std::uint64_t local_bytes = 0;        ///< a thread
  std::vector<Relocation> relocations;
};

}  // namespace draftproof::gpu::emulator
