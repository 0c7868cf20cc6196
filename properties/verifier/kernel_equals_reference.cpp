// Bit parity: every outcome, status included, is the one of the reference. Decisions are integers
// (numerics contract, section 1), so there is no tolerance to argue about.
#include <algorithm>

#include "properties/verifier/properties.h"
#include "properties/verifier/variants.h"

namespace draftproof::properties::verifier {
namespace {

std::optional<Complaint> judge(const Subject& subject, const Case& value) {
  return difference(run(*subject.twin, value), run(*subject.verifier, value),
                    "reference and subject were given the same rows and coins");
}

/// One size of vocabulary with how many requests it gets in a battery, at least.
struct Class {
  std::string name;
  std::vector<std::size_t> vocab_sizes;  ///< empty: generated up to vocab_size_max
  std::size_t vocab_size_max = 0;
  int draft_count_max = 0;
  int request_count = 0;  ///< per batch
  std::uint64_t smoke = 0, standard = 0, deep = 0;
};

const std::vector<Class>& classes() {
  static const std::vector<Class> list = {
      {"V<=64", {}, 64, 5, 10, 1200, 5400, 200000},
      {"V<=512", {}, 512, 4, 10, 120, 3000, 100000},
      {"V<=4096", {}, 4096, 3, 6, 18, 2400, 40000},
      {"V=32000", {32000}, 0, 1, 6, 6, 1008, 12000},
      {"V~128256", {128256, 131071, 131073, 128255, 128257}, 0, 1, 3, 0, 204, 3000},
  };
  return list;
}

/// Goes through formats x presets x block sizes in turn, so that every cell gets its share.
void run_class(Course& course, const Class& each, std::uint64_t seed) {
  const reference::VerifierTraits& traits = course.traits();
  const std::uint64_t wanted = course.by_battery(each.smoke, each.standard, each.deep);
  const std::vector<reference::Preset>& presets = reference::presets();
  const std::vector<int> blocks =
      traits.block_threads.empty() ? std::vector<int>{0} : traits.block_threads;
  std::uint64_t tried = 0;
  for (std::uint64_t index = 0; tried < wanted; ++index) {
    CaseShape shape = shape_for(traits, "kernel_equals_reference");
    if (!each.vocab_sizes.empty())
      shape.vocab_size = each.vocab_sizes[index % each.vocab_sizes.size()];
    shape.vocab_size_max = std::min(each.vocab_size_max, traits.vocab_size_max);
    if (shape.vocab_size > traits.vocab_size_max) return;
    shape.draft_count_max = each.draft_count_max;
    shape.request_count = each.request_count;
    shape.with_unjudgeable = true;
    // Three pairwise coprime strides would repeat; counting in mixed radix visits every cell.
    const std::size_t format_index = index % traits.formats.size();
    const std::size_t preset_index = index / traits.formats.size() % presets.size();
    const std::size_t block_index =
        (index / (traits.formats.size() * presets.size()) + preset_index) % blocks.size();
    shape.formats = {traits.formats[format_index]};
    shape.presets = {presets[preset_index].name};
    Case value = nasty_case(shape, derived_seed(seed, index));
    value.execution.block_threads = blocks[block_index];
    const std::string cell = std::string(to_string(shape.formats[0])) + "/" + shape.presets[0] +
                             "/block " + std::to_string(blocks[block_index]) + "/" + each.name;
    if (!course.attempt(value, cell)) return;
    tried += static_cast<std::uint64_t>(each.request_count);
  }
}

void course(Course& course, std::uint64_t seed) {
  std::uint64_t total = 0;
  for (const Class& each : classes())
    total += course.by_battery(each.smoke, each.standard, each.deep);
  course.expect(total);
  for (std::size_t i = 0; i < classes().size() && !course.stopped(); ++i)
    run_class(course, classes()[i], derived_seed(seed, i));
}

}  // namespace

Property kernel_equals_reference() {
  return built({
      .id = "kernel_equals_reference",
      .statement = "Every outcome equals the reference's, bit for bit.",
      .citation = "numerics contract, section 1",
      .claim = oracle::Claim::kCoupled,
      .smallest_visible_effect = "one differing bit in any of the cases tried",
      .exemption = [](const reference::VerifierTraits& traits) -> std::string {
        if (!traits.declares_masses) return "it does not promise the integer masses";
        if (!traits.takes_coins) return "it takes no coins";
        return unless_rule(traits, {"chain", "greedy"});
      },
      .judge = judge,
      .course = course,
  });
}

}  // namespace draftproof::properties::verifier
