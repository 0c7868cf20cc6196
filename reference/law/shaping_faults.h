// Shaping faults: what engines do wrong with the history of a row of a draft, as scorers whose
// exact law can be taken: counts that forget, repeat or keep drafted tokens, processors on some
// rows only, grammar masks of another state. They are rule-independent: the acceptance is right and
// the target rows it is fed are not.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/law/decoding.h"
#include "reference/law/shaped_target.h"
#include "reference/model/toys.h"

namespace draftproof::reference::law {

enum class ShapingFault : std::uint8_t {
  kFrozenCounts,
  kCountedTwice,
  kRejectedCounted,
  kPenaltiesOnBonusOnly,
  kMinPOnBonusOnly,
  kFirstMask,
  kArgmaxMask,
  kNoRollback,
  kUnmaskedBonus
};

struct ShapingFaultNote {
  ShapingFault fault;
  std::string name;  ///< snake_case
  std::string area;  ///< "penalties", "filters" or "grammar"
  std::string statement;
  std::string report;         ///< public reports
  std::string least_setting;  ///< what a fixture needs to show it
};

const std::vector<ShapingFaultNote>& shaping_faults();
const ShapingFaultNote& note_of(ShapingFault fault);

/// The rows of a verification as an engine with this fault has them. Faults of the grammar need
/// one. Faults that keep state (rejected_counted, no_rollback) are right in the first iteration.
std::shared_ptr<const Scorer> faulty_scorer(const ShapedTarget& target, ShapingFault fault);

/// A toy's target under a request that the fault is about (frequency penalty 1, min-p 1/4, or a
/// grammar in which token 0 may come once), verified by the chain rule on `draft_count` tokens of
/// the toy's draft model. Its truth is the plain decoder of that request. Without a fault the rows
/// are right: sequence_distance() is 0. Needs a vocabulary of 2; a toy whose support the grammar
/// may use up is refused by law_of_row() as a row without a law.
Decoding shaped_decoding(const model::Toy& toy, ShapingFault about, bool is_faulty,
                         int draft_count = 2);

}  // namespace draftproof::reference::law
