// Goal: KV kernels driven by the very histories of the engine leave, byte for byte, what the
// engine's caches hold. Method: the engine runs random histories of random configurations, and
// small worlds whole, with caches that are mirrored on the device (kv_mirror.h) and recurrent
// states that a kernel selects; the engine's own twin looks on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>

#include "gpu/ptx_patch.h"
#include "properties/state/explorer.h"
#include "properties/state/random_history.h"
#include "properties/state/worlds.h"
#include "tests/differential/kv_mirror_steps.h"
#include "tests/reference/cache_world.h"

namespace draftproof::tests {
namespace {

namespace decode = reference::decode;
namespace state = properties::state;

/// The engine's steps, with the choice among recurrent states made by the kernel as well.
class MirroredSteps final : public decode::EngineSteps {
 public:
  explicit MirroredSteps(std::shared_ptr<MirrorDevice> shared)
      : shared_(std::move(shared)), pool_(layout_for(*shared_)) {}

  void commit_recurrent(decode::EngineState& state, const decode::Entry& entry) const override {
    const reference::kv::SequenceId id = state.device.at(entry.id).target;
    const reference::kv::RecurrentState before = state.recurrent.committed(id);
    EngineSteps::commit_recurrent(state, entry);
    std::vector<int> kept(entry.tokens.size());
    std::iota(kept.begin(), kept.end(), 0);
    if (!entry.is_prefill) kept = EngineSteps::kept(entry);
    select(before, entry, kept, state.recurrent.committed(id));
  }

 private:
  static KvLayout layout_for(MirrorDevice& shared) {
    KvLayout layout = random_layout(shared.dice, 1, 72);
    layout.has_page_scales = false;
    return layout;
  }

  void select(reference::kv::RecurrentState before, const decode::Entry& entry,
              const std::vector<int>& kept, reference::kv::RecurrentState after) const {
    KvDevice& device = shared_->device;
    KvPool pool(device, pool_);
    std::vector<CellKey> states;
    std::vector<std::int64_t> slots;
    std::vector<std::int32_t> candidates;
    for (std::size_t i = 0; i < entry.tokens.size(); ++i) {
      const int parent = entry.parents[i];
      states.push_back(reference::kv::state_behind(
          parent < 0 ? before : states[static_cast<std::size_t>(parent)], entry.tokens[i]));
      candidates.push_back(static_cast<std::int32_t>(70 - i));
      slots.push_back(candidates.back());
      pool.key(candidates.back(), 0) = states.back();
    }
    states.push_back(before);
    slots.push_back(1);
    draftproof_kv_append_arguments written{};
    written.pool = pool.arguments();
    const auto rows = pool.rows(states, written);
    const auto list = device.array(slots, "slots");
    written.slots = list.pointer();
    written.token_count = static_cast<std::uint32_t>(slots.size());
    device.run(written);
    KvKept told;
    told.nodes.emplace_back(kept.begin(), kept.end());
    told.outcomes = {{static_cast<std::uint32_t>(kept.size()), 0, 0, 0}};
    const KvKeptArrays arrays = on_device(device, told);
    const auto from = device.array(candidates, "candidates");
    const auto committed = device.array<std::int32_t>({1}, "committed");
    const auto fed =
        device.array<std::int32_t>({static_cast<std::int32_t>(candidates.size())}, "fed counts");
    const auto statuses = device.array<std::uint32_t>({99}, "statuses");
    draftproof_kv_select_states_arguments arguments{};
    arguments.pool = pool.arguments();
    arguments.kept = arrays.arguments;
    arguments.candidates = from.pointer();
    arguments.committed = committed.pointer();
    arguments.fed_counts = fed.pointer();
    arguments.statuses = statuses.pointer();
    arguments.candidate_stride = arguments.candidate_max =
        static_cast<std::uint32_t>(candidates.size());
    arguments.sequence_count = 1;
    device.run(arguments);
    demand_done(statuses, "select_states");
    pool.key(1, 0) = after;
    pool.compare("recurrent states");
  }

  std::shared_ptr<MirrorDevice> shared_;
  KvLayout pool_;
};

class KvEngine : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
    shared_ = std::make_shared<MirrorDevice>(gpu::embedded_texts(), 5);
  }

  state::EngineFactory mirrored() {
    return [shared = shared_](const decode::EngineConfig& config) {
      decode::EngineStepsPtr steps = decode::right_steps();
      if (config.target->is_recurrent()) steps = std::make_shared<MirroredSteps>(shared);
      return decode::Engine(config, steps, [shared](const reference::kv::CacheConfig& cache, bool) {
        return std::make_unique<MirroredCache>(cache, shared);
      });
    };
  }

  void tell() {
    const MirrorCounts& counts = shared_->counts;
    RecordProperty("launches", std::to_string(shared_->device.launches()));
    RecordProperty("comparisons", std::to_string(counts.comparisons));
    RecordProperty("commits", std::to_string(counts.commits));
    RecordProperty("moved_cells", std::to_string(counts.moved_cells));
    RecordProperty("copied_pages", std::to_string(counts.copied_pages));
    RecordProperty("released_pages", std::to_string(counts.released_pages));
  }

  std::shared_ptr<MirrorDevice> shared_;
};

/// Histories of each kind; more of them when DRAFTPROOF_KV_HISTORIES says so.
int history_count() {
  const char* asked = std::getenv("DRAFTPROOF_KV_HISTORIES");
  return asked == nullptr ? 200 : std::atoi(asked);
}

std::vector<std::uint32_t> numbers(Dice& dice, int count, int below) {
  std::vector<std::uint32_t> drawn;
  for (int i = 0; i < count; ++i) drawn.push_back(static_cast<std::uint32_t>(dice.below(below)));
  return drawn;
}

TEST_F(KvEngine, HoldsWhatItsCachesHoldAfterAnyRandomHistory) {
  for (int number = 0; number < history_count(); ++number) {
    Dice dice(static_cast<std::uint64_t>(number) + 1);
    state::World world =
        state::world_of(numbers(dice, static_cast<int>(state::kWorldChoices), 5040));
    world.make_engine = mirrored();
    const state::StateHistory history = state::history_of(world, numbers(dice, 60, 1 << 30));
    const state::HistoryResult result = state::run(world, history);
    ASSERT_TRUE(result.is_clean()) << "history " << number << " of " << state::words(world) << ": "
                                   << to_string(history) << ": " << to_string(result);
  }
  EXPECT_GT(shared_->counts.moved_cells, 0);
  EXPECT_GT(shared_->counts.released_pages, 0);
  EXPECT_GT(shared_->counts.poisoned_ranges, 0);
  EXPECT_GT(shared_->counts.restored_cells, 0);
  tell();
}

/// The explorer's worlds: trees, page edges, windows, prefixes that are shared, small pools.
TEST_F(KvEngine, HoldsWhatItsCachesHoldInEveryWorldOfTheExplorer) {
  const std::vector<state::World> known = state::worlds();
  for (std::size_t number = 0; number < known.size(); ++number) {
    state::World world = known[number];
    world.make_engine = mirrored();
    // Commits move cells in trees alone.
    const int often = world.parents.empty() ? 15 : 3;
    for (int history = 0; history * often < history_count(); ++history) {
      Dice dice(1000 * number + static_cast<std::uint64_t>(history));
      const state::StateHistory actions = state::history_of(world, numbers(dice, 60, 1 << 30));
      const state::HistoryResult result = state::run(world, actions);
      ASSERT_TRUE(result.is_clean())
          << world.name << ": " << to_string(actions) << ": " << to_string(result);
    }
  }
  EXPECT_GT(shared_->counts.moved_cells, 0);
  tell();
}

/// Breadth first, so that engines are copied, and go on from any state of one that is shared.
TEST_F(KvEngine, HoldsWhatItsCachesHoldInCopiesOfEngines) {
  std::int64_t commits = 0;
  for (const char* name : {"tree-greedy", "prefix-equal"}) {
    state::World world = state::world(name);
    world.make_engine = mirrored();
    state::ExplorerLimits limits;
    limits.state_max = 120;
    const state::Exploration found = state::explore(world, limits);
    ASSERT_TRUE(found.is_clean()) << world.name << ": " << to_string(found.history) << ": "
                                  << to_string(found.result);
    EXPECT_GT(shared_->counts.commits, commits) << world.name;
    commits = shared_->counts.commits;
  }
  tell();
}

/// The alarm rings: cells of rejected nodes are kept, and the tree's world does not stay clean.
TEST_F(KvEngine, TellsAKernelThatKeepsCellsOfRejectedNodes) {
  std::ostringstream text;
  text << std::ifstream(DRAFTPROOF_SOURCE_DIR
                        "/fixtures/mutants/kernels/kv/kv_rejected_cells_kept.ptxpatch")
              .rdbuf();
  const gpu::PtxPatch patch = gpu::parse_ptx_patch(text.str(), "kv_rejected_cells_kept");
  gpu::KernelTexts texts = gpu::embedded_texts();
  texts.at(patch.module) = gpu::patched(patch, texts.at(patch.module));
  shared_ = std::make_shared<MirrorDevice>(std::move(texts), 5);
  state::World world = state::world("tree-greedy");
  world.make_engine = mirrored();
  state::HistoryResult result;
  for (std::uint64_t seed = 0; seed < 100 && result.is_clean(); ++seed) {
    Dice dice(seed);
    result = state::run(world, state::history_of(world, numbers(dice, 60, 1 << 30)));
  }
  EXPECT_THAT(result.exception, testing::HasSubstr("cells: plane 0"));
}

/// What no engine here asks for: forks that share partly filled pages, trims, refused calls.
TEST_F(KvEngine, HoldsWhatACacheHoldsAfterAnyOperations) {
  using reference::kv::CacheOperation;
  std::int64_t refused = 0;
  for (int number = 0; number < history_count(); ++number) {
    Dice dice(static_cast<std::uint64_t>(number) + 77);
    reference::kv::CacheConfig config;
    config.page_size = dice.of({1, 2, 3, 4, 16});
    config.page_count = dice.between(3, 24);
    config.window = dice.is_one_in(4) ? dice.between(1, 7) : 0;
    config.is_quantised = dice.is_one_in(4);
    config.is_trimmable = !dice.is_one_in(5);
    config.keeps_prefixes = !dice.is_one_in(4);
    reference::kv::CacheWorld world(std::make_unique<MirroredCache>(config, shared_));
    for (int step = 0; step < 60; ++step) {
      const reference::kv::CacheStep action{static_cast<CacheOperation>(dice.below(11)),
                                            dice.below(12), dice.below(10),
                                            static_cast<std::uint32_t>(dice.word())};
      std::optional<std::string> difference;
      try {
        difference = world.run(action);
      } catch (const Disparity& found) {
        difference = found.what();
      }
      ASSERT_FALSE(difference) << "history " << number << ", step " << step << ", " << action
                               << ": " << *difference;
    }
    ASSERT_FALSE(world.finish()) << "history " << number;
    refused += world.seen().refused_calls;
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(shared_->counts.copied_pages, 0);
  EXPECT_GT(shared_->counts.moved_cells, 0);
  tell();
}

}  // namespace
}  // namespace draftproof::tests
