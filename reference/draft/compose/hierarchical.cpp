// Hierarchical drafts.
#include "reference/draft/compose/hierarchical.h"

#include <algorithm>

#include "reference/draft/model.h"
#include "reference/error.h"
#include "reference/law/scorer.h"

namespace draftproof::reference::draft {
namespace {

constexpr int kInnerCount = 2;

/// Everything that the inner iteration asks for is the draft's noise to the outer one.
class InnerCoins final : public law::Chooser {
 public:
  InnerCoins(law::Chooser& outer, int base, int round)
      : outer_(outer), base_(base), round_(round) {}

  bool accept(const Exact& probability, const law::CoinUse& use) override {
    return outer_.accept(probability, moved(use));
  }
  Token draw(const LawRow& row, const law::CoinUse& use) override {
    return outer_.draw(row, moved(use));
  }

 private:
  law::CoinUse moved(const law::CoinUse& use) const {
    DRAFTPROOF_CHECK(use.slot == 0 && use.purpose <= Purpose::kBonus,
                     "an inner rule that asks for coins of trees");
    return {base_ + use.offset, Purpose::kDraft, 4 * round_ + static_cast<int>(use.purpose)};
  }

  law::Chooser& outer_;
  int base_;
  int round_;
};

class HierarchicalDrafter final : public Drafter {
 public:
  HierarchicalDrafter(const law::ModelCase& inner, law::RuleFunction rule, int round_count,
                      PassedUp passed)
      : inner_(inner),
        drafter_(model_drafter(inner)),
        scorer_(law::model_scorer(inner.target)),
        rule_(std::move(rule)),
        round_count_(round_count),
        passed_(passed) {}

  law::DraftTree draft(const law::StepBegin& begin, law::Memory& own, law::Memory& shared,
                       law::Chooser& chooser) const override {
    law::DraftTree tree;
    Context context = begin.context;
    for (int round = 0; round < round_count_; ++round) {
      InnerCoins coins(chooser, tree.size(), round);
      const law::StepBegin inner{context, inner_.draft_count(), begin.request};
      const law::DraftTree draft = drafter_->draft(inner, own, shared, coins);
      const law::Decision decision = rule_({draft, scorer_->rows(context, draft, {})}, coins);
      std::vector<Token> emitted = law::emission_of(draft, decision).tokens;
      if (passed_ == PassedUp::kAcceptedWithMiddleRows) emitted.resize(decision.accepted.size());
      for (Token token : emitted) {
        if (tree.size() == begin.draft_count) return tree;
        append(tree, token, reported(context));
        context.push_back(token);
      }
    }
    return tree;
  }

 private:
  const LawRow& reported(const Context& context) const {
    const auto& model = passed_ == PassedUp::kAllWithSmallRows ? inner_.draft : inner_.target;
    return model->row(context);
  }

  const law::ModelCase inner_;
  const std::shared_ptr<const Drafter> drafter_;
  const std::shared_ptr<const law::Scorer> scorer_;
  const law::RuleFunction rule_;
  const int round_count_;
  const PassedUp passed_;
};

/// Expected number of tokens kept behind `context`, given that the inner iteration goes on there:
/// its next token has the middle model's law m and is kept with min(1, p / m); it goes on behind it
/// iff the small model drafted the token and the middle one kept it, of mass min(q, m).
Exact expected_kept(const model::Toy& toy, const law::ModelCase& inner, Context& context,
                    int remaining) {
  const LawRow& target = toy.target->row(context);
  const LawRow& middle = inner.target->row(context);
  const LawRow& small = inner.draft->row(context);
  Exact sum = 0;
  for (Token x = 0; x < toy.target->vocab_size(); ++x) {
    if (middle[x] == 0 || target[x] == 0) continue;
    sum += std::min(target[x], middle[x]);
    if (remaining == 0 || small[x] == 0) continue;
    const Exact goes_on =
        std::min(small[x], middle[x]) * std::min(target[x], middle[x]) / middle[x];
    context.push_back(x);
    sum += goes_on * expected_kept(toy, inner, context, remaining - 1);
    context.pop_back();
  }
  return sum;
}

}  // namespace

std::shared_ptr<const Drafter> hierarchical_drafter(const law::ModelCase& inner,
                                                    law::RuleFunction rule, int round_count,
                                                    PassedUp passed) {
  DRAFTPROOF_CHECK(round_count >= 1, std::to_string(round_count));
  return std::make_shared<HierarchicalDrafter>(inner, std::move(rule), round_count, passed);
}

law::ModelCase hierarchical_inner(const model::Toy& toy) {
  return law::chain_case(model::mixed_model(toy.target, toy.draft, Exact(1, 2)), toy.draft,
                         kInnerCount);
}

law::Decoding hierarchical_decoding(const model::Toy& toy, std::shared_ptr<const Drafter> drafter) {
  law::Decoding decoding;
  decoding.target = toy.target;
  decoding.scorer = law::model_scorer(toy.target);
  decoding.drafter = std::move(drafter);
  decoding.rule = law::law_rule("chain").make({});
  decoding.draft_count = kInnerCount + 1;
  decoding.prompt = toy.prompt;
  return decoding;
}

Method hierarchical_method() {
  Method method;
  method.name = "hierarchical";
  method.statement =
      "the toy's draft drafts 2 tokens, the mixture halfway to the target verifies them, and all "
      "it "
      "emits is the draft for the target";
  method.citation = "Sun et al. 2024 (TriForce); Chen et al. 2023 (cascade speculative drafting)";
  method.reads = "tokens";
  method.reported = "the middle model's row, for its own recovered and bonus tokens too";
  method.rule = "chain";
  method.conditions =
      "every emitted inner token is passed up, with the middle model's row; inner coins are apart "
      "from outer ones";
  method.provenance = {
      "K/V of all three models behind the accepted prefix",
      "TriForce reference code (2024); none of the large engines",
      "a small model; the middle one is the target with a sparse cache in TriForce",
      "inner iterations cost (1 + rho_small D) rho_middle, outer ones T_verify",
      "not known",
      "TriForce reference code captures graphs (2024)"};
  method.toys = {"full-memory", "near", "markov", "zeros", "disjoint"};
  method.make = [](const model::Toy& toy) {
    return hierarchical_decoding(
        toy, hierarchical_drafter(hierarchical_inner(toy), law::law_rule("chain").make({})));
  };
  method.expected_emitted = [](const model::Toy& toy) {
    Context context = toy.prompt;
    return Exact(1 + expected_kept(toy, hierarchical_inner(toy), context, kInnerCount));
  };
  return method;
}

}  // namespace draftproof::reference::draft
