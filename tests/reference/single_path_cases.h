// What every rule of a single path is held against: the families of tiny cases with both reports,
// losslessness over one iteration and over several, and the closed form.
#pragma once

#include <gtest/gtest.h>

#include "tests/reference/tiny_families.h"

namespace draftproof::reference::law {

/// Families x vocabularies 2 .. 4 x drafts 0 .. draft_count_max x {law drawn, one-hot}. Only those
/// that a few hundred thousand branches can walk.
template <class Check>
void for_each_single_path_case(int draft_count_max, const Check& check) {
  for (Family family : kFamilies)
    for (int vocab_size : {2, 3, 4})
      for (int draft_count = 0; draft_count <= draft_count_max; ++draft_count)
        for (DraftReport report : {DraftReport::kLawDrawn, DraftReport::kOneHot}) {
          if (vocab_size == 4 && draft_count == 3 && family != Family::kWithZeros) continue;
          ModelCase tiny = family_case(family, vocab_size, draft_count, 3);
          tiny.report = report;
          check(tiny);
        }
}

inline void expect_lossless(const std::string& name) {
  const RuleFunction rule = law_rule(name).make({});
  int cases = 0;
  for_each_single_path_case(3, [&](const ModelCase& tiny) {
    ++cases;
    ASSERT_EQ(distance_of(tiny, rule), 0);
  });
  EXPECT_EQ(cases, 90);
}

/// Iteration after iteration, the coins of the scheme named.
inline Exact keyed_distance(ModelCase tiny, const RuleFunction& rule, const std::string& scheme,
                            int horizon) {
  Decoding decoding = decoding_of(tiny, rule);
  decoding.coins = coin_scheme(scheme);
  return sequence_distance(decoding, horizon);
}

inline void expect_lossless_for_iterations(const std::string& name, const std::string& scheme) {
  const RuleFunction rule = law_rule(name).make({});
  for (Family family : kFamilies)
    for (DraftReport report : {DraftReport::kLawDrawn, DraftReport::kOneHot}) {
      ModelCase tiny = family_case(family, 3, 2, 7);
      tiny.report = report;
      EXPECT_EQ(keyed_distance(tiny, rule, scheme, 3), 0);
    }
}

inline void expect_closed_form(const std::string& name, const OptionValues& given = {}) {
  const LawRule& rule = law_rule(name);
  const OptionValues options = checked(rule, given);
  for_each_single_path_case(2, [&](const ModelCase& tiny) {
    ASSERT_EQ(rule.expected_emitted(tiny, options),
              expected_emitted(law_of(tiny, rule.make(options))))
        << name;
  });
}

inline ModelCase constant_case(const char* target, const char* draft, int draft_count) {
  return chain_case(model::position_model({distribution_from_text(target)}),
                    model::position_model({distribution_from_text(draft)}), draft_count);
}

}  // namespace draftproof::reference::law
