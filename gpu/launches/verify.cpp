#include "gpu/launches/verify.h"

#include <array>

#include "gpu/kernels/layout.h"
#include "gpu/launches/checks.h"
#include "gpu/launches/row_launch.h"

namespace draftproof::gpu::launches {
namespace {

constexpr std::uint32_t kVocabSizeMax = 1u << 20;
constexpr std::uint32_t kRequestCountMax = 0x7fffffffu;

constexpr std::uint32_t bit(kernels::CoinColumn column) { return 1u << column; }
constexpr std::uint32_t kChainCoins =
    bit(kernels::kAcceptColumn) | bit(kernels::kRecoveredColumn) | bit(kernels::kBonusColumn);

/// Siblings that siblings.cu has room for in shared memory.
constexpr std::uint32_t kSiblingsMax = 512;

constexpr VerifyRule kRules[] = {
    {.name = "chain",
     .module = "chain",
     .entries = DRAFTPROOF_BY_FORMAT("draftproof_verify_chain"),
     .reads_target_rows = true,
     .reads_draft_rows = true,
     .coins = kChainCoins},
    {.name = "block",
     .module = "block",
     .entries = DRAFTPROOF_BY_FORMAT("draftproof_verify_block"),
     .reads_target_rows = true,
     .reads_draft_rows = true,
     .coins = kChainCoins,
     .is_keyed_by_iteration = true},
    {.name = "greedy",
     .module = "greedy",
     .entries = {"draftproof_verify_greedy", "draftproof_verify_greedy",
                 "draftproof_verify_greedy"},
     .is_greedy = true},
    {.name = "tree-greedy",
     .module = "tree_greedy",
     .entries = {"draftproof_verify_tree_greedy", "draftproof_verify_tree_greedy",
                 "draftproof_verify_tree_greedy"},
     .takes_trees = true,
     .is_greedy = true},
    {.name = "target-only",
     .module = "target_only",
     .entries = DRAFTPROOF_BY_FORMAT("draftproof_verify_target_only"),
     .takes_trees = true,
     .reads_target_rows = true,
     .coins = bit(kernels::kBonusColumn) | bit(kernels::kTreeLevelColumn) |
              bit(kernels::kTreeSecondColumn)},
    {.name = "with-replacement",
     .module = "siblings",
     .entries = DRAFTPROOF_BY_FORMAT("draftproof_verify_with_replacement"),
     .takes_trees = true,
     .reads_target_rows = true,
     .reads_draft_rows = true,
     .coins = kChainCoins,
     .draft_count_max = kSiblingsMax},
    {.name = "without-replacement",
     .module = "siblings",
     .entries = DRAFTPROOF_BY_FORMAT("draftproof_verify_without_replacement"),
     .takes_trees = true,
     .reads_target_rows = true,
     .reads_draft_rows = true,
     .coins = kChainCoins,
     .draft_count_max = kSiblingsMax},
    {.name = "match",
     .module = "match",
     .entries = DRAFTPROOF_BY_FORMAT("draftproof_verify_match"),
     .takes_trees = true,
     .reads_target_rows = true,
     .coins = bit(kernels::kBonusColumn)},
};

/// One buffer of a launch, as it is held against its contract.
struct Field {
  const char* is_null;  ///< what to say when it is; null when it may be
  const char* is_misaligned;
  draftproof_pointer pointer;
  std::uint64_t alignment;
  std::uint64_t elements;
  std::uint64_t element_bytes;
  bool is_written;
};

draftproof_result out_of_range(const char* text) { return {DRAFTPROOF_OUT_OF_RANGE, text}; }

draftproof_result check_sizes(const VerifyRule& rule, const draftproof_verify_arguments& a) {
  if (a.request_count == 0 || a.request_count > kRequestCountMax)
    return out_of_range("request_count must be 1 .. 2^31 - 1; launch nothing for no requests");
  if (a.padded_draft_count > rule.draft_count_max)
    return out_of_range(
        "padded_draft_count must be at most 65536, and 512 for siblings; draft fewer tokens");
  if (a.vocab_size == 0 || a.vocab_size > kVocabSizeMax)
    return out_of_range("vocab_size must be 1 .. 2^20");
  if (a.block_threads % 32 != 0 || a.block_threads > 1024)
    return out_of_range("block_threads must be a multiple of 32 up to 1024, or 0");
  if (a.format > DRAFTPROOF_FLOAT16)
    return out_of_range("format must be one of enum draftproof_logit_format");
  if (a.draft_kind > static_cast<std::uint32_t>(kernels::DraftLawKind::kOneHot))
    return out_of_range("draft_kind must be 0 (logits), 1 (probabilities) or 2 (one-hot)");
  if (rule.reads_target_rows && a.target_row_stride < a.vocab_size)
    return out_of_range("target_row_stride must be at least vocab_size");
  const bool has_draft_rows =
      rule.reads_draft_rows &&
      a.draft_kind != static_cast<std::uint32_t>(kernels::DraftLawKind::kOneHot);
  if (has_draft_rows && a.padded_draft_count != 0 && a.draft_row_stride < a.vocab_size)
    return out_of_range("draft_row_stride must be at least vocab_size");
  return kGood;
}

std::uint64_t element_bytes(const draftproof_verify_arguments& a) {
  return a.format == DRAFTPROOF_FLOAT32 ? 4 : 2;
}

/// The buffers that `rule` touches.
struct Fields {
  std::array<Field, 12> list;
  std::size_t count = 0;
  bool is_too_large = false;

  void add(const Field& field) {
    if (field.elements != 0) list[count++] = field;
  }

  Fields(const VerifyRule& rule, const draftproof_verify_arguments& a) {
    const std::uint64_t target_slots =
        std::uint64_t{a.request_count} * (std::uint64_t{a.padded_draft_count} + 1);
    const std::uint64_t draft_slots = std::uint64_t{a.request_count} * a.padded_draft_count;
    add({"requests is null", "requests must be aligned to 8", a.requests, 8, a.request_count,
         sizeof(draftproof_request), false});
    add({"target_records is null: shape the rows first", "target_records must be aligned to 8",
         a.target_records, 8, target_slots, sizeof(draftproof_row_record), false});
    add({"draft_tokens is null", "draft_tokens must be aligned to 4", a.draft_tokens, 4,
         draft_slots, 4, false});
    add({"emitted_tokens is null", "emitted_tokens must be aligned to 4", a.emitted_tokens, 4,
         target_slots, 4, true});
    add({"emitted_reasons is null", "emitted_reasons must be aligned to 4", a.emitted_reasons, 4,
         target_slots, 4, true});
    add({"outcomes is null", "outcomes must be aligned to 4", a.outcomes, 4, a.request_count,
         sizeof(draftproof_outcome), true});
    if (rule.coins != 0)
      add({nullptr, "coins must be aligned to 8", a.coins, 8, target_slots * coin_columns(rule), 8,
           false});
    if (rule.takes_trees) {
      add({nullptr, "parents must be aligned to 4", a.parents, 4, draft_slots, 4, false});
      add({"accepted_nodes is null", "accepted_nodes must be aligned to 4", a.accepted_nodes, 4,
           draft_slots, 4, true});
    }
    if (rule.reads_target_rows)
      add_rows({"target_rows is null", "target_rows must be aligned to its element", a.target_rows,
                element_bytes(a), target_slots, element_bytes(a), false},
               a.target_row_stride, a.vocab_size);
    const auto kind = static_cast<kernels::DraftLawKind>(a.draft_kind);
    if (!rule.reads_draft_rows || kind == kernels::DraftLawKind::kOneHot) return;
    const std::uint64_t bytes =
        kind == kernels::DraftLawKind::kProbabilities ? 4 : element_bytes(a);
    add_rows({"draft_rows is null: say draft_kind 2 where drafts have no rows",
              "draft_rows must be aligned to its element", a.draft_rows, bytes, draft_slots, bytes,
              false},
             a.draft_row_stride, a.vocab_size);
    add({"draft_records is null: shape the rows first", "draft_records must be aligned to 8",
         a.draft_records, 8, draft_slots, sizeof(draftproof_row_record), false});
  }

  void add_rows(Field field, std::uint64_t stride, std::uint64_t vocab_size) {
    std::uint64_t bytes = 0;
    if (!strided_bytes(field.elements, stride, vocab_size, field.element_bytes, bytes))
      is_too_large = true;
    field.elements = bytes / field.element_bytes;
    add(field);
  }
};

}  // namespace

std::span<const VerifyRule> verify_rules() { return kRules; }

const VerifyRule* verify_rule(std::string_view name) {
  for (const VerifyRule& rule : kRules)
    if (rule.name == name) return &rule;
  return nullptr;
}

std::uint32_t coin_columns(const VerifyRule& rule) {
  return rule.takes_trees ? kernels::kTreeCoinColumns : kernels::kCoinColumns;
}

draftproof_result check(const VerifyRule& rule, const draftproof_verify_arguments& arguments) {
  const draftproof_result sizes = check_sizes(rule, arguments);
  if (sizes.code != DRAFTPROOF_OK) return sizes;
  const Fields fields(rule, arguments);
  if (fields.is_too_large)
    return {DRAFTPROOF_TOO_LARGE, "slots * row stride exceeds what can be addressed"};
  std::array<Extent, 12> extents{};
  for (std::size_t i = 0; i < fields.count; ++i) {
    const Field& field = fields.list[i];
    if (field.pointer == 0) {
      if (field.is_null != nullptr) return {DRAFTPROOF_NULL_POINTER, field.is_null};
      continue;
    }
    if (!is_aligned(field.pointer, field.alignment))
      return {DRAFTPROOF_MISALIGNED, field.is_misaligned};
    extents[i] = {field.pointer, field.elements * field.element_bytes, field.is_written};
  }
  if (overlap({extents.data(), fields.count}))
    return {DRAFTPROOF_OVERLAP, "a buffer of outputs shares bytes with another buffer"};
  return kGood;
}

KernelLaunch launch_of(const VerifyRule& rule, const draftproof_verify_arguments& arguments) {
  KernelLaunch launch;
  launch.module = rule.module;
  launch.entry = rule.entries[arguments.format];
  launch.grid.x = arguments.request_count;
  launch.block.x = arguments.block_threads != 0 ? arguments.block_threads
                                                : suitable_block_threads(arguments.vocab_size);
  launch.add(arguments);
  return launch;
}

}  // namespace draftproof::gpu::launches
