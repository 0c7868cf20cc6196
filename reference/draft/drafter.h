// Drafters: the seam between a way to draft and everything that verifies a draft.
#pragma once

#include "reference/law/chooser.h"
#include "reference/law/step.h"

namespace draftproof::reference::draft {

class Drafter {
 public:
  virtual ~Drafter() = default;

  /// What the memory is before the first iteration.
  virtual law::Memory initial(const Context&) const { return {}; }

  /// A draft behind begin.context with the law that each token is reported to be drawn from; may
  /// be empty. Draws with coins of purpose draft only. `shared` is the memory that all requests of
  /// a batch have in common (pools, budgets).
  virtual law::DraftTree draft(const law::StepBegin& begin, law::Memory& own, law::Memory& shared,
                               law::Chooser& chooser) const = 0;

  /// Learns what was kept. Never draws.
  virtual void commit(const law::StepEnd&, law::Memory& /*own*/, law::Memory& /*shared*/) const {}
};

}  // namespace draftproof::reference::draft
