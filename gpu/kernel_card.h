// Kernel cards: what a launch of somebody else's kernel needs and PTX does not say. PTX names an
// entry and the sizes of its parameters; the card adds what they mean, the grid, the dynamic shared
// memory, the decision rule, the random stream and the depth of the sums. A card is TOML; its
// reader lives in tools, so that this folder needs no parser. Here: the plain struct and the
// launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/card_expression.h"
#include "gpu/device.h"

namespace draftproof::gpu {

enum class CardType : std::uint8_t { kUint8, kInt32, kUint32, kInt64, kUint64, kFloat32 };
std::size_t bytes_of(CardType type);

/// Who may write a buffer: kIn must come back unchanged.
enum class CardAccess : std::uint8_t { kIn, kOut, kInOut };

/// What a buffer without given bytes holds before the launch. kPoison: nothing was ever written.
enum class CardInit : std::uint8_t { kPoison, kZeros, kIota, kFill, kCumulative };

struct CardParameter {
  std::string name;
  CardType type = CardType::kUint32;
  bool is_pointer = false;
  bool is_null = false;                 ///< a pointer that is handed over as 0
  std::vector<CardExpression> shape;    ///< pointers that are not null
  std::optional<CardExpression> value;  ///< scalars without a role
  std::string role;                     ///< "draft_probs", "rng.seed", ...; may be empty
  CardAccess access = CardAccess::kIn;
  CardInit init = CardInit::kPoison;
  std::optional<CardExpression> init_value;  ///< kFill: every element; kCumulative: of `i`
  std::string place;                         ///< "card.toml:31"
};

struct CardStage {
  std::string ptx;     ///< file, relative to build/third_party/NAME
  std::string entry;   ///< regular expression over entry names
  std::string select;  ///< further text an entry's name must contain, with {NAME} filled in
  std::vector<std::pair<std::string, CardExpression>> let;  ///< of dims only
  std::vector<CardExpression> grid;                         ///< 1 to 3
  std::vector<CardExpression> block;                        ///< 1 to 3
  std::optional<CardExpression> dynamic_smem;
  std::vector<CardParameter> parameters;
  std::string place;
};

struct CardBuild {
  std::string name;  ///< tools/kernels/fetch.sh NAME
  std::string package, version, source, flags;
};

/// fp32 arithmetic of the decisions: how many roundings lie between the exact value and what the
/// kernel compares.
struct CardRounding {
  std::optional<CardExpression> threshold_depth;   ///< of coin * (sum of all)
  std::optional<CardExpression> cumulative_depth;  ///< of a partial sum
  bool flushes_subnormals = false;
};

struct KernelCard {
  std::string file;
  std::string name, source, algorithm;
  std::vector<std::string> dims;
  std::vector<CardExpression> constraints;
  CardBuild build;
  std::vector<CardStage> stages;
  std::string rng_kind;
  std::vector<std::string> rng_order;
  std::string accept_rule, pick_rule;  ///< the comparisons, as the card writes them
  CardRounding rounding;
  std::optional<CardExpression> tile;  ///< tokens that a block takes at a time
  bool allows_same_value_races = false;
  std::int64_t pad = -1;
  std::string place;  ///< of [card]
};

/// Bytes by role for one run; a role not given takes its `init`.
struct CardInputs {
  Names dims;
  std::map<std::string, std::vector<std::byte>, std::less<>> buffers;
  std::map<std::string, std::uint64_t, std::less<>> scalars;
};

struct CardOptions {
  reference::ScheduleKind schedule = reference::ScheduleKind::kRandom;
  std::uint64_t schedule_seed = 1;
};

struct CardRun {
  /// What every buffer with a role that may be written held afterwards. Bytes that nobody wrote
  /// read as kUnwritten.
  std::map<std::string, std::vector<std::byte>, std::less<>> outputs;
  std::vector<std::string> changed_inputs;  ///< names of kIn buffers that differ
  LaunchReport report;                      ///< of all stages
};

inline constexpr std::byte kUnwritten{0x7e};

/// A card's modules, loaded on a device. Must not outlive the device.
class CardKernel {
 public:
  /// `ptx` holds one text a stage, with its file name for messages. Throws Error(kInput) when a
  /// text does not load, or when the card does not fit its entries at small admissible dims: a
  /// mistake in a card is known before the first launch.
  CardKernel(Device& device, KernelCard card,
             const std::vector<std::pair<std::string, std::string>>& ptx);

  const KernelCard& card() const { return card_; }

  /// Throws Error(kInput) at the card's line when a constraint does not hold, no entry or several
  /// match, the parameters do not fit the entry, or given bytes do not fit a shape.
  CardRun run(const CardInputs& inputs, const CardOptions& options) const;

  /// `dims` and what every stage's `let` makes of them.
  Names names(const Names& dims) const;

  /// True when every constraint holds for `dims`.
  bool admits(const Names& dims) const;

  /// Everything `run` does for `dims` but for buffers and the launch; throws as it does.
  void check(const Names& dims) const;

 private:
  Device* device_;
  KernelCard card_;
  std::vector<std::unique_ptr<Module>> modules_;
};

}  // namespace draftproof::gpu
