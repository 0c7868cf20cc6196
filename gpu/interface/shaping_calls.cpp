// Shaping and the rules behind it, for the C interface.
#include "gpu/interface/call_definitions.h"
#include "gpu/launches/adjust_rows.h"
#include "gpu/launches/shaping.h"
#include "gpu/launches/verify.h"
#include "gpu/launches/verify_adjusted.h"

namespace interface = draftproof::gpu::interface;
namespace launches = draftproof::gpu::launches;

namespace {

/// Runs `body` with the rule of that name.
template <class Body>
draftproof_result with_rule(const char* name, const Body& body) {
  if (name == nullptr) return {DRAFTPROOF_NULL_POINTER, "rule is null"};
  const launches::VerifyRule* const rule = launches::verify_rule(name);
  if (rule == nullptr)
    return {DRAFTPROOF_OUT_OF_RANGE,
            "rule: no kernel judges by a rule of this name; draftproof_verify_rule lists them"};
  return body([&](const auto& arguments) { return launches::check(*rule, arguments); },
              [&](const auto& arguments) { return launches::launch_of(*rule, arguments); });
}

}  // namespace

DRAFTPROOF_DEFINE_CALLS(draftproof_shape_rows)
DRAFTPROOF_DEFINE_CALLS(draftproof_adjust_rows)
DRAFTPROOF_DEFINE_CALLS(draftproof_verify_adjusted)

draftproof_result draftproof_shape_rows_workspace(const draftproof_shape_rows_arguments* arguments,
                                                  std::uint64_t* bytes) {
  if (arguments == nullptr) return {DRAFTPROOF_NULL_POINTER, "arguments is null"};
  if (bytes == nullptr) return {DRAFTPROOF_NULL_POINTER, "bytes is null"};
  // Within these ranges nothing in the computation of the workspace wraps around.
  const bool is_in_range = arguments->request_count <= 0x7fffffffu &&
                           arguments->padded_draft_count <= 1u << 16 &&
                           arguments->vocab_size <= 1u << 20;
  if (!is_in_range)
    return {DRAFTPROOF_OUT_OF_RANGE,
            "request_count must be below 2^31, padded_draft_count at most 65536, vocab_size at "
            "most 2^20"};
  *bytes = launches::workspace_bytes(*arguments);
  return launches::kGood;
}

draftproof_result draftproof_verify_plan(const draftproof_library* library, const char* rule,
                                         const draftproof_verify_arguments* arguments,
                                         draftproof_plan* plan) {
  return with_rule(rule, [&](const auto& check, const auto& launch_of) {
    return interface::plan(library, arguments, plan, check, launch_of);
  });
}

draftproof_result draftproof_verify_launch(const draftproof_library* library, const char* rule,
                                           const draftproof_verify_arguments* arguments,
                                           void* stream) {
  return with_rule(rule, [&](const auto& check, const auto& launch_of) {
    return interface::launch(library, arguments, stream, check, launch_of);
  });
}

draftproof_result draftproof_verify_rule(std::uint32_t index, draftproof_rule* rule) {
  if (rule == nullptr) return {DRAFTPROOF_NULL_POINTER, "rule is null"};
  const auto rules = launches::verify_rules();
  if (index >= rules.size())
    return {DRAFTPROOF_OUT_OF_RANGE, "index: there are no more rules; give a smaller one"};
  const launches::VerifyRule& own = rules[index];
  *rule = {own.name,
           own.takes_trees,
           own.reads_target_rows,
           own.reads_draft_rows,
           own.is_greedy,
           own.coins == 0 ? 0 : launches::coin_columns(own),
           own.is_keyed_by_iteration};
  return launches::kGood;
}
