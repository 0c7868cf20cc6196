// The power table with its default seed: exact laws of its decoders, no false alarm, faults seen
// about when foretold, and what published criteria let through.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reference/error.h"
#include "tests/tools/schema.h"
#include "tools/draftproof/commands/table_power.h"
#include "tools/draftproof/fault_chain.h"
#include "tools/draftproof/power_table.h"

namespace draftproof::tools {
namespace {

const PowerTable& smoke_table() {
  static const PowerTable table = power_table({.is_smoke = true});
  return table;
}

TEST(FaultChain, OfTheRightDecoderHasTheTargetsRowsAndOfAFaultHasNot) {
  const auto target = chain_target_rows();
  const auto faults = chain_faults_of_table(true);
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const FaultChain chain(faults[i].decoding);
    double total = 0, distance = 0;
    for (std::size_t last = 0; last < target.size(); ++last) {
      double visits = 0;
      for (const double each : chain.pair_frequencies()[last]) visits += each;
      for (std::size_t token = 0; token < target[last].size(); ++token)
        distance += std::abs(chain.pair_frequencies()[last][token] - visits * target[last][token]);
      total += visits;
    }
    EXPECT_NEAR(total, 1, 1e-9);
    if (i == 0) {
      EXPECT_LT(distance, 1e-9);
    } else {
      EXPECT_GT(distance, 1e-3) << faults[i].name;
    }
  }
}

TEST(FaultChain, DrawsWhatItsLawSays) {
  const FaultChain chain(chain_faults_of_table(true).at(1).decoding);
  properties::Random random(1);
  std::vector<double> seen(kChainVocabulary);
  constexpr int kDraws = 200'000;
  for (int draw = 0; draw < kDraws; ++draw)
    seen[static_cast<std::size_t>(chain.emitted(3, random).front())] += 1.0 / kDraws;
  const auto expected = chain.first_token(3);
  for (std::size_t token = 0; token < seen.size(); ++token)
    EXPECT_NEAR(seen[token], expected[token], 6 * std::sqrt(.25 / kDraws));
}

TEST(PowerTable, SeesEveryFaultAboutWhenForetoldAndNothingElse) {
  const PowerTable& table = smoke_table();
  ASSERT_GE(table.rows.size(), 4U);
  EXPECT_TRUE(table.is_complete);
  EXPECT_FALSE(table.rows[0].joint.has_value());
  EXPECT_FALSE(table.rows[0].foretold.has_value());
  EXPECT_EQ(table.rows[0].alarms, 0U);
  for (std::size_t i = 1; i < table.rows.size(); ++i) {
    const PowerRow& row = table.rows[i];
    ASSERT_TRUE(row.joint && row.foretold) << row.fault;
    EXPECT_EQ(row.alarms, table.runs) << row.fault;
    // Five runs: the median scatters by a fifth.
    EXPECT_NEAR(std::log(*row.joint / *row.foretold), 0, std::log(1.6)) << row.fault;
  }
}

TEST(PowerTable, ShowsWhatPublishedCriteriaLetThrough) {
  const PowerTable& table = smoke_table();
  for (std::size_t i = 0; i < power_criteria().size(); ++i) {
    EXPECT_EQ(table.rows[0].passes[i], table.runs) << power_criteria()[i];
    EXPECT_EQ(table.rows[1].passes[i], 0U) << power_criteria()[i] << ": always_accept";
  }
  std::uint64_t let_through = 0;
  for (const std::uint64_t passes : table.rows[3].passes) let_through += passes;
  EXPECT_GT(let_through, 0U);
}

TEST(PowerTable, IsTheSameInJson) {
  const auto document = nlohmann::json::parse(power_json(smoke_table()));
  ASSERT_EQ(document["rows"].size(), smoke_table().rows.size());
  EXPECT_TRUE(document["rows"][0]["all_bets"].is_null());
  EXPECT_EQ(document["rows"][1]["fault"], "always_accept");
  EXPECT_EQ(document["rows"][1]["passes"]["BHC"], 0);
  EXPECT_NE(power_text(smoke_table(), true).find("always_accept"), std::string::npos);
}

TEST(PowerTable, ConformsToItsSchema) {
  if (!tests::can_validate()) GTEST_SKIP() << "python3-jsonschema is not installed";
  const std::string text = power_json(smoke_table());
  EXPECT_EQ(tests::schema_complaint("power.schema.json", text), "");
  auto wrong = nlohmann::json::parse(text);
  wrong["rows"][0]["total_variation"] = 2;
  EXPECT_NE(tests::schema_complaint("power.schema.json", wrong.dump()), "");
}

TEST(PowerTable, ThatIsStoppedSaysSo) {
  const PowerTable table =
      power_table({.is_smoke = true, .seed = 1, .stopped = [] { return true; }});
  EXPECT_FALSE(table.is_complete);
  EXPECT_NE(power_text(table, false).find("missing"), std::string::npos);
}

TEST(TablePower, RefusesOptionsThatItOrOtherTablesHaveNot) {
  std::ostringstream out, err;
  TableSettings settings;
  settings.name = "power";
  settings.toy = "textbook";
  EXPECT_THROW(table_power(settings, {}, {out, err}), Error);
  settings.toy.clear();
  EXPECT_THROW(table_power(settings, {.battery = "smoke", .seed = "-1"}, {out, err}), Error);
  EXPECT_THROW(refuse_power_options({.battery = "smoke", .seed = ""}, "faults"), Error);
  EXPECT_THROW(refuse_power_options({.battery = "", .seed = "1"}, "faults"), Error);
  EXPECT_NO_THROW(refuse_power_options({}, "faults"));
}

}  // namespace
}  // namespace draftproof::tools
