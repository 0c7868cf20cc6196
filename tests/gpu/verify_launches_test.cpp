// Goal: nothing that cannot be right is launched, and the text names the field. Method: sound
// arguments of every rule, and each of them spoilt in one place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "gpu/launches/verify.h"
#include "reference/verify/verifiers.h"

namespace draftproof::gpu::launches {
namespace {

using testing::HasSubstr;
using Spoil = std::function<void(draftproof_verify_arguments&)>;

/// Buffers far apart, of 3 requests with up to 4 drafted tokens.
draftproof_verify_arguments sound_arguments(const VerifyRule& rule) {
  draftproof_verify_arguments a{};
  draftproof_pointer next = 0x100000;
  const auto buffer = [&] { return next += 0x100000; };
  a.target_rows = buffer();
  a.target_row_stride = 1000;
  a.draft_rows = buffer();
  a.draft_row_stride = 1001;
  a.draft_tokens = buffer();
  a.requests = buffer();
  a.target_records = buffer();
  a.draft_records = buffer();
  a.coins = buffer();
  a.emitted_tokens = buffer();
  a.emitted_reasons = buffer();
  a.outcomes = buffer();
  if (rule.takes_trees) a.parents = buffer();
  if (rule.takes_trees) a.accepted_nodes = buffer();
  a.request_count = 3;
  a.padded_draft_count = 4;
  a.vocab_size = 1000;
  return a;
}

draftproof_result spoilt(const VerifyRule& rule, const Spoil& spoil) {
  draftproof_verify_arguments arguments = sound_arguments(rule);
  spoil(arguments);
  return check(rule, arguments);
}

void expect(const VerifyRule& rule, const Spoil& spoil, int code, const std::string& field) {
  const draftproof_result result = spoilt(rule, spoil);
  EXPECT_EQ(result.code, code) << rule.name << ", " << field << ": " << result.text;
  EXPECT_THAT(result.text, HasSubstr(field)) << rule.name;
}

const VerifyRule& chain() { return *verify_rule("chain"); }

TEST(VerifyLaunches, EveryRuleHasATwinInTheReferenceAndAnEntryAFormat) {
  std::set<std::string> names;
  for (const VerifyRule& rule : verify_rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_EQ(verify_rule(rule.name), &rule);
    const auto twin = reference::verify::make_verifier(rule.name);
    EXPECT_EQ(twin->traits().takes_trees, rule.takes_trees) << rule.name;
    for (std::uint32_t format = 0; format < 3; ++format) {
      draftproof_verify_arguments arguments = sound_arguments(rule);
      arguments.format = format;
      EXPECT_EQ(check(rule, arguments).code, DRAFTPROOF_OK) << check(rule, arguments).text;
      const KernelLaunch launch = launch_of(rule, arguments);
      EXPECT_STREQ(launch.module, rule.module);
      EXPECT_STREQ(launch.entry, rule.entries[format]);
      EXPECT_EQ(launch.grid.count(), 3u);
      EXPECT_EQ(launch.block.x, 32u);
    }
  }
  EXPECT_EQ(verify_rule("no rule"), nullptr);
}

TEST(VerifyLaunches, ChooseABlockThatSuitsTheRowUnlessOneIsNamed) {
  draftproof_verify_arguments arguments = sound_arguments(chain());
  arguments.vocab_size = 128256;
  EXPECT_EQ(launch_of(chain(), arguments).block.x, 512u);
  arguments.block_threads = 96;
  EXPECT_EQ(launch_of(chain(), arguments).block.x, 96u);
}

TEST(VerifyLaunches, RefuseSizesOutOfRange) {
  for (const VerifyRule& rule : verify_rules()) {
    expect(
        rule, [](auto& a) { a.request_count = 0; }, DRAFTPROOF_OUT_OF_RANGE, "request_count");
    expect(
        rule, [](auto& a) { a.request_count = 1u << 31; }, DRAFTPROOF_OUT_OF_RANGE,
        "request_count");
    expect(
        rule, [](auto& a) { a.padded_draft_count = 65537; }, DRAFTPROOF_OUT_OF_RANGE,
        "padded_draft_count");
    expect(
        rule, [](auto& a) { a.vocab_size = 0; }, DRAFTPROOF_OUT_OF_RANGE, "vocab_size");
    expect(
        rule, [](auto& a) { a.vocab_size = (1u << 20) + 1; }, DRAFTPROOF_OUT_OF_RANGE,
        "vocab_size");
    expect(
        rule, [](auto& a) { a.block_threads = 48; }, DRAFTPROOF_OUT_OF_RANGE, "block_threads");
    expect(
        rule, [](auto& a) { a.block_threads = 1056; }, DRAFTPROOF_OUT_OF_RANGE, "block_threads");
    expect(
        rule, [](auto& a) { a.format = 3; }, DRAFTPROOF_OUT_OF_RANGE, "format");
    expect(
        rule, [](auto& a) { a.draft_kind = 3; }, DRAFTPROOF_OUT_OF_RANGE, "draft_kind");
  }
  expect(
      chain(), [](auto& a) { a.target_row_stride = 999; }, DRAFTPROOF_OUT_OF_RANGE,
      "target_row_stride");
  expect(
      chain(), [](auto& a) { a.draft_row_stride = 999; }, DRAFTPROOF_OUT_OF_RANGE,
      "draft_row_stride");
  expect(
      chain(), [](auto& a) { a.target_row_stride = std::uint64_t{1} << 61; }, DRAFTPROOF_TOO_LARGE,
      "row stride");
}

/// What is remembered of rejected siblings lies in shared memory.
TEST(VerifyLaunches, TakeNoMoreSiblingsThanTheirTrailHolds) {
  for (const char* name : {"with-replacement", "without-replacement"}) {
    const VerifyRule& rule = *verify_rule(name);
    expect(
        rule, [](auto& a) { a.padded_draft_count = 513; }, DRAFTPROOF_OUT_OF_RANGE,
        "padded_draft_count");
    draftproof_verify_arguments arguments = sound_arguments(rule);
    arguments.padded_draft_count = 512;
    EXPECT_NE(check(rule, arguments).code, DRAFTPROOF_OUT_OF_RANGE);
  }
}

TEST(VerifyLaunches, RefuseNullAndMisalignedBuffersByName) {
  const std::pair<draftproof_pointer draftproof_verify_arguments::*, const char*> fields[] = {
      {&draftproof_verify_arguments::draft_tokens, "draft_tokens"},
      {&draftproof_verify_arguments::requests, "requests"},
      {&draftproof_verify_arguments::target_records, "target_records"},
      {&draftproof_verify_arguments::emitted_tokens, "emitted_tokens"},
      {&draftproof_verify_arguments::emitted_reasons, "emitted_reasons"},
      {&draftproof_verify_arguments::outcomes, "outcomes"}};
  for (const VerifyRule& rule : verify_rules())
    for (const auto& [field, name] : fields) {
      expect(
          rule, [&](auto& a) { a.*field = 0; }, DRAFTPROOF_NULL_POINTER, name);
      expect(
          rule, [&](auto& a) { a.*field += 2; }, DRAFTPROOF_MISALIGNED, name);
    }
  expect(
      chain(), [](auto& a) { a.target_rows = 0; }, DRAFTPROOF_NULL_POINTER, "target_rows");
  expect(
      chain(), [](auto& a) { a.target_rows += 2; }, DRAFTPROOF_MISALIGNED, "target_rows");
  expect(
      chain(), [](auto& a) { a.draft_rows = 0; }, DRAFTPROOF_NULL_POINTER, "draft_rows");
  expect(
      chain(), [](auto& a) { a.draft_records = 0; }, DRAFTPROOF_NULL_POINTER, "draft_records");
  expect(
      chain(), [](auto& a) { a.coins += 4; }, DRAFTPROOF_MISALIGNED, "coins");
  const VerifyRule& match = *verify_rule("match");
  expect(
      match, [](auto& a) { a.accepted_nodes = 0; }, DRAFTPROOF_NULL_POINTER, "accepted_nodes");
  expect(
      match, [](auto& a) { a.parents += 2; }, DRAFTPROOF_MISALIGNED, "parents");
}

TEST(VerifyLaunches, TakeNullWhereNothingIsRead) {
  EXPECT_EQ(spoilt(chain(), [](auto& a) { a.coins = 0; }).code, DRAFTPROOF_OK);
  const auto one_hot = [](auto& a) {
    a.draft_kind = 2;
    a.draft_rows = a.draft_records = a.draft_row_stride = 0;
  };
  EXPECT_EQ(spoilt(chain(), one_hot).code, DRAFTPROOF_OK);
  const auto no_drafts = [](auto& a) {
    a.padded_draft_count = 0;
    a.draft_tokens = a.draft_rows = a.draft_records = a.draft_row_stride = 0;
  };
  EXPECT_EQ(spoilt(chain(), no_drafts).code, DRAFTPROOF_OK);
  EXPECT_EQ(spoilt(*verify_rule("match"), [](auto& a) { a.parents = 0; }).code, DRAFTPROOF_OK);
  const auto records_alone = [](auto& a) {
    a.target_rows = a.target_row_stride = a.draft_rows = a.draft_records = a.coins = 0;
  };
  EXPECT_EQ(spoilt(*verify_rule("greedy"), records_alone).code, DRAFTPROOF_OK);
}

TEST(VerifyLaunches, RefuseOutputsThatOverlapAnything) {
  expect(
      chain(), [](auto& a) { a.emitted_tokens = a.emitted_reasons; }, DRAFTPROOF_OVERLAP,
      "outputs");
  expect(
      chain(), [](auto& a) { a.outcomes = a.target_rows + 15 * 4000 - 4; }, DRAFTPROOF_OVERLAP,
      "outputs");
  EXPECT_EQ(spoilt(chain(), [](auto& a) { a.outcomes = a.target_rows + 15 * 4000; }).code,
            DRAFTPROOF_OK);
  EXPECT_EQ(spoilt(chain(), [](auto& a) { a.draft_rows = a.target_rows; }).code, DRAFTPROOF_OK);
}

}  // namespace
}  // namespace draftproof::gpu::launches
