// Random histories of random engines, drawn and shrunk by RapidCheck from seeds. Goal: right
// engines of any configuration are clean; a fault that needs two features together is found and
// shown by a short history of a plain world.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "properties/state/random_history.h"

namespace draftproof::properties::state {
namespace {

namespace decode = reference::decode;
using Numbers = std::vector<std::uint32_t>;

constexpr int kActions = 60;

rc::Gen<std::pair<Numbers, Numbers>> histories() {
  // Small numbers of a world are plain choices; sizes grow with RapidCheck's.
  const auto choice = rc::gen::inRange<std::uint32_t>(0, 5040);
  const auto action = rc::gen::inRange<std::uint32_t>(0, 1u << 30);
  return rc::gen::pair(
      rc::gen::resize(static_cast<int>(kWorldChoices), rc::gen::container<Numbers>(choice)),
      rc::gen::resize(kActions, rc::gen::container<Numbers>(action)));
}

struct Failure {
  World world;
  StateHistory history;
  HistoryResult result;
};

/// The first failure in `tries` draws, shrunk in its configuration and then in its history.
std::optional<Failure> search(const EngineFactory& make_engine, int tries, std::uint64_t seed) {
  const auto failure_of =
      [&](const std::pair<Numbers, Numbers>& numbers) -> std::optional<Failure> {
    Failure failure;
    failure.world = world_of(numbers.first);
    failure.world.make_engine = make_engine;
    failure.history = history_of(failure.world, numbers.second);
    failure.result = run(failure.world, failure.history);
    if (failure.result.is_clean()) return std::nullopt;
    return failure;
  };
  for (int draw = 0; draw < tries; ++draw) {
    const rc::Random random(seed * 1'000'003 + static_cast<std::uint64_t>(draw));
    auto current = histories()(random, 100);
    std::optional<Failure> found = failure_of(current.value());
    if (!found) continue;
    for (bool is_shorter = true; is_shorter;) {
      is_shorter = false;
      auto shrinks = current.shrinks();
      while (auto shrink = shrinks.next()) {
        std::optional<Failure> smaller = failure_of(shrink->value());
        if (!smaller) continue;
        found = std::move(smaller);
        current = std::move(*shrink);
        is_shorter = true;
        break;
      }
    }
    found->history = least_history(found->world, found->history);
    found->result = run(found->world, found->history);
    return found;
  }
  return std::nullopt;
}

std::string text_of(const std::optional<Failure>& failure) {
  if (!failure) return "";
  return words(failure->world) + ": " + to_string(failure->history) + ": " +
         to_string(failure->result);
}

TEST(RandomHistory, IsCleanForRightEnginesOfAnyConfiguration) {
  EXPECT_EQ(text_of(search({}, 2500, 1)), "");
}

/// The committed frame of a preempted request counts as if it still ran (vllm-project/vllm#48245).
class LateCommitsCount final : public decode::EngineSteps {
  decode::HostRequest* resolve(decode::EngineState& state, const decode::Frame& frame,
                               std::size_t entry) const override {
    const auto found = state.host.find(frame.entries[entry].id);
    return found == state.host.end() || !found->second.is_running() ? nullptr : &found->second;
  }
};

TEST(RandomHistory, FindsAFaultAndShowsItPlainly) {
  const auto faulty = [](const decode::EngineConfig& config) {
    return decode::Engine(config, std::make_shared<LateCommitsCount>());
  };
  const std::optional<Failure> found = search(faulty, 3000, 1);
  ASSERT_TRUE(found);
  EXPECT_LE(found->history.size(), 8u) << text_of(found);
  EXPECT_THAT(to_string(found->history), testing::HasSubstr("preempt 0"));
}

TEST(RandomHistory, IsAFunctionOfItsNumbersAndZerosArePlain) {
  const World plain = world_of({});
  EXPECT_EQ(plain.requests.size(), 1u);
  EXPECT_EQ(words(plain), words(world_of(Numbers(kWorldChoices, 0))));
  EXPECT_THAT(words(plain), testing::Not(testing::HasSubstr("asynchronous")));
  const Numbers numbers = {4, 7, 130, 66, 90, 2, 3};
  EXPECT_EQ(history_of(plain, numbers), history_of(plain, numbers));
  EXPECT_EQ(words(world_of(numbers)), words(world_of(numbers)));
}

}  // namespace
}  // namespace draftproof::properties::state
