// The reference as a Verifier: one rule applied to each request on its own.
#include "reference/verify/verifiers.h"

#include <functional>

#include "reference/error.h"
#include "reference/verify/block.h"
#include "reference/verify/chain.h"
#include "reference/verify/greedy.h"
#include "reference/verify/match.h"
#include "reference/verify/siblings.h"
#include "reference/verify/target_only.h"
#include "reference/verify/traversal.h"
#include "reference/verify/tree_greedy.h"

namespace draftproof::reference::verify {
namespace {

enum class Takes : std::uint8_t { kChains, kTrees };

struct Rule {
  std::string name;
  std::string statement;
  Takes takes = Takes::kChains;
  std::function<RequestOutcome(const Batch&, const Request&, const Coins&)> judge;
};

const std::vector<Rule>& all_rules() {
  static const std::vector<Rule> list = {
      {"chain", "speculative sampling on integer masses, position by position", Takes::kChains,
       chain},
      {"greedy", "keeps a drafted token iff it is the target's first maximum", Takes::kChains,
       [](const Batch& batch, const Request& request, const Coins&) {
         return greedy(batch, request);
       }},
      {"block", "keeps the longest prefix that its coins allow, by the product of its ratios",
       Takes::kChains, block},
      {"tree-greedy", "follows the target's first maximum down a tree", Takes::kTrees,
       [](const Batch& batch, const Request& request, const Coins&) {
         return tree_greedy(batch, request);
       }},
      {"target-only", "holds one coin a level against the target masses of the children",
       Takes::kTrees, target_only},
      {"with-replacement", "tests independent siblings against what is left of the target",
       Takes::kTrees, with_replacement},
      {"without-replacement", "tests distinct siblings against what is left of the target",
       Takes::kTrees, without_replacement},
      {"traversal", "accepts whole paths of a tree, leaf first, or takes their last node away",
       Takes::kTrees, traversal},
      {"match", "draws from the target and follows the child that is the draw",
       Takes::kTrees, match},
  };
  return list;
}

void check_usable(const Batch& batch, const Rule& rule) {
  try {
    validate(batch);
  } catch (const Error& error) {
    DRAFTPROOF_CHECK(false, error.what());
  }
  if (rule.takes == Takes::kTrees) return;
  for (const Request& request : batch.requests)
    for (std::size_t i = 0; i < request.proposal.parents.size(); ++i)
      DRAFTPROOF_CHECK(request.proposal.parents[i] == static_cast<int>(i) - 1, "not a chain");
}

class Reference final : public Verifier {
 public:
  explicit Reference(const Rule& rule) : rule_(rule) {
    traits_.name = "reference";
    traits_.rule = rule.name;
    traits_.statement = rule.statement;
    traits_.takes_trees = rule.takes == Takes::kTrees;
    traits_.target_kinds = {RowKind::kLogits, RowKind::kProbabilities};
  }

  const VerifierTraits& traits() const override { return traits_; }

  Outcome verify(Batch& batch, const Coins& coins, const Execution&) override {
    check_usable(batch, rule_);
    Outcome outcome;
    for (const Request& request : batch.requests)
      outcome.requests.push_back(rule_.judge(batch, request, coins));
    return outcome;
  }

 private:
  const Rule& rule_;
  VerifierTraits traits_;
};

}  // namespace

const std::vector<std::string>& rules() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Rule& rule : all_rules()) list.push_back(rule.name);
    return list;
  }();
  return names;
}

std::unique_ptr<Verifier> make_verifier(std::string_view rule) {
  std::string known;
  for (const Rule& entry : all_rules()) {
    if (entry.name == rule) return std::make_unique<Reference>(entry);
    known += (known.empty() ? "" : ", ") + entry.name;
  }
  throw Error(ErrorKind::kInput, "unknown rule '" + std::string(rule) + "'; known: " + known);
}

}  // namespace draftproof::reference::verify
