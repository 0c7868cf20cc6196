// Rules as the papers state them: real probabilities, ideal coins. Written from the formulas, not
// from the integer code in reference/verify, because the two check each other. One rule a file in
// reference/law/rules; this is what they have in common, and the list of them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/law/chooser.h"
#include "reference/law/draft_tree.h"
#include "reference/law/model_case.h"
#include "reference/law/provenance.h"

namespace draftproof::reference::law {

/// What a rule sees in one iteration.
struct Verification {
  const DraftTree& draft;
  /// draft.size() + 1 rows: the target's behind the base context, then behind each node.
  const std::vector<LawRow>& target;

  /// The target's law behind `node`; -1: behind the base context.
  const LawRow& behind(int node) const { return target.at(static_cast<std::size_t>(node + 1)); }
  int vocab_size() const { return static_cast<int>(target.front().size()); }
};

/// What a rule decides: the nodes it keeps, from the first down, each the parent of the next, and
/// the recovered or bonus token, absent where a rule emits none.
struct Decision {
  std::vector<int> accepted;
  std::optional<Token> last;

  /// The deepest accepted node; -1 when none was.
  int node() const { return accepted.empty() ? -1 : accepted.back(); }
};

/// What one iteration emits: accepted_count drafted tokens and, as a rule, one more.
struct Emission {
  std::vector<Token> tokens;
  int accepted_count = 0;

  friend auto operator<=>(const Emission&, const Emission&) = default;
};

Emission emission_of(const DraftTree& draft, const Decision& decision);

/// A rule asks `chooser` about coins of purpose accept, recovered, bonus, tree level, tree second.
/// Precondition: what its LawRule says it takes.
using RuleFunction = std::function<Decision(const Verification&, Chooser&)>;

/// kLossy rules do not keep the target's law, whatever is said of them elsewhere.
enum class RuleKind : std::uint8_t { kLossless, kLossy };

/// The law that a rule is held against: the target's, or greedy decoding of the target.
enum class DecodedLaw : std::uint8_t { kSampling, kGreedy };

enum class TakenShape : std::uint8_t { kChain, kOneLevel, kTree };

/// A number that a rule can be given, such as a threshold.
struct RuleOption {
  std::string name;
  Exact value;  ///< what it is when nobody says otherwise
  Exact low;    ///< allowed: low <= value <= high
  Exact high;
  std::string statement;
};
using OptionValues = std::map<std::string, Exact>;

struct LawRule {
  std::string name;
  std::string citation;    ///< paper and equation, or engine with version
  std::string acceptance;  ///< the formula of keeping drafted token x, for people
  std::string recovered;   ///< the formula of the draw after a rejection
  std::string bonus;       ///< the formula of the draw when the draft ends
  std::string conditions;  ///< when it is lossless; for a lossy rule against what it is measured
  RuleKind kind = RuleKind::kLossless;
  DecodedLaw decoded = DecodedLaw::kSampling;
  TakenShape shape = TakenShape::kChain;
  /// Laws of siblings that the rule is right for; empty: any, as it never looks at them.
  std::vector<SiblingDraw> siblings;
  /// Decisions up to the last emitted position never read a coin of a later one, so that coins may
  /// be keyed by position (theorem C of reference/README.md).
  bool is_prefix_adapted = true;
  std::vector<RuleOption> options;
  Provenance provenance;
  /// The rule with these options; those not given have their default. Precondition: checked().
  std::function<RuleFunction(const OptionValues&)> make;
  /// The rule's own formula for the expected number of emitted tokens of one iteration at the
  /// empty context; written apart from the rule. Empty function: the rule has no closed form.
  std::function<Exact(const ModelCase&, const OptionValues&)> expected_emitted;
};

/// All rules, lossless ones first, in the order in which they are listed.
const std::vector<LawRule>& law_rules();
/// Throws Error(kInput) that lists the known rules.
const LawRule& law_rule(std::string_view name);

/// `given` completed by defaults. Throws Error(kInput) naming an unknown option or one outside its
/// range.
OptionValues checked(const LawRule& rule, const OptionValues& given);

}  // namespace draftproof::reference::law
