#include "tools/audit/reading_floor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reference/error.h"

namespace draftproof::tools::audit {
namespace {

constexpr std::size_t kPromptsMax = 16;
constexpr int kCandidates = 20;
/// Two readings of one row in bfloat16 are hardly ever a quarter of this apart.
constexpr double kWeightsDiffer = 1;
/// One unit in the last place of a bfloat16 logit in [16, 32), 2^4 x 2^-7: rounding moves a logit
/// by half of that, and half of all gaps are wider than the whole in no two readings of the same
/// weights.
constexpr double kTypicallyDiffer = 0.125;
constexpr const char* kPlace = "target.scorer";

using Rows = std::vector<std::vector<properties::TokenLogprob>>;

Rows read(engines::ArmClient& server, const char* name,
          const std::vector<reference::Token>& prompt) {
  Rows rows = server.score(prompt, kCandidates);
  if (rows.size() != prompt.size())
    throw Error(ErrorKind::kInput,
                fmt::format("the {} gives no logprobs of prompts, so that how far both servers are "
                            "apart cannot be measured; take servers that do",
                            name),
                kPlace);
  return rows;
}

void add(const Rows& one, const Rows& other, std::vector<double>& gaps) {
  for (std::size_t i = 0; i < one.size(); ++i)
    for (const auto& here : one[i])
      for (const auto& there : other[i]) {
        if (here.token != there.token) continue;
        const double gap = here.logprob == there.logprob ? 0 : here.logprob - there.logprob;
        gaps.push_back(std::isnan(gap) ? INFINITY : std::fabs(gap));
      }
}

void require_one_vocabulary(const engines::ArmClient& drafting, const engines::ArmClient& scorer) {
  const int one = drafting.capabilities().vocab_size, other = scorer.capabilities().vocab_size;
  if (one > 0 && other > 0 && one != other)
    throw Error(ErrorKind::kInput,
                fmt::format("has {} token ids, and the speculative server {}: these are not the "
                            "same weights",
                            other, one),
                kPlace);
}

/// Sorts the gaps.
void require_one_model(std::vector<double>& gaps) {
  if (gaps.empty())
    throw Error(ErrorKind::kInput, "both servers name no candidate in common; other weights?",
                kPlace);
  std::sort(gaps.begin(), gaps.end());
  const double typical = gaps[gaps.size() / 2];
  if (gaps.back() <= kWeightsDiffer && typical <= kTypicallyDiffer) return;
  throw Error(ErrorKind::kInput,
              fmt::format("reads the prompts otherwise than the speculative server, by up to "
                          "{:.3g} nats and by {:.3g} in every second logprob: these are not the "
                          "same weights",
                          gaps.back(), typical),
              kPlace);
}

}  // namespace

ReadingFloor reading_floor(engines::ArmClient& drafting, engines::ArmClient& scorer,
                           const properties::audits::Matrix& matrix) {
  std::set<std::vector<reference::Token>> prompts;
  for (const auto& each : matrix.cases)
    if (each.request.prompt.size() > 1 && prompts.size() < kPromptsMax)
      prompts.insert(each.request.prompt);
  if (prompts.empty())
    throw Error(ErrorKind::kInput,
                "no prompt has two tokens, so that how far both servers are apart cannot be "
                "measured; give a longer one (prompts.ids)",
                kPlace);
  require_one_vocabulary(drafting, scorer);
  std::vector<double> gaps;
  for (const auto& prompt : prompts)
    add(read(drafting, "speculative server", prompt), read(scorer, "scorer", prompt), gaps);
  require_one_model(gaps);
  ReadingFloor floor;
  floor.prompt_count = prompts.size();
  floor.gap_count = gaps.size();
  floor.gap_max = gaps.back();
  return floor;
}

}  // namespace draftproof::tools::audit
