// Provenance: what is known from outside about a rule or method, for the table that lists them all.
// Each text names its source and date, or says "not known"; an empty text means nothing applies.
#pragma once

#include <string>
#include <vector>

namespace draftproof::reference::law {

struct Provenance {
  std::string state;           ///< what is kept, and what a rejection has to take back
  std::string engines;         ///< who ships it, under which option: name, version or date
  std::string weights;         ///< extra weights or training
  std::string cost_model;      ///< what one iteration costs
  std::string batch_kernel;    ///< where a kernel for large batches or long contexts exists
  std::string graph_rollback;  ///< where graph capture and rollback exist
};

}  // namespace draftproof::reference::law
