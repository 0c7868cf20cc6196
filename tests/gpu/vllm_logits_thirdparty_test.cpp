// vLLM's acceptance from logits (the second generation: statistics of rows, rejection, resampling,
// insertion) on the emulated device, four launches in a row. A draft token is accepted while
// log target > log coin + log draft, the coin from Philox; the residual of every row here is a
// single token, so that the resampled one is known whatever its noise. Needs tools/kernels/fetch.sh
// vllm; skipped without it.
#include <Random123/philox.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/gpu/third_party_run.h"

namespace draftproof::gpu {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr std::int64_t kUnwrittenToken = 0x7e7e7e7e7e7e7e7e;

/// Requests of 2, 0 and 1 draft tokens and a row more for the bonus; every row has two tokens.
struct Batch {
  std::size_t vocabulary = 20, steps = 2;
  std::vector<std::int32_t> ends = {0, 3, 4, 6};
  std::vector<std::int32_t> request_of = {0, 0, 0, 1, 2, 2}, place_of = {0, 1, 2, 0, 0, 1};
  std::vector<std::int32_t> request_ids = {0, 1, 2};
  std::vector<std::int32_t> proposed;  ///< [rows]; of the row before, as the package keeps them
  std::vector<float> target, draft;    ///< [rows][V], [requests][steps][V]
  std::vector<float> temperature = {1, 2, 0.5f};
  std::vector<std::int64_t> seeds, positions;

  std::size_t rows() const { return request_of.size(); }
  const float* target_row(std::size_t row) const { return target.data() + row * vocabulary; }
  const float* draft_row(std::size_t request, std::size_t place) const {
    return draft.data() + (request * steps + place) * vocabulary;
  }
};

Batch random_batch(std::size_t vocabulary, std::uint64_t seed) {
  std::mt19937_64 mix(seed);
  const auto logit = [&] { return static_cast<float>(mix() % 4096) / 1024 - 2; };
  Batch batch;
  batch.vocabulary = vocabulary;
  batch.target.assign(batch.rows() * vocabulary, kNever);
  batch.draft.assign(3 * batch.steps * vocabulary, kNever);
  batch.proposed.assign(batch.rows() + 1, 0);
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    const auto request = static_cast<std::size_t>(batch.request_of[row]);
    const auto place = static_cast<std::size_t>(batch.place_of[row]);
    const std::size_t one = mix() % vocabulary;
    const std::size_t two = (one + 1 + mix() % (vocabulary - 1)) % vocabulary;
    batch.positions.push_back(static_cast<std::int64_t>(mix() % (std::uint64_t{1} << 40)));
    batch.target[row * vocabulary + one] = logit();
    const bool is_bonus = row + 1 == static_cast<std::size_t>(batch.ends[request + 1]);
    if (is_bonus) continue;  // One token: the bonus is known too.
    batch.target[row * vocabulary + two] = logit();
    for (const std::size_t id : {one, two})
      batch.draft[(request * batch.steps + place) * vocabulary + id] = logit();
    batch.proposed[row + 1] = static_cast<std::int32_t>(mix() % 2 == 0 ? one : two);
    if (mix() % 10 == 0) batch.proposed[row + 1] = -1;
  }
  batch.proposed.resize(batch.rows());
  for (int request = 0; request < 3; ++request)
    batch.seeds.push_back(static_cast<std::int64_t>(mix()));
  return batch;
}

double coin(std::int64_t seed, std::int64_t position) {
  const auto low = [](std::int64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::int64_t x) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(x) >> 32);
  };
  const r123::Philox4x32::ctr_type counter = {{low(position), high(position), 0, 0}};
  const r123::Philox4x32::key_type key = {{low(seed), high(seed)}};
  const auto word = static_cast<std::int32_t>(r123::Philox4x32()(counter, key)[0]);
  const std::int32_t folded = word < 0 ? -word - 1 : word;
  return std::max(static_cast<double>(static_cast<float>(folded) * 4.6566127342e-10f),
                  4.6566127342e-10);
}

/// Logarithm of the softmax of row / temperature at `id`.
double log_mass(const float* row, std::size_t count, double temperature, std::size_t id) {
  double sum = 0;
  for (std::size_t each = 0; each < count; ++each)
    sum += std::exp(static_cast<double>(row[each]) / temperature);
  return static_cast<double>(row[id]) / temperature - std::log(sum);
}

struct Emitted {
  std::vector<std::int64_t> tokens;  ///< [requests][steps + 1]
  std::vector<std::int32_t> counts;
  /// Decisions closer than fp32 can tell, and tokens that hang on them.
  bool is_close = false;
};

std::size_t highest(const float* row, std::size_t count) {
  return static_cast<std::size_t>(std::max_element(row, row + count) - row);
}

/// The token of the largest target - draft; of a padded one none is known.
std::int64_t residual(const Batch& batch, std::size_t request, std::size_t place, std::size_t row) {
  std::size_t best = 0;
  double largest = 0;
  for (std::size_t id = 0; id < batch.vocabulary; ++id) {
    if (batch.target_row(row)[id] == kNever) continue;
    const double left = std::exp(log_mass(batch.target_row(row), batch.vocabulary, 1, id)) -
                        std::exp(log_mass(batch.draft_row(request, place), batch.vocabulary,
                                          static_cast<double>(batch.temperature[request]), id));
    if (left > largest) best = id;
    largest = std::max(largest, left);
  }
  return static_cast<std::int64_t>(best);
}

Emitted plain(const Batch& batch) {
  Emitted result;
  result.tokens.assign(3 * (batch.steps + 1), kUnwrittenToken);
  for (std::size_t request = 0; request < 3; ++request) {
    const auto first = static_cast<std::size_t>(batch.ends[request]);
    const auto drafts = static_cast<std::size_t>(batch.ends[request + 1]) - first - 1;
    const auto temperature = static_cast<double>(batch.temperature[request]);
    auto* row = result.tokens.data() + request * (batch.steps + 1);
    std::size_t place = 0;
    for (bool stopped = false; place < drafts && !stopped; place += !stopped) {
      const float* target = batch.target_row(first + place);
      const std::int32_t id = batch.proposed[first + place + 1];
      const std::size_t choice = highest(target, batch.vocabulary);
      if (temperature == 0) {
        stopped = id < 0 || static_cast<std::size_t>(id) != choice;
        row[place] = static_cast<std::int64_t>(choice);
        continue;
      }
      if (id < 0) {
        result.is_close = true;  // The target's row of two tokens is drawn from.
        break;
      }
      const auto at = static_cast<std::size_t>(id);
      const double margin =
          log_mass(target, batch.vocabulary, 1, at) -
          log_mass(batch.draft_row(request, place), batch.vocabulary, temperature, at) -
          std::log(coin(batch.seeds[request], batch.positions[first + place]));
      result.is_close |= std::abs(margin) < 1e-4;
      stopped = margin <= 0;
      row[place] = id;
      if (stopped) row[place] = residual(batch, request, place, first + place);
    }
    if (place == drafts)
      row[place] =
          static_cast<std::int64_t>(highest(batch.target_row(first + place), batch.vocabulary));
    result.counts.push_back(static_cast<std::int32_t>(place + 1));
  }
  return result;
}

/// The four launches on one device, buffers by the names of the kernels' parameters.
class VllmLogits : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::is_fetched("vllm")) GTEST_SKIP() << "run tools/kernels/fetch.sh vllm";
  }

  template <class T>
  void in(const std::string& name, const std::vector<T>& values) {
    device_->write(add(name, values.size() * sizeof(T)), std::as_bytes(std::span(values)));
  }
  DevicePointer add(const std::string& name, std::size_t bytes) {
    const auto& buffer = buffers_.try_emplace(name, *device_, bytes, name).first->second;
    arguments_.insert_or_assign(name, Argument(buffer.pointer()));
    return buffer.pointer();
  }
  void number(const std::string& name, std::size_t value) {
    arguments_.insert_or_assign(name, Argument(static_cast<std::int32_t>(value)));
  }

  void launch(const std::string& variant, Dim3 grid) {
    const auto file = test::third_party_folder("vllm") / variant;
    const auto described = nlohmann::json::parse(test::text_of(file.string() + ".json"));
    std::string text = test::text_of(file.string() + ".ptx");
    if (variant == changed_) text = test::mutated(text, from_, to_, 1);
    const auto module = device_->load(text, variant + ".ptx");
    LaunchOptions options;
    options.grid = grid;
    options.schedule = schedule_;
    options.block.x = 32 * described["num_warps"].get<std::uint32_t>();
    options.dynamic_shared_bytes = described["shared"].get<std::uint32_t>();
    std::vector<Argument> arguments;
    for (const auto& parameter : described["parameters"]) {
      const auto found = arguments_.find(parameter["name"].get<std::string>());
      ASSERT_NE(found, arguments_.end()) << parameter;
      arguments.push_back(found->second);
    }
    while (arguments.size() < module->entries().front().parameters.size())
      arguments.emplace_back(std::uint64_t{0});
    const LaunchReport report =
        device_->launch(*module, described["entry"].get<std::string>(), options, arguments);
    for (const auto& one : report.observations) {
      if (one.severity == reference::Severity::kNote) continue;
      if (one.check == "race" && one.message.find("'num_sampled_ptr'") != std::string::npos) {
        ++insertion_races_;
        continue;
      }
      unsafe_ += variant + ": " + one.check + " at line " + std::to_string(one.place.ptx_line) +
                 " (" + one.place.source_file + ":" + std::to_string(one.place.source_line) +
                 "): " + one.message + "\n";
    }
  }

  void put(const Batch& batch, bool doubles) {
    const std::size_t blocks = (batch.vocabulary + 8191) / 8192;
    const std::size_t tiles = (batch.vocabulary + 1023) / 1024;
    in("target_logits_ptr", batch.target);
    in("draft_logits_ptr", batch.draft);
    in("draft_sampled_ptr", batch.proposed);
    in("cu_num_logits_ptr", batch.ends);
    in("idx_mapping_ptr", batch.request_ids);
    in("expanded_idx_mapping_ptr", batch.request_of);
    in("expanded_local_pos_ptr", batch.place_of);
    in("temp_ptr", batch.temperature);
    in("seed_ptr", batch.seeds);
    in("pos_ptr", batch.positions);
    number("target_logits_stride", batch.vocabulary);
    number("draft_logits_stride_0", batch.steps * batch.vocabulary);
    number("draft_logits_stride_1", batch.vocabulary);
    number("vocab_size", batch.vocabulary);
    number("num_speculative_steps", batch.steps);
    number("vocab_num_blocks", blocks);
    number("resample_num_blocks", tiles);
    number("sampled_stride", batch.steps + 1);
    add("sampled_ptr", 3 * (batch.steps + 1) * 8);
    arguments_.insert_or_assign("rejected_steps_ptr", Argument(add("num_sampled_ptr", 3 * 4)));
    arguments_.insert_or_assign("rejected_step_ptr", arguments_.at("num_sampled_ptr"));
    for (const std::string name : {"target_rejected_logsumexp", "draft_rejected_logsumexp"})
      add(name + "_ptr", 3 * 4);
    const auto table = [&](const std::string& name, std::size_t cells, std::size_t bytes,
                           std::size_t stride) {
      add(name + "_ptr", cells * stride * bytes);
      number(name + "_stride", stride);
    };
    table("target_local_argmax", batch.rows(), 8, blocks);
    for (const std::string name : {"target_local_max", "target_local_sumexp", "draft_local_max",
                                   "draft_local_sumexp", "local_residual_mass"})
      table(name, batch.rows(), 4, blocks);
    table("resampled_local_argmax", 3, 8, tiles);
    table("resampled_local_max", 3, doubles ? 8 : 4, tiles);
    for (const std::string name : {"contexts_stride", "watermark_key_0", "watermark_key_1"})
      number(name, 0);
  }

  Emitted run(const Batch& batch) {
    device_ = make_emulated_device();
    put(batch, false);
    const auto rows = static_cast<std::uint32_t>(batch.rows());
    const auto blocks = static_cast<std::uint32_t>((batch.vocabulary + 8191) / 8192);
    launch("v2_stats", {rows, blocks});
    launch("v2_rejection", {3});
    launch("v2_resample", {3, static_cast<std::uint32_t>((batch.vocabulary + 1023) / 1024)});
    launch("v2_insert", {3});
    Emitted result;
    result.tokens.resize(3 * (batch.steps + 1));
    result.counts.resize(3);
    buffers_.at("sampled_ptr").read(std::span(result.tokens), std::byte{0x7e});
    buffers_.at("num_sampled_ptr").read(std::span(result.counts));
    // What lies behind the tokens that count is not the caller's.
    for (std::size_t request = 0; request < 3; ++request)
      for (auto at = static_cast<std::size_t>(result.counts[request]); at <= batch.steps; ++at)
        result.tokens[request * (batch.steps + 1) + at] = kUnwrittenToken;
    buffers_.clear();
    arguments_.clear();
    return result;
  }

  void TearDown() override { buffers_.clear(); }

  std::string changed_, from_, to_;
  std::unique_ptr<Device> device_;
  std::map<std::string, Buffer> buffers_;
  std::map<std::string, Argument> arguments_;
  /// Warp 0 stores last; see InsertionDependsOnTheOrderOfItsWarps.
  reference::ScheduleKind schedule_ = reference::ScheduleKind::kLastWarpFirst;
  std::size_t insertion_races_ = 0;
  std::string unsafe_;  ///< whatever else is more than a note
};

TEST_F(VllmLogits, EqualThePlainRule) {
  std::size_t compared = 0, rejected = 0;
  for (const std::size_t vocabulary : {3, 20, 1000, 8200}) {
    const std::uint64_t rounds = vocabulary > 1000 ? 4 : 12;
    for (std::uint64_t seed = 1; seed <= rounds; ++seed) {
      Batch batch = random_batch(vocabulary, seed * 977 + vocabulary);
      if (seed % 3 == 0) batch.temperature = {0, 0.5f, 0};
      const Emitted expected = plain(batch);
      const Emitted seen = run(batch);
      EXPECT_EQ(unsafe_, "") << vocabulary << ' ' << seed;
      if (expected.is_close) continue;
      EXPECT_EQ(seen.counts, expected.counts) << vocabulary << ' ' << seed;
      EXPECT_EQ(seen.tokens, expected.tokens) << vocabulary << ' ' << seed;
      ++compared;
      rejected += expected.counts[0] < 3;
    }
  }
  EXPECT_GT(compared, 20u);
  EXPECT_GT(rejected, 8u);
}

TEST_F(VllmLogits, AnInvertedAcceptanceIsSeen) {
  changed_ = "v2_rejection", from_ = "setp.gt.f32 \t%p38,", to_ = "setp.leu.f32 \t%p38,";
  std::size_t different = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Batch batch = random_batch(20, seed);
    different += run(batch).tokens != plain(batch).tokens;
  }
  EXPECT_GT(different, 2u);
}

TEST_F(VllmLogits, InsertionDependsOnTheOrderOfItsWarps) {
  // What 0.32.0 does: every warp loads the count of accepted tokens, warp 0 stores it plus one, and
  // no barrier stands between. A warp that loads late looks at the next row's request; where that
  // one is greedy and the row is no bonus it leaves, and its maxima are missing from the reduction.
  Batch batch;
  Emitted expected{{}, {}, true};
  for (std::uint64_t seed = 1; expected.is_close; ++seed) {
    batch = random_batch(20, seed);
    batch.temperature = {0.5f, 0.5f, 0};
    expected = plain(batch);
  }
  const Emitted in_order = run(batch);
  EXPECT_GT(insertion_races_, 0u);
  EXPECT_EQ(unsafe_, "");
  EXPECT_EQ(in_order.tokens, expected.tokens);
  schedule_ = reference::ScheduleKind::kFirstWarpFirst;
  const Emitted late = run(batch);
  EXPECT_NE(late.tokens[3], expected.tokens[3]) << "the bonus of the request without a draft";
  EXPECT_THAT(unsafe_, testing::HasSubstr("v2_insert: uninitialised"));
}

}  // namespace
}  // namespace draftproof::gpu
