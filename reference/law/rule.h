// Rules as the papers state them: real probabilities, ideal coins. Written from the formulas, not
// from the integer code in reference/verify, because the two check each other.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/law/chooser.h"
#include "reference/law/tiny_case.h"

namespace draftproof::reference::law {

/// What one iteration emits: accepted_count drafted tokens and one more.
struct Emission {
  std::vector<Token> tokens;
  int accepted_count = 0;

  friend auto operator<=>(const Emission&, const Emission&) = default;
};

/// One iteration at a base context: the rows a rule may read.
template <class Scalar>
class Iteration {
 public:
  /// Keeps a reference to `tables`. Precondition: they reach base + draft_count tokens deep.
  Iteration(const TinyCase<Scalar>& tables, Context base, int draft_count)
      : tables_(tables), base_(std::move(base)), draft_count_(draft_count) {}

  int vocab_size() const { return tables_.vocab_size; }
  int draft_count() const { return draft_count_; }

  /// The target's law behind base + the first `count` of `drafted`.
  const LawRow<Scalar>& target(const std::vector<Token>& drafted, int count) const;
  /// The law that the drafter draws its token number `count` from.
  const LawRow<Scalar>& drawn(const std::vector<Token>& drafted, int count) const;
  /// The law that it reports for drafted[count].
  LawRow<Scalar> reported(const std::vector<Token>& drafted, int count) const;

 private:
  const TinyCase<Scalar>& tables_;
  Context base_;
  int draft_count_;
};

template <class Scalar>
using RuleFunction = std::function<Emission(const Iteration<Scalar>&, Chooser<Scalar>&)>;

struct LawRule {
  std::string name;
  std::string citation;
  std::string acceptance;  ///< the formula of keeping drafted token x, for people
  std::string recovered;   ///< the formula of the draw after a rejection
  std::string bonus;       ///< the formula of the draw when the draft ends
  RuleFunction<Exact> exact;
  RuleFunction<double> approximate;
};

/// All rules, in the order in which they are listed: chain, greedy.
const std::vector<LawRule>& law_rules();
/// Throws Error(kInput) that lists the known rules.
const LawRule& law_rule(std::string_view name);

}  // namespace draftproof::reference::law
