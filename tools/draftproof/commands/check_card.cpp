#include "tools/draftproof/commands/check_card.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>
#include <utility>

#include "oracle/replay.h"
#include "reference/error.h"
#include "tools/card_reader.h"
#include "tools/draftproof/commands/card_cases.h"
#include "tools/draftproof/commands/card_evidence.h"
#include "tools/draftproof/settings.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools {
namespace {

using reference::ScheduleKind;
using reference::Token;

gpu::Names dims_of(std::size_t requests, std::size_t drafts, std::size_t vocab_size) {
  return {{"B", static_cast<std::int64_t>(requests)},
          {"G", static_cast<std::int64_t>(drafts)},
          {"V", static_cast<std::int64_t>(vocab_size)}};
}

oracle::ReplayRule rule_of(const gpu::KernelCard& card, const gpu::Names& names) {
  oracle::ReplayRule rule;
  rule.accept = card.accept_rule == "coin * draft < target" ? oracle::AcceptRule::kLess
                                                            : oracle::AcceptRule::kLessOrEqual;
  rule.pick = card.pick_rule == "first cumulative > coin * total"
                  ? oracle::PickRule::kGreater
                  : oracle::PickRule::kGreaterOrEqual;
  rule.rounding = {card.rounding.threshold_depth->evaluate(names),
                   card.rounding.cumulative_depth->evaluate(names),
                   card.rounding.flushes_subnormals};
  rule.order.clear();
  for (const std::string& step : card.rng_order)
    rule.order.push_back(step == "accept"    ? oracle::DrawStep::kAccept
                         : step == "recount" ? oracle::DrawStep::kRecount
                                             : oracle::DrawStep::kFinal);
  rule.pad = static_cast<Token>(card.pad);
  return rule;
}

std::size_t tile_of(const gpu::CardKernel& kernel, std::size_t vocab_size) {
  if (!kernel.card().tile) return vocab_size;
  return static_cast<std::size_t>(
      kernel.card().tile->evaluate(kernel.names(dims_of(1, 1, vocab_size))));
}

/// The tile sizes that occur among small vocabularies, ascending.
std::vector<std::size_t> tiles_of(const gpu::CardKernel& kernel) {
  std::set<std::size_t> tiles;
  for (std::size_t vocab_size = 1; vocab_size <= 16; ++vocab_size)
    tiles.insert(tile_of(kernel, vocab_size));
  return {tiles.begin(), tiles.end()};
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

/// Counters start at values of their own, so that a store in place of an addition shows.
std::vector<std::int32_t> counter_start(std::size_t count, std::int32_t first) {
  std::vector<std::int32_t> start(count);
  for (std::size_t i = 0; i < count; ++i) start[i] = first + static_cast<std::int32_t>(17 * i);
  return start;
}

constexpr std::int32_t kAcceptStart = 1000;
constexpr std::int32_t kEmitStart = 5000;

gpu::CardInputs inputs_of(const CardCase& made) {
  gpu::CardInputs inputs;
  const CardCaseSpec& spec = made.spec;
  inputs.dims = dims_of(spec.request_count, spec.draft_count, spec.vocab_size);
  inputs.buffers["draft_probs"] = bytes_of(made.draft_rows);
  inputs.buffers["target_probs"] = bytes_of(made.target_rows);
  inputs.buffers["draft_ids"] = bytes_of(made.draft);
  inputs.buffers["out.accept_count"] = bytes_of(counter_start(spec.request_count, kAcceptStart));
  inputs.buffers["out.emit_count"] = bytes_of(counter_start(spec.request_count, kEmitStart));
  inputs.scalars["rng.seed"] = made.seed;
  inputs.scalars["rng.offset"] = made.offset;
  return inputs;
}

std::vector<std::int32_t> integers(const gpu::CardRun& run, const gpu::KernelCard& card,
                                   const std::string& role, std::size_t count) {
  const auto found = run.outputs.find(role);
  if (found == run.outputs.end() || found->second.size() != count * sizeof(std::int32_t))
    throw Error(ErrorKind::kInput,
                "no output i32* of role '" + role + "' with " + std::to_string(count) + " elements",
                card.place);
  std::vector<std::int32_t> values(count);
  std::memcpy(values.data(), found->second.data(), found->second.size());
  return values;
}

std::vector<CardAnswer> answers_of(const gpu::CardRun& run, const gpu::KernelCard& card,
                                   const CardCaseSpec& spec) {
  const std::size_t width = spec.draft_count + 1;
  const auto tokens = integers(run, card, "out.tokens", spec.request_count * width);
  const auto accepts = integers(run, card, "out.accept_count", spec.request_count);
  const auto emits = integers(run, card, "out.emit_count", spec.request_count);
  const auto accept_start = counter_start(spec.request_count, kAcceptStart);
  const auto emit_start = counter_start(spec.request_count, kEmitStart);
  std::vector<CardAnswer> answers(spec.request_count);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto row = tokens.begin() + static_cast<std::ptrdiff_t>(i * width);
    answers[i].tokens.assign(row, row + static_cast<std::ptrdiff_t>(width));
    answers[i].accept_count = std::int64_t{accepts[i]} - accept_start[i];
    answers[i].emit_count = std::int64_t{emits[i]} - emit_start[i];
  }
  return answers;
}

struct NamedSchedule {
  gpu::CardOptions options;
  const char* name;
};

/// The schedules of a case: a seeded one, judged; the others must agree with it.
std::vector<NamedSchedule> schedules_of(std::uint64_t number) {
  return {{{ScheduleKind::kRandom, 2 * number + 1}, "random"},
          {{ScheduleKind::kFirstWarpFirst, 1}, "first-warp-first"},
          {{ScheduleKind::kLastWarpFirst, 1}, "last-warp-first"},
          {{ScheduleKind::kRandom, 2 * number + 2}, "another random"}};
}

void run_case(const CardCheck& settings, const gpu::CardKernel& kernel, const CardCaseSpec& spec,
              CardEvidence& evidence) {
  const gpu::Names names =
      kernel.names(dims_of(spec.request_count, spec.draft_count, spec.vocab_size));
  const oracle::ReplayRule rule = rule_of(kernel.card(), names);
  const CardCase made = make_card_case(spec, rule, tile_of(kernel, spec.vocab_size), settings.seed);
  const gpu::CardInputs inputs = inputs_of(made);
  std::vector<CardAnswer> first;
  for (const NamedSchedule& schedule : schedules_of(spec.number)) {
    const gpu::CardRun run = kernel.run(inputs, schedule.options);
    evidence.observe(made, run);
    std::vector<CardAnswer> answers = answers_of(run, kernel.card(), spec);
    if (first.empty()) {
      evidence.judge(made, rule, answers);
      first = std::move(answers);
    } else {
      evidence.compare(made, first, answers, schedule.name);
    }
    if (settings.stopped()) return;
  }
}

/// Cases are numbered within a battery, so the battery belongs to what repeats them.
std::string replay_command(const CardCheck& settings) {
  return "draftproof check --kernel " + settings.card + " --battery " +
         to_string(settings.battery) + " --seed " + std::to_string(settings.seed);
}

}  // namespace

gpu::CardKernel load_card(gpu::Device& device, const std::string& file,
                          const std::string& third_party) {
  gpu::KernelCard card = read_card(file);
  const std::filesystem::path folder =
      std::filesystem::path(third_party_folder(card, third_party)) / card.build.name;
  std::vector<std::pair<std::string, std::string>> texts;
  for (const gpu::CardStage& stage : card.stages) {
    const std::string path = (folder / stage.ptx).string();
    texts.emplace_back(path, store::read_file(path));
  }
  return {device, std::move(card), texts};
}

std::vector<oracle::Verdict> check_card(const CardCheck& settings) {
  DRAFTPROOF_CHECK(settings.device != nullptr);
  const auto start = std::chrono::steady_clock::now();
  const gpu::CardKernel kernel = load_card(*settings.device, settings.card, settings.third_party);
  std::vector<CardCaseSpec> plan = card_case_plan(settings.battery, tiles_of(kernel));
  std::erase_if(plan, [&](const CardCaseSpec& spec) {
    return !kernel.admits(dims_of(spec.request_count, spec.draft_count, spec.vocab_size));
  });
  if (plan.empty())
    throw Error(ErrorKind::kInput, "the constraints admit no case", kernel.card().place);
  CardEvidence evidence(kernel.card(), replay_command(settings));
  std::uint64_t done = 0;
  for (const CardCaseSpec& spec : plan) {
    if (settings.stopped()) break;
    run_case(settings, kernel, spec, evidence);
    settings.progress(++done, plan.size());
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const bool is_complete = done == plan.size() && !settings.stopped();
  return evidence.verdicts(is_complete, settings.device->observes(), seconds.count());
}

}  // namespace draftproof::tools
