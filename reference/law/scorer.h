// Scorers: the target as served during verification. A right one answers with the target's rows
// behind every drafted path; one that keeps state may answer with others.
#pragma once

#include <memory>
#include <vector>

#include "reference/law/step.h"
#include "reference/model/toy_model.h"

namespace draftproof::reference::law {

class Scorer {
 public:
  virtual ~Scorer() = default;

  virtual Memory initial(const Context&) const { return {}; }

  /// draft.size() + 1 rows: behind the context, then behind each node of the draft.
  virtual std::vector<LawRow> rows(const Context& context, const DraftTree& draft,
                                   const Memory& memory) const = 0;

  /// Keeps what was accepted and forgets the rest.
  virtual void commit(const StepEnd&, Memory&) const {}
};

/// The model's own rows. Stateless.
std::shared_ptr<const Scorer> model_scorer(model::ToyModelPtr target);

}  // namespace draftproof::reference::law
