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
  bool is_at_edges = false;
};

const std::vector<Class>& classes() {
  static const std::vector<Class> list = {
      {"V<=64", {}, 64, 5, 10, 1200, 5400, 200000},
      {"V<=512", {512, 257, 384, 511, 129, 256, 300}, 0, 4, 10, 600, 3000, 100000},
      {"edges, V<=64", {64, 33, 48, 17, 57, 40, 24}, 0, 1, 10, 3000, 12000, 300000, true},
      {"edges, V~4096", {4096, 3333, 4095, 3840}, 0, 1, 3, 60, 1200, 20000, true},
      {"edges, V>2^18", {262145, 262147, 524289}, 0, 1, 1, 3, 30, 600, true},
      {"draft<=80", {}, 16, 80, 4, 60, 300, 8000},
      {"V<=4096", {}, 4096, 3, 6, 18, 1200, 20000},
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
      shape.vocab_size =
          std::min(each.vocab_sizes[index % each.vocab_sizes.size()], traits.vocab_size_max);
    shape.vocab_size_max = std::min(each.vocab_size_max, traits.vocab_size_max);
    shape.draft_count_max = each.draft_count_max;
    shape.request_count = each.request_count;
    shape.with_unjudgeable = true;
    shape.with_trees = traits.takes_trees;
    shape.is_at_edges = each.is_at_edges && shape.with_edge_coins;
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
        return unless_rule(
            traits, {"chain", "greedy", "block", "tree-greedy", "target-only", "with-replacement",
                     "without-replacement", "traversal", "match"});
      },
      .judge = judge,
      .course = course,
  });
}

}  // namespace draftproof::properties::verifier
