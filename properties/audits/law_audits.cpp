// Law audits: the entries of those that judge laws, controls first, with what each of them needs.
#include "properties/audits/audit_list.h"

namespace draftproof::properties::audits {
namespace {

using oracle::Claim;

constexpr const char* kConditional = "Rosenblatt 1952; Neyman, Pearson 1933";
constexpr const char* kTwoStreams = "Turner, Ly, Gruenwald 2024";

std::vector<Audit> controls() {
  return {
      {{.id = "baseline_law",
        .claim = Claim::kMarginalLossless,
        .statement = "Control: without drafts each token has the law that is said to be known.",
        .citation = kConditional,
        .can_be_false = true,
        .needs_known_law = true,
        .is_sampled = true,
        .needs_baseline = true,
        .is_control = true},
       baseline_law},
      {{.id = "baseline_against_itself",
        .claim = Claim::kMarginalLossless,
        .statement = "Control: even and odd trials without drafts have one law.",
        .citation = kTwoStreams,
        .can_be_false = true,
        .is_sampled = true,
        .needs_baseline = true,
        .is_control = true},
       baseline_against_itself},
  };
}

}  // namespace

std::vector<Audit> law_audits() {
  std::vector<Audit> list = controls();
  const std::vector<Audit> laws = {
      {{.id = "next_token_law",
        .claim = Claim::kMarginalLossless,
        .statement = "Each token, given those before it, has the target's law there.",
        .citation = kConditional,
        .can_be_false = true,
        .needs_known_law = true,
        .is_sampled = true},
       next_token_law},
      {{.id = "joint_law",
        .claim = Claim::kSequenceLossless,
        .statement = "The first tokens that drafts reach have the target's joint law.",
        .citation = "Lindon, Malek, NeurIPS 2022",
        .can_be_false = true,
        .needs_known_law = true,
        .is_sampled = true},
       joint_law},
      {{.id = "two_sample_law",
        .claim = Claim::kSequenceLossless,
        .statement = "Answers with drafts and without have one law, whatever it is.",
        .citation = kTwoStreams,
        .can_be_false = true,
        .is_sampled = true,
        .needs_baseline = true},
       two_sample_law},
      {{.id = "rescored_law",
        .claim = Claim::kMarginalLossless,
        .statement = "Each token has the law that the same server gives when it reads the answer.",
        .citation = kConditional,
        .can_be_false = true,
        .needs_logprobs = true,
        .is_sampled = true,
        .is_for_one_server = true},
       rescored_law},
      {{.id = "draft_efficiency",
        .claim = Claim::kAccountingTruthful,
        .statement = "As many drafts are accepted as the laws of draft and target allow.",
        .citation = "Leviathan, Kalman, Matias, ICML 2023; Hoeffding 1963",
        .needs_counters = true,
        .is_sampled = true},
       draft_efficiency},
  };
  list.insert(list.end(), laws.begin(), laws.end());
  return list;
}

}  // namespace draftproof::properties::audits
