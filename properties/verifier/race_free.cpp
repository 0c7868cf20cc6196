// Races: no two threads touch the same bytes without an order between them, one of them writing.
// Found from the accesses, not from outcomes, so that a race that has no effect here is found too.
#include "properties/verifier/device_checks.h"
#include "properties/verifier/properties.h"

namespace draftproof::properties::verifier {

Property race_free() {
  return built({
      .id = "race_free",
      .statement = "No two threads access the same memory without order, one of them writing.",
      .citation = "PTX ISA, memory consistency model: data races",
      .claim = oracle::Claim::kRaceFree,
      .smallest_visible_effect = "one unordered pair of accesses to one byte",
      .exemption = unless_on_device,
      .judge = no_observation(
          [](const std::string& check) { return check == "race" || check == "same-value-race"; }),
      .course = [](Course& course,
                   std::uint64_t seed) { run_under_all_schedules(course, seed, "race_free"); },
  });
}

}  // namespace draftproof::properties::verifier
