// One call: pack, upload, launch once, read the outcomes, the KV plans and the inputs back.
#include "gpu/fused_verifier.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "gpu/launches/acceptance.h"
#include "gpu/launches/shaping.h"
#include "gpu/verifier_buffers.h"
#include "reference/error.h"

namespace draftproof::gpu {
namespace {

using reference::Batch;

void require_sound(const draftproof_result& result) {
  DRAFTPROOF_CHECK(result.code == DRAFTPROOF_OK, result.text);
}

/// Takes over what the two families of launches have in common.
draftproof_acceptance_arguments acceptance_of(const draftproof_verify_arguments& from) {
  draftproof_acceptance_arguments to{};
  to.target_rows = from.target_rows;
  to.target_row_stride = from.target_row_stride;
  to.draft_rows = from.draft_rows;
  to.draft_row_stride = from.draft_row_stride;
  to.draft_tokens = from.draft_tokens;
  to.requests = from.requests;
  to.coins = from.coins;
  to.seed = from.seed;
  to.emitted_tokens = from.emitted_tokens;
  to.emitted_reasons = from.emitted_reasons;
  to.outcomes = from.outcomes;
  to.padded_draft_count = from.padded_draft_count;
  to.vocab_size = from.vocab_size;
  to.format = from.format;
  to.draft_kind = from.draft_kind;
  to.request_capacity = from.request_count;
  to.block_threads = from.block_threads;
  return to;
}

/// One of many divisions, the same for equal seeds: teams of 1 to 5 blocks, few or many of them,
/// rows staged or not, one or more rows of a request ahead.
FusedDivision division_of_seed(std::uint64_t seed) {
  // The finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
  std::uint64_t mixed = seed + 0x9e3779b97f4a7c15;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  mixed ^= mixed >> 31;
  FusedDivision division;
  division.team_size = 1 + static_cast<std::uint32_t>(mixed % 5);
  division.block_capacity = division.team_size * (1 + static_cast<std::uint32_t>(mixed / 8 % 8)) +
                            static_cast<std::uint32_t>(mixed / 64 % division.team_size);
  if (mixed / 4096 % 4 == 0) division.shared_bytes_max = 0;
  division.rows_ahead = 1 + static_cast<std::uint32_t>(mixed / 65536 % 4);
  return division;
}

}  // namespace

const std::vector<std::string>& fused_rules() {
  static const std::vector<std::string> list{"chain", "greedy"};
  return list;
}

FusedVerifier::FusedVerifier(Device& device, std::string_view rule,
                             std::optional<FusedDivision> division,
                             std::optional<PatchedText> patched)
    : modules_(device, patched ? patched->modules : embedded_texts()),
      is_greedy_(rule == "greedy"),
      division_(division) {
  const auto& rules = fused_rules();
  if (std::find(rules.begin(), rules.end(), rule) == rules.end())
    throw Error(ErrorKind::kInput,
                "fused acceptance has no rule '" + std::string(rule) + "'; known: chain, greedy");
  traits_.name = patched ? patched->name : "fused";
  traits_.rule = rule;
  traits_.statement =
      patched ? patched->statement : "our fused acceptance: logits in, tokens out, one launch";
  traits_.is_watched = device.observes();
  traits_.block_threads = {32, 64, 96, 128, 256, 512, 1024};
  modules_.module("chain_fused");
}

FusedDivision FusedVerifier::division_for(const reference::Execution& execution) const {
  return division_ ? *division_ : division_of_seed(execution.schedule_seed);
}

draftproof_acceptance_arguments FusedVerifier::divided(draftproof_acceptance_arguments arguments,
                                                       const FusedDivision& division) const {
  launches::AcceptanceRoom room;
  room.block_capacity = division.block_capacity;
  room.block_threads = arguments.block_threads;
  room.shared_bytes_max = division.shared_bytes_max;
  require_sound(launches::divide(arguments, room));
  if (division.team_size != 0) {
    arguments.team_size = division.team_size;
    const std::uint64_t rows =
        std::uint64_t{arguments.request_capacity} * (arguments.padded_draft_count + 1);
    const std::uint64_t teams =
        std::min<std::uint64_t>(rows, division.block_capacity / division.team_size);
    arguments.block_count = static_cast<std::uint32_t>(teams * division.team_size);
    const std::uint64_t staged = launches::staged_bytes(arguments);
    arguments.shared_bytes =
        staged <= division.shared_bytes_max ? static_cast<std::uint32_t>(staged) : 0;
  }
  if (division.rows_ahead != 0) arguments.rows_ahead = division.rows_ahead;
  return arguments;
}

/// The buffers that fused acceptance has beside those of every rule.
struct FusedVerifier::Extras {
  Extras(Device& device, const Batch& batch, std::uint64_t workspace_bytes)
      : lengths(device, batch.requests.size() * sizeof(std::uint32_t), "kv_lengths"),
        plans(device, batch.requests.size() * sizeof(draftproof_kv_plan), "kv_plans"),
        workspace(device, workspace_bytes, "workspace") {
    std::vector<std::uint32_t> positions;
    for (const reference::Request& request : batch.requests) positions.push_back(request.position);
    lengths.write(std::span<const std::uint32_t>(positions));
    const std::vector<std::byte> zeros(workspace_bytes);
    workspace.write(std::span<const std::byte>(zeros));
  }

  void fill(draftproof_acceptance_arguments& arguments) const {
    arguments.kv_lengths = lengths.pointer();
    arguments.kv_plans = plans.pointer();
    arguments.workspace = workspace.pointer();
    arguments.workspace_bytes = workspace.bytes();
  }

  Buffer lengths, plans, workspace;
};

void FusedVerifier::run(const KernelLaunch& launch, std::uint64_t elements,
                        const reference::Execution& execution, reference::Outcome& outcome) {
  LaunchManner manner;
  manner.schedule = execution.schedule;
  manner.schedule_seed = execution.schedule_seed;
  // Generous, so that a hang of a broken kernel ends: sweeps cost at most some 100 warp
  // instructions per 32 elements, and there are at most 16; waiting for others costs the rest.
  manner.warp_instruction_limit = (std::uint64_t{1} << 25) + 1024 * elements;
  report_ = modules_.launch(launch, manner);
  outcome.observations.insert(outcome.observations.end(), report_.observations.begin(),
                              report_.observations.end());
  outcome.counts.launches += report_.counts.launches;
  outcome.counts.warp_instructions += report_.counts.warp_instructions;
  outcome.counts.thread_instructions += report_.counts.thread_instructions;
}

reference::Outcome FusedVerifier::verify(Batch& batch, const reference::Coins& coins,
                                         const reference::Execution& execution) {
  try {
    validate(batch);
  } catch (const Error& error) {
    DRAFTPROOF_CHECK(false, error.what());
  }
  reference::Outcome outcome;
  kv_plans_.clear();
  if (batch.requests.empty()) return outcome;
  Device& device = modules_.device();
  PackingRule packing;
  packing.reads_draft_rows = !is_greedy_;
  packing.is_greedy_always = is_greedy_;
  if (is_greedy_) packing.coins = 0;
  const PackedBatch packed = pack(batch, coins, execution, packing);
  const VerifierInputs inputs(device, packed);
  const VerifierOutputs outputs(device, packed, batch.requests.size(), false);
  draftproof_verify_arguments verify{};
  inputs.fill(packed, verify);
  outputs.fill(verify);
  verify.format = format_word(batch.format);
  verify.request_count = static_cast<std::uint32_t>(batch.requests.size());
  verify.block_threads =
      execution.block_threads != 0 ? static_cast<std::uint32_t>(execution.block_threads) : 128;

  const FusedDivision division = division_for(execution);
  draftproof_acceptance_arguments arguments = acceptance_of(verify);
  if (division.has_draft_records) arguments.draft_records = verify.draft_records;
  arguments = divided(arguments, division);
  const Extras extras(device, batch, launches::acceptance_workspace(arguments));
  extras.fill(arguments);
  require_sound(launches::check(arguments));

  const std::uint64_t elements = std::uint64_t{arguments.request_capacity} *
                                 (arguments.padded_draft_count + 1) * arguments.vocab_size;
  if (arguments.draft_records != 0) {
    const draftproof_shape_rows_arguments shaping = shaping_of(verify);
    require_sound(launches::check(shaping));
    run(launches::launch_of(shaping), elements, execution, outcome);
  }
  run(launches::launch_of(arguments), elements, execution, outcome);
  outcome.requests = outputs.outcomes();
  kv_plans_.resize(batch.requests.size());
  extras.plans.read(std::span(kv_plans_), std::byte{0xa5});
  inputs.write_back(packed, batch);
  return outcome;
}

}  // namespace draftproof::gpu
