// One call: pack, upload, launch twice, read the outcomes and the inputs back. Buffers of the
// device are made afresh for every call, so that the emulator sees each of their bytes unwritten.
#include "gpu/verifiers.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gpu/kernels/status.cuh"
#include "gpu/packed_batch.h"
#include "reference/error.h"

namespace draftproof::gpu {
namespace {

using kernels::OutcomeRecord;
using kernels::RequestParameters;
using kernels::RowRecord;
using reference::Batch;
using reference::LogitFormat;

/// Kernels number statuses and reasons in lists of their own; what they write is read by value.
template <class Own, class Theirs>
constexpr bool same_number(Own own, Theirs theirs) {
  return static_cast<std::int64_t>(own) == static_cast<std::int64_t>(theirs);
}
static_assert(same_number(kernels::Status::kOk, reference::Status::kOk));
static_assert(same_number(kernels::Status::kNan, reference::Status::kNan));
static_assert(same_number(kernels::Status::kPositiveInfinity,
                          reference::Status::kPositiveInfinity));
static_assert(same_number(kernels::Status::kEmptyRow, reference::Status::kEmptyRow));
static_assert(same_number(kernels::Status::kRange, reference::Status::kRange));
static_assert(same_number(kernels::Status::kBadProbability, reference::Status::kBadProbability));
static_assert(same_number(kernels::Status::kDraftTokenRange, reference::Status::kDraftTokenRange));
static_assert(same_number(kernels::Status::kDraftMassZero, reference::Status::kDraftMassZero));
static_assert(same_number(kernels::Status::kMalformedTree, reference::Status::kMalformedTree));
static_assert(same_number(kernels::ReasonCode::kAccepted, reference::Reason::kAccepted));
static_assert(same_number(kernels::ReasonCode::kRecovered, reference::Reason::kRecovered));
static_assert(same_number(kernels::ReasonCode::kBonus, reference::Reason::kBonus));

/// What a byte reads as that the kernels should have written and did not.
constexpr std::byte kPoison{0xa5};

std::string_view suffix_of(LogitFormat format) {
  switch (format) {
    case LogitFormat::kFloat32:
      return "f32";
    case LogitFormat::kBfloat16:
      return "bf16";
    case LogitFormat::kFloat16:
      return "f16";
  }
  DRAFTPROOF_CHECK(false, "unknown format");
  return "";
}

/// A device buffer with the host's image of it. Where the device does not watch its memory, bytes
/// that mean nothing are poisoned, so that a kernel that reads them goes astray.
class Upload {
 public:
  Upload(Device& device, const BufferImage& image, std::string_view label)
      : device_(device), buffer_(device, image.bytes.size(), label) {
    if (image.bytes.empty()) return;
    if (!device.observes()) {
      const std::vector<std::byte> poison(image.bytes.size(), kPoison);
      device.write(buffer_.pointer(), poison);
    }
    for (const BufferImage::Range& range : image.used)
      device.write(buffer_.pointer() + range.begin,
                   std::span(image.bytes).subspan(range.begin, range.end - range.begin));
  }

  /// Null for an empty buffer.
  DevicePointer pointer() const { return buffer_.bytes() == 0 ? 0 : buffer_.pointer(); }

  /// What the ranges in use hold now. True when it is not what they held.
  bool read_back(const BufferImage& before, BufferImage& after) const {
    bool is_changed = false;
    after = before;
    for (const BufferImage::Range& range : before.used) {
      const auto bytes = std::span(after.bytes).subspan(range.begin, range.end - range.begin);
      device_.read(buffer_.pointer() + range.begin, bytes, kPoison);
      is_changed |= std::memcmp(bytes.data(), before.bytes.data() + range.begin, bytes.size()) != 0;
    }
    return is_changed;
  }

 private:
  Device& device_;
  Buffer buffer_;
};

/// The input buffers of one call.
struct Inputs {
  Inputs(Device& device, const PackedBatch& packed)
      : target_rows(device, packed.target_rows, "target_rows"),
        draft_rows(device, packed.draft_rows, "draft_rows"),
        draft_tokens(device, packed.draft_tokens, "draft_tokens"),
        parameters(device, packed.parameters, "requests"),
        coins(device, packed.coins, "coins") {}

  /// Writes into `batch` what the device did to its inputs.
  void write_back(const PackedBatch& packed, Batch& batch) const {
    PackedBatch after;
    bool is_changed = target_rows.read_back(packed.target_rows, after.target_rows);
    is_changed |= draft_rows.read_back(packed.draft_rows, after.draft_rows);
    is_changed |= draft_tokens.read_back(packed.draft_tokens, after.draft_tokens);
    is_changed |= parameters.read_back(packed.parameters, after.parameters);
    if (is_changed) unpack_changes(packed, after, batch);
  }

  Upload target_rows, draft_rows, draft_tokens, parameters, coins;
};

/// The records and output buffers of one call.
struct Outputs {
  Outputs(Device& device, std::size_t requests, std::size_t padded, bool has_draft_rows)
      : slots(padded + 1),
        target_records(device, requests * slots * sizeof(RowRecord), "target_records"),
        draft_records(device, has_draft_rows ? requests * padded * sizeof(RowRecord) : 0,
                      "draft_records"),
        tokens(device, requests * slots * sizeof(std::int32_t), "emitted_tokens"),
        reasons(device, requests * slots * sizeof(std::int32_t), "emitted_reasons"),
        outcomes(device, requests * sizeof(OutcomeRecord), "outcomes") {
    if (device.observes()) return;
    for (const Buffer* buffer : {&target_records, &draft_records, &tokens, &reasons, &outcomes})
      if (buffer->bytes() != 0)
        device.write(buffer->pointer(), std::vector<std::byte>(buffer->bytes(), kPoison));
  }

  std::size_t slots;
  Buffer target_records, draft_records, tokens, reasons, outcomes;
};

template <class T>
std::vector<T> read_all(const Buffer& buffer) {
  std::vector<T> values(buffer.bytes() / sizeof(T));
  buffer.read(std::span<T>(values), kPoison);
  return values;
}

/// A word that is no reason: equal to none, so that it never passes for a right one.
constexpr auto kNoReason = static_cast<reference::Reason>(0xff);

/// What the kernels wrote, word for word as far as an outcome can say it. A count beyond the slots
/// reads as every slot and one token more, which is no token; a token behind the count is read too.
std::vector<reference::RequestOutcome> unpack_outcomes(const Outputs& outputs) {
  const auto tokens = read_all<std::int32_t>(outputs.tokens);
  const auto reasons = read_all<std::int32_t>(outputs.reasons);
  const auto records = read_all<OutcomeRecord>(outputs.outcomes);
  std::vector<reference::RequestOutcome> list(records.size());
  for (std::size_t r = 0; r < records.size(); ++r) {
    const OutcomeRecord& record = records[r];
    reference::RequestOutcome& outcome = list[r];
    outcome.accepted_count = static_cast<int>(record.accepted_count);
    outcome.status = static_cast<reference::Status>(record.status);
    outcome.status_position = static_cast<int>(record.status_position);
    const std::size_t count = std::min<std::size_t>(record.emitted_count, outputs.slots);
    for (std::size_t i = r * outputs.slots; i < r * outputs.slots + count; ++i) {
      const bool is_known = reasons[i] >= 0 && reasons[i] <= 2;
      outcome.emitted.push_back(
          {tokens[i], is_known ? static_cast<reference::Reason>(reasons[i]) : kNoReason});
    }
    if (record.emitted_count > outputs.slots)
      outcome.emitted.push_back({kernels::kNoToken, kNoReason});
    // An engine that reads up to the first empty slot would take a token left behind the count.
    for (std::size_t i = r * outputs.slots + count; i < (r + 1) * outputs.slots; ++i)
      if (tokens[i] != kernels::kNoToken) outcome.emitted.push_back({tokens[i], kNoReason});
  }
  return list;
}

class KernelVerifier final : public reference::Verifier {
 public:
  KernelVerifier(Device& device, std::string_view rule, const PatchedText& text)
      : device_(device), is_greedy_(rule == "greedy") {
    traits_.name = text.name;
    traits_.rule = rule;
    traits_.statement = text.statement;
    // A GPU reports no race and takes no schedule: without this it would be upheld unwatched.
    traits_.is_watched = device.observes();
    traits_.block_threads = {32, 64, 96, 128, 256, 512, 1024};
    shaping_ = load(text, "shaping");
    rule_ = load(text, std::string(rule));
  }

  const reference::VerifierTraits& traits() const override { return traits_; }

  reference::Outcome verify(Batch& batch, const reference::Coins& coins,
                            const reference::Execution& execution) override {
    check_usable(batch);
    reference::Outcome outcome;
    if (batch.requests.empty()) return outcome;
    PackingRule rule;
    rule.reads_drafts = !is_greedy_;
    rule.is_greedy_always = is_greedy_;
    const PackedBatch packed = pack(batch, coins, execution, rule);
    const Inputs inputs(device_, packed);
    const Outputs outputs(device_, batch.requests.size(), packed.padded_draft_count,
                          packed.draft_kind != kernels::DraftLawKind::kOneHot);
    launch_shaping(batch, packed, inputs, outputs, execution, outcome);
    if (is_greedy_)
      launch_greedy(batch, packed, inputs, outputs, execution, outcome);
    else
      launch_chain(batch, packed, inputs, outputs, execution, outcome);
    outcome.requests = unpack_outcomes(outputs);
    inputs.write_back(packed, batch);
    return outcome;
  }

 private:
  std::unique_ptr<Module> load(const PatchedText& text, const std::string& module) {
    const auto found = text.modules.find(module);
    if (found == text.modules.end())
      throw Error(ErrorKind::kInput, "has no PTX text of module '" + module + "'", text.name);
    return device_.load(found->second, module + ".ptx");
  }

  void check_usable(const Batch& batch) const {
    try {
      validate(batch);
    } catch (const Error& error) {
      DRAFTPROOF_CHECK(false, error.what());
    }
    DRAFTPROOF_CHECK(batch.vocab_size <= traits_.vocab_size_max, std::to_string(batch.vocab_size));
    for (const reference::Request& request : batch.requests)
      for (std::size_t i = 0; i < request.proposal.parents.size(); ++i)
        DRAFTPROOF_CHECK(request.proposal.parents[i] == static_cast<int>(i) - 1, "not a chain");
  }

  /// The block that suits a row: a warp has something to do in it, and a long row many warps.
  std::uint32_t block_threads(const Batch& batch, const reference::Execution& execution) const {
    if (execution.block_threads != 0) {
      const auto& known = traits_.block_threads;
      if (std::find(known.begin(), known.end(), execution.block_threads) == known.end())
        throw Error(ErrorKind::kInput,
                    "block_threads " + std::to_string(execution.block_threads) +
                        ": the kernels take 32, 64, 96, 128, 256, 512 or 1024",
                    traits_.name);
      return static_cast<std::uint32_t>(execution.block_threads);
    }
    if (batch.vocab_size <= 1024) return 32;
    return batch.vocab_size <= 8192 ? 128 : 512;
  }

  /// A generous limit: 16 times what a launch is worth, so that a hang of a broken kernel ends.
  /// A sweep costs at most some 100 warp instructions per 32 elements, and there are at most 16.
  std::uint64_t instruction_limit(const Batch& batch, const LaunchOptions& options) const {
    const std::uint64_t per_block = batch.vocab_size * 64 + options.block.x / 32 * 16384;
    return std::max<std::uint64_t>(16 * per_block * options.grid.x, std::uint64_t{1} << 20);
  }

  void run(const Module& module, const std::string& entry, std::uint64_t grid, const Batch& batch,
           const reference::Execution& execution, std::span<const Argument> arguments,
           reference::Outcome& outcome) {
    LaunchOptions options;
    DRAFTPROOF_CHECK(grid <= 0x7fffffffu, "more rows than a grid has blocks");
    options.grid.x = static_cast<std::uint32_t>(grid);
    options.block.x = block_threads(batch, execution);
    options.schedule = execution.schedule;
    options.schedule_seed = execution.schedule_seed;
    options.warp_instruction_limit = instruction_limit(batch, options);
    LaunchReport report = device_.launch(module, entry, options, arguments);
    std::move(report.observations.begin(), report.observations.end(),
              std::back_inserter(outcome.observations));
    outcome.counts.launches += report.counts.launches;
    outcome.counts.warp_instructions += report.counts.warp_instructions;
    outcome.counts.thread_instructions += report.counts.thread_instructions;
  }

  void launch_shaping(const Batch& batch, const PackedBatch& packed, const Inputs& inputs,
                      const Outputs& outputs, const reference::Execution& execution,
                      reference::Outcome& outcome) {
    const std::uint64_t count = batch.requests.size();
    const bool has_draft_rows = packed.draft_kind != kernels::DraftLawKind::kOneHot;
    const std::uint64_t grid = count * (packed.padded_draft_count + 1) +
                               (has_draft_rows ? count * packed.padded_draft_count : 0);
    const Argument arguments[] = {
        Argument(inputs.target_rows.pointer()),
        Argument(packed.target_row_stride),
        Argument(inputs.draft_rows.pointer()),
        Argument(packed.draft_row_stride),
        Argument(inputs.draft_tokens.pointer()),
        Argument(inputs.parameters.pointer()),
        Argument(outputs.target_records.pointer()),
        Argument(outputs.draft_records.pointer()),
        Argument(packed.draft_kind),
        Argument(static_cast<std::uint32_t>(count)),
        Argument(packed.padded_draft_count),
        Argument(packed.vocab_size),
        Argument(packed.fraction_bits),
    };
    run(*shaping_, "draftproof_shape_rows_" + std::string(suffix_of(batch.format)), grid, batch,
        execution, arguments, outcome);
  }

  void launch_chain(const Batch& batch, const PackedBatch& packed, const Inputs& inputs,
                    const Outputs& outputs, const reference::Execution& execution,
                    reference::Outcome& outcome) {
    const Argument arguments[] = {
        Argument(inputs.target_rows.pointer()),
        Argument(packed.target_row_stride),
        Argument(inputs.draft_rows.pointer()),
        Argument(packed.draft_row_stride),
        Argument(inputs.draft_tokens.pointer()),
        Argument(inputs.parameters.pointer()),
        Argument(outputs.target_records.pointer()),
        Argument(outputs.draft_records.pointer()),
        Argument(inputs.coins.pointer()),
        Argument(packed.seed),
        Argument(outputs.tokens.pointer()),
        Argument(outputs.reasons.pointer()),
        Argument(outputs.outcomes.pointer()),
        Argument(packed.draft_kind),
        Argument(packed.padded_draft_count),
        Argument(packed.vocab_size),
        Argument(packed.fraction_bits),
    };
    run(*rule_, "draftproof_verify_chain_" + std::string(suffix_of(batch.format)),
        batch.requests.size(), batch, execution, arguments, outcome);
  }

  void launch_greedy(const Batch& batch, const PackedBatch& packed, const Inputs& inputs,
                     const Outputs& outputs, const reference::Execution& execution,
                     reference::Outcome& outcome) {
    const Argument arguments[] = {
        Argument(outputs.target_records.pointer()), Argument(inputs.draft_tokens.pointer()),
        Argument(inputs.parameters.pointer()),      Argument(outputs.tokens.pointer()),
        Argument(outputs.reasons.pointer()),        Argument(outputs.outcomes.pointer()),
        Argument(packed.padded_draft_count),        Argument(packed.vocab_size),
    };
    run(*rule_, "draftproof_verify_greedy", batch.requests.size(), batch, execution, arguments,
        outcome);
  }

  Device& device_;
  bool is_greedy_;
  reference::VerifierTraits traits_;
  std::unique_ptr<Module> shaping_;
  std::unique_ptr<Module> rule_;
};

}  // namespace

const std::vector<std::string>& kernel_rules() {
  static const std::vector<std::string> list{"chain", "greedy"};
  return list;
}

std::unique_ptr<reference::Verifier> make_kernel_verifier(Device& device, std::string_view rule,
                                                          std::optional<PatchedText> patched) {
  const std::vector<std::string>& rules = kernel_rules();
  if (std::find(rules.begin(), rules.end(), rule) == rules.end()) {
    std::string known;
    for (const std::string& each : rules) known += (known.empty() ? "" : ", ") + each;
    throw Error(ErrorKind::kInput,
                "there is no kernel for the rule '" + std::string(rule) + "'; known: " + known);
  }
  if (!patched) patched = PatchedText{"kernels", "our CUDA kernels as compiled", embedded_texts()};
  return std::make_unique<KernelVerifier>(device, rule, *patched);
}

}  // namespace draftproof::gpu
