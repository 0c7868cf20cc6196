#include "properties/audits/audit_list.h"

namespace draftproof::properties::audits {
namespace {

using oracle::Claim;

/// What needs no statistics but one arm's word, or both arms' outputs side by side.
std::vector<Audit> plain_audits() {
  return {
      {{.id = "well_formed",
        .claim = Claim::kWellFormed,
        .statement = "Ids are in range, outputs end where they must, and requests that the "
                     "baseline answers are answered.",
        .citation = "skyzh/tiny-llm#299",
        .is_greedy = true,
        .is_sampled = true},
       well_formed},
      {{.id = "counter_identities",
        .claim = Claim::kAccountingTruthful,
        .statement = "Counts of drafted and accepted tokens are those of a run that can be.",
        .citation = "sgl-project/sglang#33518",
        .needs_counters = true,
        .is_greedy = true,
        .is_sampled = true},
       counter_identities},
      {{.id = "greedy_margin_parity",
        .claim = Claim::kGreedyExact,
        .statement = "At temperature 0 drafts change no token, but where rounding may.",
        .citation = "Leviathan, Kalman, Matias, ICML 2023; vllm-project/vllm#54506",
        .is_greedy = true,
        .needs_baseline = true},
       greedy_margin_parity},
      {{.id = "rescored_parity",
        .claim = Claim::kGreedyExact,
        .statement = "At temperature 0 each token is the likeliest when the answer is read again.",
        .citation = "Leviathan, Kalman, Matias, ICML 2023; vllm-project/vllm#54506",
        .needs_logprobs = true,
        .is_greedy = true,
        .is_for_one_server = true},
       rescored_parity},
      {{.id = "same_seed_identity",
        .claim = Claim::kSeedStable,
        .statement =
            "A seed gives the same tokens with drafts and without, where that is promised.",
        .citation = "llama.cpp, common_sampler_sample_and_accept_n",
        .can_be_false = true,
        .is_sampled = true,
        .needs_baseline = true,
        .needs_shared_seed = true},
       same_seed_identity},
      {{.id = "seed_repeats",
        .claim = Claim::kSeedStable,
        .statement = "A request asked once more with its seed comes out alike.",
        .citation = "vllm-project/vllm#6038",
        .can_be_false = true,
        .is_greedy = true,
        .is_sampled = true},
       seed_repeats},
      {{.id = "support_of_filters",
        .claim = Claim::kSupportSafe,
        .statement = "No token that a filter or a ban leaves out is emitted.",
        .citation = "reference/shaping.h",
        .can_be_false = true,
        .is_sampled = true},
       support_of_filters},
  };
}

/// What an engine reports beside its tokens, and what it gives up on purpose.
std::vector<Audit> reported_audits() {
  return {
      {{.id = "logprob_truth",
        .claim = Claim::kLogprobTruthful,
        .statement = "A reported logprob is that of its token, also where a draft brought it.",
        .citation = "ggml-org/llama.cpp#27972",
        .needs_known_law = true,
        .needs_logprobs = true,
        .is_greedy = true,
        .is_sampled = true},
       logprob_truth},
      {{.id = "grammar_validity",
        .claim = Claim::kSupportSafe,
        .statement = "Structured output is a text of its grammar.",
        .citation = "NVIDIA/TensorRT-LLM#18892, vllm-project/vllm#34241",
        .is_greedy = true,
        .is_sampled = true,
        .needs_grammar = true},
       grammar_validity},
      {{.id = "declared_distance",
        .claim = Claim::kMarginalLossless,
        .statement = "A mode that gives the law up on purpose is declared, and within its budget.",
        .citation = "McDiarmid 1989",
        .can_be_false = true,
        .is_greedy = true,
        .is_sampled = true,
        .needs_lossy_mode = true},
       declared_distance},
  };
}

std::vector<Audit> joined() {
  std::vector<Audit> list;
  for (const auto& part : {law_audits(), plain_audits(), reported_audits()})
    list.insert(list.end(), part.begin(), part.end());
  return list;
}

}  // namespace

const std::vector<Audit>& audits() {
  static const std::vector<Audit> list = joined();
  return list;
}

const std::vector<AuditInfo>& audit_infos() {
  static const std::vector<AuditInfo> infos = [] {
    std::vector<AuditInfo> list;
    for (const Audit& audit : audits()) list.push_back(audit.info);
    return list;
  }();
  return infos;
}

}  // namespace draftproof::properties::audits
