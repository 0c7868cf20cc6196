#include "properties/verifier/variants.h"

#include <algorithm>

#include "oracle/parity.h"

namespace draftproof::properties::verifier {

std::optional<Complaint> difference(const reference::Outcome& expected,
                                    const reference::Outcome& observed,
                                    const std::string& because) {
  const auto first = oracle::first_difference(expected, observed);
  if (!first) return std::nullopt;
  return Complaint{told(expected, first->request),
                   told(observed, first->request),
                   because + "; " + first->what + " of outcome " + std::to_string(first->request) +
                       " is " + first->observed + " in place of " + first->expected,
                   {}};
}

void try_nasty_cases(Course& course, std::uint64_t seed, CaseShape shape, std::uint64_t batches,
                     const std::function<void(Case&, Random&)>& adapt,
                     const std::vector<std::size_t>& sizes) {
  course.expect(batches * static_cast<std::uint64_t>(shape.request_count));
  for (std::uint64_t i = 0; i < batches; ++i) {
    const std::uint64_t case_seed = derived_seed(seed, i);
    if (!sizes.empty())
      shape.vocab_size = std::min(sizes[i % sizes.size()], course.traits().vocab_size_max);
    Case value = nasty_case(shape, case_seed);
    Random random(derived_seed(case_seed, 1));
    if (adapt) adapt(value, random);
    if (!course.attempt(value)) return;
  }
}

}  // namespace draftproof::properties::verifier
