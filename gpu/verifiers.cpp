// One call: pack, upload, launch twice, read the outcomes and the inputs back.
#include "gpu/verifiers.h"

#include <algorithm>
#include <utility>

#include "gpu/launches/shaping.h"
#include "gpu/launches/verify.h"
#include "gpu/packed_batch.h"
#include "gpu/verifier_buffers.h"
#include "reference/error.h"

namespace draftproof::gpu {
namespace {

using launches::VerifyRule;
using reference::Batch;

PackingRule packing_of(const VerifyRule& rule) {
  PackingRule packing;
  packing.reads_draft_rows = rule.reads_draft_rows;
  packing.takes_trees = rule.takes_trees;
  packing.is_greedy_always = rule.is_greedy;
  packing.coins = rule.coins;
  packing.coin_columns = launches::coin_columns(rule);
  packing.is_keyed_by_iteration = rule.is_keyed_by_iteration;
  return packing;
}

/// Throws Error(kInput) that lists the rules that have a kernel.
const VerifyRule& known_rule(std::string_view name) {
  if (const VerifyRule* rule = launches::verify_rule(name)) return *rule;
  std::string known;
  for (const VerifyRule& rule : launches::verify_rules())
    known += (known.empty() ? "" : ", ") + std::string(rule.name);
  throw Error(ErrorKind::kInput,
              "there is no kernel for the rule '" + std::string(name) + "'; known: " + known);
}

class KernelVerifier final : public reference::Verifier {
 public:
  KernelVerifier(Device& device, const VerifyRule& rule, const PatchedText& text)
      : rule_(rule), modules_(device, text.modules) {
    traits_.name = text.name;
    traits_.rule = rule.name;
    traits_.statement = text.statement;
    traits_.takes_trees = rule.takes_trees;
    // A GPU reports no race and takes no schedule: without this it would be upheld unwatched.
    traits_.is_watched = device.observes();
    traits_.block_threads = {32, 64, 96, 128, 256, 512, 1024};
    modules_.module("shaping");
    modules_.module(rule.module);
  }

  const reference::VerifierTraits& traits() const override { return traits_; }

  reference::Outcome verify(Batch& batch, const reference::Coins& coins,
                            const reference::Execution& execution) override {
    check_usable(batch);
    reference::Outcome outcome;
    if (batch.requests.empty()) return outcome;
    const PackedBatch packed = pack(batch, coins, execution, packing_of(rule_));
    const VerifierInputs inputs(modules_.device(), packed);
    const VerifierOutputs outputs(modules_.device(), packed, batch.requests.size(),
                                  rule_.takes_trees);
    draftproof_verify_arguments arguments{};
    inputs.fill(packed, arguments);
    outputs.fill(arguments);
    arguments.format = format_word(batch.format);
    arguments.request_count = static_cast<std::uint32_t>(batch.requests.size());
    arguments.block_threads = block_threads(execution);
    const draftproof_result sound = launches::check(rule_, arguments);
    DRAFTPROOF_CHECK(sound.code == DRAFTPROOF_OK, sound.text);
    const KernelLaunch rule_launch = launches::launch_of(rule_, arguments);
    shape_rows(arguments, rule_launch.block, execution, outcome);
    // Rules that read more than one row a request read at most all of them.
    const std::uint64_t rows =
        std::uint64_t{arguments.request_count} * (arguments.padded_draft_count + 1);
    run(rule_launch, rows, arguments.vocab_size, execution, outcome);
    outcome.requests = outputs.outcomes();
    inputs.write_back(packed, batch);
    return outcome;
  }

 private:
  void check_usable(const Batch& batch) const {
    try {
      validate(batch);
    } catch (const Error& error) {
      DRAFTPROOF_CHECK(false, error.what());
    }
    DRAFTPROOF_CHECK(batch.vocab_size <= traits_.vocab_size_max, std::to_string(batch.vocab_size));
    if (rule_.takes_trees) return;
    for (const reference::Request& request : batch.requests)
      for (std::size_t i = 0; i < request.proposal.parents.size(); ++i)
        DRAFTPROOF_CHECK(request.proposal.parents[i] == static_cast<int>(i) - 1, "not a chain");
  }

  std::uint32_t block_threads(const reference::Execution& execution) const {
    const auto& known = traits_.block_threads;
    if (execution.block_threads != 0 &&
        std::find(known.begin(), known.end(), execution.block_threads) == known.end())
      throw Error(ErrorKind::kInput,
                  "block_threads " + std::to_string(execution.block_threads) +
                      ": the kernels take 32, 64, 96, 128, 256, 512 or 1024",
                  traits_.name);
    return static_cast<std::uint32_t>(execution.block_threads);
  }

  /// A generous limit: 16 times what a launch is worth, so that a hang of a broken kernel ends.
  /// A sweep costs at most some 100 warp instructions per 32 elements, and there are at most 16 a
  /// row.
  static std::uint64_t instruction_limit(const KernelLaunch& launch, std::uint64_t rows,
                                         std::uint64_t vocab_size) {
    const std::uint64_t per_row = vocab_size * 64 + launch.block.x / 32 * 16384;
    return std::max<std::uint64_t>(16 * per_row * rows, std::uint64_t{1} << 20);
  }

  void run(const KernelLaunch& launch, std::uint64_t rows, std::uint64_t vocab_size,
           const reference::Execution& execution, reference::Outcome& outcome) {
    LaunchManner manner;
    manner.schedule = execution.schedule;
    manner.schedule_seed = execution.schedule_seed;
    manner.warp_instruction_limit = instruction_limit(launch, rows, vocab_size);
    LaunchReport report = modules_.launch(launch, manner);
    std::move(report.observations.begin(), report.observations.end(),
              std::back_inserter(outcome.observations));
    outcome.counts.launches += report.counts.launches;
    outcome.counts.warp_instructions += report.counts.warp_instructions;
    outcome.counts.thread_instructions += report.counts.thread_instructions;
  }

  /// The records of all rows. Of trees every row is shaped, of chains those before a placeholder.
  void shape_rows(const draftproof_verify_arguments& arguments, Dim3 block,
                  const reference::Execution& execution, reference::Outcome& outcome) {
    draftproof_shape_rows_arguments shaping = shaping_of(arguments);
    shaping.block_threads = block.x;
    const draftproof_result sound = launches::check(shaping);
    DRAFTPROOF_CHECK(sound.code == DRAFTPROOF_OK, sound.text);
    const KernelLaunch launch = launches::launch_of(shaping);
    run(launch, launch.grid.x, arguments.vocab_size, execution, outcome);
  }

  const VerifyRule& rule_;
  KernelModules modules_;
  reference::VerifierTraits traits_;
};

}  // namespace

const std::vector<std::string>& kernel_rules() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const VerifyRule& rule : launches::verify_rules()) list.emplace_back(rule.name);
    return list;
  }();
  return names;
}

std::string kernel_module(std::string_view rule) { return known_rule(rule).module; }

std::unique_ptr<reference::Verifier> make_kernel_verifier(Device& device, std::string_view rule,
                                                          std::optional<PatchedText> patched) {
  const VerifyRule& known = known_rule(rule);
  if (!patched) patched = PatchedText{"kernels", "our CUDA kernels as compiled", embedded_texts()};
  return std::make_unique<KernelVerifier>(device, known, *patched);
}

}  // namespace draftproof::gpu
