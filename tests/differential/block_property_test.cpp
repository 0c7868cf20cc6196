// Goal: the block rule decides on the emulated device what the reference decides, bit for bit, and
// so has its law, which reference/law/block_coin_law counts to be within
// block_sequence_bound of the target. Method: random batches, and on small language models every
// decision of every draft at the coins on both sides of its edge, at 0 and at the largest coin.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <random>

#include "gpu/emulated_device.h"
#include "gpu/verifiers.h"
#include "reference/verify/block.h"
#include "reference/verify/rows.h"
#include "tests/differential/parity.h"

namespace draftproof::tests {
namespace {

namespace verify = reference::verify;
using reference::MassRow;
using reference::Purpose;
using reference::Request;

constexpr std::uint64_t kCoinMax = ~std::uint64_t{0};

class BlockParity : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
    device_ = gpu::make_emulated_device();
  }
  std::unique_ptr<gpu::Device> device_;
};

TEST_F(BlockParity, HoldsOnSmallVocabularies) {
  expect_parity(*device_, "block", 41, 250, {1, 64, 6, 5});
}

/// More prefixes than ratios are kept at a time.
TEST_F(BlockParity, HoldsOnDraftsOfHundreds) {
  expect_parity(*device_, "block", 42, 10, {1, 6, 2, 250});
}

/// The first token is impossible, so that prefixes are tried down to the empty one; of 128 and 256
/// tokens it is the only one left when the ratios are carried again.
TEST_F(BlockParity, HoldsWhereNothingIsKeptOfADraftOfExactlyAsManyTokensAsRatiosAreKept) {
  const auto subject = gpu::make_kernel_verifier(*device_, "block");
  const auto reference = verify::make_verifier("block");
  for (const std::size_t draft : {127, 128, 129, 256}) {
    reference::Batch batch;
    batch.vocab_size = 2;
    batch.preset = reference::preset("default");
    batch.draft_kind = reference::RowKind::kOneHot;
    Request request;
    request.proposal.tokens.assign(draft, 0);
    request.target_rows.assign(draft + 1, {0.0f, 1.0f});
    request.target_rows[0][0] = -std::numeric_limits<float>::infinity();
    batch.requests.push_back(request);
    const RandomCase input{batch, std::make_unique<reference::ScriptedCoins>(7), {}};
    const auto found = disparity(*subject, *reference, input);
    EXPECT_FALSE(found) << draft << " tokens: " << *found;
  }
}

TEST_F(BlockParity, HoldsOnVocabulariesOfSeveralSegments) {
  expect_parity(*device_, "block", 43, 40, {65, 4096, 2, 4});
}

TEST_F(BlockParity, HoldsOnALargeVocabulary) {
  expect_parity(*device_, "block", 44, 2, {131073, 131073, 1, 3});
}

/// The least coin at which a decision is another one than at 0, if there is one. Precondition:
/// there is one such edge at most.
std::uint64_t edge_of(const std::function<int(std::uint64_t)>& decide, int before) {
  std::uint64_t low = 0, high = kCoinMax;  // decide(low) <= before
  if (decide(high) <= before) return kCoinMax;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (decide(middle) <= before ? low : high) = middle;
  }
  return high;
}

/// A batch of copies of one request, each under coins of its own.
struct Probes {
  reference::Batch batch;
  reference::ScriptedCoins coins{kCoinMax};

  /// The coin of one decision; all longer prefixes are refused as far as coins can do that.
  void add(Request request, std::uint32_t offset, Purpose purpose, std::uint64_t coin,
           std::uint32_t kept) {
    request.id = static_cast<std::uint32_t>(batch.requests.size());
    const auto address = [&](std::uint32_t i, Purpose of) {
      return reference::CoinAddress{request.id, request.position + i, of, 0, request.iteration};
    };
    if (kept > 0) coins.set(address(kept - 1, Purpose::kAccept), 0);
    coins.set(address(offset, purpose), coin);
    batch.requests.push_back(std::move(request));
  }

  void add_around(const Request& request, std::uint32_t offset, Purpose purpose, std::uint64_t edge,
                  std::uint32_t kept) {
    for (const std::uint64_t coin : {std::uint64_t{0}, edge == 0 ? 0 : edge - 1, edge, kCoinMax})
      add(request, offset, purpose, coin, kept);
  }
};

/// The rows of one draft as masses, and the ratios of its prefixes.
struct Block {
  Block(const reference::Batch& batch, const Request& request) {
    for (std::size_t i = 0; i < request.target_rows.size(); ++i) {
      target.push_back(verify::target_law(batch, request, i));
      if (i == request.proposal.tokens.size()) break;
      draft.push_back(verify::draft_law(batch, request, i));
      is_sound = is_sound && draft[i].mass[request.proposal.tokens[i]] > 0;
      if (!is_sound) return;
      ratio.push_back(verify::carried(ratio[i], target[i], draft[i], request.proposal.tokens[i]));
    }
  }
  std::vector<MassRow> target, draft;
  std::vector<verify::PrefixRatio> ratio{verify::kWholeRatio};
  bool is_sound = true;
};

/// Every decision that the request's coins can make.
void probe(const Request& request, Probes& probes) {
  const Block block(probes.batch, request);
  if (!block.is_sound) return;
  const auto length = static_cast<std::uint32_t>(block.draft.size());
  for (std::uint32_t i = 0; i <= length; ++i) {
    const auto decides = [&](std::uint64_t coin) {
      const bool is_kept =
          i == length ? verify::keeps_whole(coin, block.ratio[i])
                      : verify::is_candidate(coin, block.ratio[i], block.target[i], block.draft[i]);
      return is_kept ? 0 : 1;
    };
    if (i > 0) probes.add_around(request, i - 1, Purpose::kAccept, edge_of(decides, 0), 0);
    const auto weights =
        i < length
            ? verify::block_residual(block.ratio[i], block.target[i], block.draft[i])
            : std::vector<verify::Wide>(block.target[i].mass.begin(), block.target[i].mass.end());
    verify::Wide sum;
    for (const verify::Wide& weight : weights) sum += weight;
    if (sum == verify::Wide()) continue;
    const Purpose purpose = i == length ? Purpose::kBonus : Purpose::kRecovered;
    const auto draws = [&](std::uint64_t coin) { return verify::draw(coin, weights); };
    for (int v = 0; v + 1 < static_cast<int>(weights.size()); ++v)
      probes.add_around(request, i, purpose, edge_of(draws, v), i);
  }
}

/// A request of `draft` tokens, each of every id, over random rows.
void probe_all(reference::Batch batch, std::size_t draft, std::mt19937_64& random, Probes& probes) {
  const auto value = [&] { return static_cast<float>(random() >> 40) * 0x1p-21f - 4; };
  const auto row = [&](reference::RowKind kind) {
    reference::Row values(batch.vocab_size);
    for (float& each : values)
      each = reference::rounded_to(batch.format, random() % 5 == 0 ? -30.0f : value());
    if (kind == reference::RowKind::kProbabilities)
      for (float& each : values) each = static_cast<float>(random() % 9) / 16;
    return values;
  };
  Request request;
  request.position = static_cast<std::uint32_t>(random() % 1000);
  request.iteration = static_cast<std::uint32_t>(random() % (1u << 24));
  request.sampling.temperature = random() % 2 == 0 ? 1 : 0.7;
  request.proposal.tokens.assign(draft, 0);
  for (std::size_t i = 0; i <= draft; ++i)
    request.target_rows.push_back(row(reference::RowKind::kLogits));
  for (std::size_t i = 0; i < draft && batch.draft_kind != reference::RowKind::kOneHot; ++i)
    request.proposal.rows.push_back(row(batch.draft_kind));
  probes.batch = batch;
  const auto vocab = static_cast<reference::Token>(batch.vocab_size);
  for (std::size_t i = 0; i < draft;) {
    probe(request, probes);
    for (i = 0; i < draft && ++request.proposal.tokens[i] == vocab; ++i)
      request.proposal.tokens[i] = 0;
  }
}

TEST_F(BlockParity, HoldsAtBothSidesOfEveryEdgeOfEveryDecision) {
  const auto subject = gpu::make_kernel_verifier(*device_, "block");
  const auto reference = verify::make_verifier("block");
  std::mt19937_64 random(45);
  std::size_t count = 0;
  for (const auto kind : {reference::RowKind::kLogits, reference::RowKind::kProbabilities,
                          reference::RowKind::kOneHot})
    for (std::size_t draft = 1; draft <= 3; ++draft)
      for (int round = 0; round < 2; ++round) {
        reference::Batch batch;
        batch.vocab_size = 2 + random() % 2;
        batch.preset = reference::preset("default");
        batch.draft_kind = kind;
        Probes probes;
        probe_all(batch, draft, random, probes);
        const RandomCase input{
            probes.batch, std::make_unique<reference::ScriptedCoins>(probes.coins), {}};
        const auto found = disparity(*subject, *reference, input);
        ASSERT_FALSE(found) << *found;
        count += probes.batch.requests.size();
      }
  EXPECT_GE(count, 2000u);
}

}  // namespace
}  // namespace draftproof::tests
