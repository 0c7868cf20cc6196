// Memory: every access lies inside its allocation, is aligned, reads what someone wrote, and every
// barrier is reached by all. Right outcomes do not prove it: an overrun may read a lucky byte.
#include "properties/verifier/device_checks.h"
#include "properties/verifier/properties.h"

namespace draftproof::properties::verifier {

Property memory_safe() {
  return built({
      .id = "memory_safe",
      .statement =
          "No access is out of bounds, misaligned or uninitialised, and no barrier, trap or "
          "limit stops a launch.",
      .citation = "PTX ISA, sections on state spaces, bar.sync and the memory consistency model",
      .claim = oracle::Claim::kMemorySafe,
      .smallest_visible_effect = "one byte of one access of any lane",
      .exemption = unless_on_device,
      .judge = no_observation(
          [](const std::string& check) { return check != "race" && check != "same-value-race"; }),
      .course = [](Course& course,
                   std::uint64_t seed) { run_under_all_schedules(course, seed, "memory_safe"); },
  });
}

}  // namespace draftproof::properties::verifier
