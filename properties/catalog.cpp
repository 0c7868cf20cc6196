// The catalog: all properties in the order in which they are checked and listed. The law comes
// first, since it is what everything else serves; safety of the device comes last.
#include "properties/property.h"
#include "properties/verifier/properties.h"
#include "reference/error.h"

namespace draftproof::properties {

const std::vector<Property>& catalog() {
  static const std::vector<Property> list = {
      verifier::emitted_law_is_target_law(),
      verifier::kernel_equals_reference(),
      verifier::nothing_outside_the_support(),
      verifier::target_at_least_draft_is_accepted(),
      verifier::identity_draft_accepts_all(),
      verifier::hostile_draft_rejects_all(),
      verifier::nothing_after_the_first_rejection_matters(),
      verifier::batch_order_does_not_matter(),
      verifier::companions_do_not_matter(),
      verifier::padding_does_not_matter(),
      verifier::block_size_does_not_matter(),
      verifier::schedule_does_not_matter(),
      verifier::inputs_unchanged(),
      verifier::unjudgeable_rows_give_a_status(),
      verifier::emitted_is_accepted_plus_one(),
      verifier::greedy_limits(),
      verifier::memory_safe(),
      verifier::race_free(),
  };
  return list;
}

const Property& property(std::string_view id) {
  std::string known;
  for (const Property& each : catalog()) {
    if (each.id == id) return each;
    known += (known.empty() ? "" : ", ") + each.id;
  }
  throw Error(ErrorKind::kInput, "unknown property '" + std::string(id) + "'; known: " + known);
}

}  // namespace draftproof::properties
