// Hierarchical drafts: a small model drafts, a model of middle size verifies that draft with a rule
// of its own, and what comes out of it is the draft for the target (TriForce: Sun et al., COLM
// 2024; Chen et al., cascade speculative drafting, 2023). Lossless when every token that the inner
// iteration emits is passed up, its recovered or bonus token included, each with the middle
// model's row: given that the inner iteration emits i tokens, the i-th has that law, whatever
// lossless rule the inner one is.
#pragma once

#include <memory>

#include "reference/draft/drafter.h"
#include "reference/draft/method.h"
#include "reference/law/model_case.h"
#include "reference/law/rule.h"

namespace draftproof::reference::draft {

/// What is passed up of an inner iteration, and with which rows. Only the first is right.
enum class PassedUp : std::uint8_t {
  kAllWithMiddleRows,
  kAcceptedWithMiddleRows,  ///< the inner recovered or bonus token is dropped
  kAllWithSmallRows,        ///< the small model's rows are reported
};

/// Inner iterations, `inner.draft` drafting inner.draft_count() tokens for `inner.target`, decided
/// by `rule`, `round_count` of them one behind the other; cut at the number of tokens asked for.
/// Inner coins are draft coins of their positions, slots 4 round + {0 draft, 1 accept, 2 recovered,
/// 3 bonus}. Precondition: `inner` is a chain and `rule` takes chains.
std::shared_ptr<const Drafter> hierarchical_drafter(const law::ModelCase& inner,
                                                    law::RuleFunction rule, int round_count = 1,
                                                    PassedUp passed = PassedUp::kAllWithMiddleRows);

/// "hierarchical": the toy's draft, verified by the mixture of draft and target halfway between the
/// two, verified by the toy's target.
Method hierarchical_method();

/// The parts that the method is made of, for those who make it otherwise: the middle model, inner
/// drafts of 2 tokens, at most 3 passed up.
law::ModelCase hierarchical_inner(const model::Toy& toy);
law::Decoding hierarchical_decoding(const model::Toy& toy, std::shared_ptr<const Drafter> drafter);

}  // namespace draftproof::reference::draft
