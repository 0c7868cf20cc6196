// The runs on which ranks are compared, smallest first.
#include "properties/state/ranks_commit_the_same.h"

#include "properties/state/replay_of_seed.h"

namespace draftproof::properties {
namespace {

using reference::Token;
using reference::decode::RankRun;
using reference::decode::RankStep;
using reference::decode::ReplayRequest;
using reference::decode::ReplayRun;

std::string history_of(const ReplayRun& run, const RankRun& ranks) {
  std::string text;
  for (std::size_t i = 0; i < run.requests.size(); ++i)
    text += "  request " + std::to_string(i) + ": " + to_string(run.requests[i]) +
            (run.requests[i].sampling.top_k > 0 ? ", top-k 2" : "") + "\n";
  for (const RankStep& step : ranks.steps) {
    if (step.step == ranks.divergence->step && step.request == ranks.divergence->request) break;
    text += "  step " + std::to_string(step.step) + ", request " + std::to_string(step.request) +
            ": all ranks commit " + std::to_string(step.commits[0]->tokens.size()) +
            (step.commits[0]->tokens.size() == 1 ? " token\n" : " tokens\n");
  }
  return text + "  " + to_string(*ranks.divergence) + "\n";
}

ReplayRequest request_of(std::size_t number, int tokens, std::size_t vocab_size, int kind) {
  ReplayRequest request;
  request.token_count = tokens + static_cast<int>(number);
  // One number in three has a seed; the others live on the entropy of the ranks.
  if (number % 3 == 1) request.seed = 5 + number;
  if (kind == 1) request.sampling.top_k = 2;
  if (kind == 2) request.sampling.temperature = 0;
  for (int i = 0; i < 7; ++i)
    request.prompt.push_back(
        static_cast<Token>((i * i + static_cast<int>(number)) % static_cast<int>(vocab_size)));
  return request;
}

}  // namespace

RankFinding ranks_commit_the_same(const RankDecoder& decode, std::size_t vocab_size) {
  static const std::vector<std::vector<int>> patterns = {{}, {1}, {2}, {0, 3, 1}, {4}};
  RankFinding finding;
  for (int tokens = 1; tokens <= 12; ++tokens)
    for (std::size_t count = 1; count <= 3; ++count)
      for (std::size_t pattern = 0; pattern < patterns.size(); ++pattern)
        for (int kind = 0; kind < 3; ++kind) {
          ReplayRun run;
          run.entropy = 11;
          for (std::size_t number = 0; number < count; ++number) {
            run.requests.push_back(request_of(number, tokens, vocab_size, kind));
            run.requests.back().draft_lengths = patterns[(pattern + number) % patterns.size()];
          }
          const RankRun ranks = decode(run);
          ++finding.run_count;
          finding.step_count += ranks.steps.size();
          if (ranks.refusal) ++finding.refused_count;
          if (!ranks.divergence) continue;
          finding.divergence = ranks.divergence;
          finding.history = history_of(run, ranks);
          return finding;
        }
  return finding;
}

}  // namespace draftproof::properties
