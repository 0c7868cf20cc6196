#include "tools/audit/reduce.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "reference/error.h"
#include "tools/audit/localise.h"

namespace draftproof::tools::audit {
namespace {

using properties::SamplingRequest;
using Requests = std::vector<SamplingRequest>;

/// What makes a setting plainer; each is tried in all requests at once.
using Edit = std::function<void(SamplingRequest&)>;

const std::vector<Edit>& edits() {
  static const std::vector<Edit> list = {
      [](SamplingRequest& request) { request.grammar.clear(); },
      [](SamplingRequest& request) { request.adapter.clear(); },
      [](SamplingRequest& request) { request.adjustments = {}; },
      [](SamplingRequest& request) { request.adjustments.penalties = {}; },
      [](SamplingRequest& request) { request.adjustments.penalties.repetition = 1; },
      [](SamplingRequest& request) { request.adjustments.penalties.frequency = 0; },
      [](SamplingRequest& request) { request.adjustments.penalties.presence = 0; },
      [](SamplingRequest& request) { request.adjustments.logit_bias.clear(); },
      [](SamplingRequest& request) { request.adjustments.allowed_ids.reset(); },
      [](SamplingRequest& request) { request.adjustments.bad_words.clear(); },
      [](SamplingRequest& request) { request.adjustments.min_tokens = 0; },
      [](SamplingRequest& request) { request.sampling.top_k = 0; },
      [](SamplingRequest& request) { request.sampling.top_p = 1; },
      [](SamplingRequest& request) { request.sampling.min_p = 0; },
      // Greedy stays greedy: what a temperature adds is no plainer.
      [](SamplingRequest& request) {
        if (request.sampling.temperature > 0) request.sampling.temperature = 1;
      },
      [](SamplingRequest& request) { request.logprob_count = -1; },
      [](SamplingRequest& request) { request.logprob_count = std::min(request.logprob_count, 0); },
      [](SamplingRequest& request) { request.stop_token_ids.clear(); },
      [](SamplingRequest& request) { request.ignores_end = true; },
      [](SamplingRequest& request) { request.is_streamed = false; },
      [](SamplingRequest& request) { request.uses_prefix_cache = true; },
  };
  return list;
}

std::vector<std::string> words_in(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

class Reduction {
 public:
  Reduction(Requests requests, const StillShows& still_shows, const ReduceLimits& limits)
      : still_shows_(still_shows), limits_(limits) {
    reduced_.requests = std::move(requests);
  }

  Reduced run() {
    reduced_.is_shown = shows(reduced_.requests);
    // Until a round of everything changes nothing: what one step took away may make room for
    // another.
    for (bool is_smaller = reduced_.is_shown; is_smaller && !is_used_up_;) {
      const Requests before = reduced_.requests;
      take_requests();
      take_settings();
      take_tokens();
      for (std::size_t i = 0; i < reduced_.requests.size(); ++i) take_prompt(i);
      is_smaller = reduced_.requests != before;
    }
    reduced_.is_least = reduced_.is_shown && !is_used_up_;
    return std::move(reduced_);
  }

 private:
  bool shows(const Requests& candidate) {
    if (is_used_up_ || reduced_.tries >= limits_.tries_max || limits_.is_over()) {
      is_used_up_ = true;
      return false;
    }
    ++reduced_.tries;
    try {
      return still_shows_(candidate);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInput) return false;  // not a request for this engine
      is_used_up_ = true;
      reduced_.steps.push_back(std::string("ended: ") + error.what());
      return false;
    }
  }

  bool take(Requests candidate, const std::string& step) {
    if (candidate == reduced_.requests || !shows(candidate)) return false;
    reduced_.requests = std::move(candidate);
    reduced_.steps.push_back(step);
    return true;
  }

  /// The least part of `all`, in its order, of which `is_enough` holds (ddmin: no single chunk of
  /// it can be left out). At least one stays.
  template <typename Item>
  std::vector<Item> least(std::vector<Item> all,
                          const std::function<bool(const std::vector<Item>&)>& is_enough) {
    std::size_t chunks = 2;
    while (all.size() > 1 && !is_used_up_) {
      chunks = std::min(chunks, all.size());
      bool is_smaller = false;
      for (std::size_t chunk = 0; chunk < chunks && !is_smaller; ++chunk) {
        const auto begin = static_cast<std::ptrdiff_t>(all.size() * chunk / chunks);
        const auto end = static_cast<std::ptrdiff_t>(all.size() * (chunk + 1) / chunks);
        std::vector<Item> rest(all.begin(), all.begin() + begin);
        rest.insert(rest.end(), all.begin() + end, all.end());
        if (rest.empty() || !is_enough(rest)) continue;
        all = std::move(rest);
        is_smaller = true;
      }
      if (is_smaller) {
        chunks = std::max<std::size_t>(chunks - 1, 2);
      } else if (chunks == all.size()) {
        break;
      } else {
        chunks *= 2;
      }
    }
    return all;
  }

  void take_requests() {
    const std::size_t before = reduced_.requests.size();
    Requests rest = least<SamplingRequest>(reduced_.requests,
                                           [&](const Requests& part) { return shows(part); });
    if (rest.size() == before) return;
    reduced_.requests = std::move(rest);
    reduced_.steps.push_back(std::to_string(before) + " -> " +
                             std::to_string(reduced_.requests.size()) + " requests");
  }

  void take_settings() {
    for (const Edit& edit : edits()) {
      Requests candidate = reduced_.requests;
      for (SamplingRequest& request : candidate) edit(request);
      if (candidate == reduced_.requests) continue;
      const auto before = parameters_of({"", reduced_.requests.front(), 1});
      const auto after = parameters_of({"", candidate.front(), 1});
      std::string step;
      for (std::size_t i = 0; i < before.size(); ++i)
        if (before[i] != after[i])
          step += (step.empty() ? "" : ", ") + before[i].first + " " + before[i].second + " -> " +
                  after[i].second;
      take(std::move(candidate), step.empty() ? "plainer companions" : step);
    }
  }

  void take_tokens() {
    int high = 0;
    for (const SamplingRequest& request : reduced_.requests)
      high = std::max(high, request.max_tokens);
    const int before = high;
    // What needs more tokens than are there does not show: halves, as if that were all.
    for (int low = 1; low < high && !is_used_up_;) {
      const int middle = low + (high - low) / 2;
      Requests candidate = reduced_.requests;
      for (SamplingRequest& request : candidate)
        request.max_tokens = std::min(request.max_tokens, middle);
      if (shows(candidate)) {
        reduced_.requests = std::move(candidate);
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (high < before)
      reduced_.steps.push_back("max_tokens " + std::to_string(before) + " -> " +
                               std::to_string(high));
  }

  void take_prompt(std::size_t index) {
    const SamplingRequest before = reduced_.requests[index];
    const auto with = [&](const SamplingRequest& request) {
      Requests candidate = reduced_.requests;
      candidate[index] = request;
      return candidate;
    };
    SamplingRequest shorter = before;
    if (!before.prompt.empty()) {
      shorter.prompt = least<reference::Token>(before.prompt, [&](const properties::Prompt& part) {
        SamplingRequest request = before;
        request.prompt = part;
        request.prompt_text.clear();  // it would be another text
        return shows(with(request));
      });
      if (shorter.prompt.size() == before.prompt.size()) return;
      shorter.prompt_text.clear();
    } else {
      shorter.prompt_text = joined(least<std::string>(words_in(before.prompt_text),
                                                      [&](const std::vector<std::string>& part) {
                                                        SamplingRequest request = before;
                                                        request.prompt_text = joined(part);
                                                        return shows(with(request));
                                                      }));
      if (shorter.prompt_text.size() >= before.prompt_text.size()) return;
    }
    reduced_.requests[index] = shorter;
    const auto size_of = [](const SamplingRequest& request) {
      return request.prompt.empty()
                 ? std::to_string(words_in(request.prompt_text).size()) + " words"
                 : std::to_string(request.prompt.size()) + " tokens";
    };
    reduced_.steps.push_back("prompt of request " + std::to_string(index + 1) + ": " +
                             size_of(before) + " -> " + size_of(shorter));
  }

  const StillShows& still_shows_;
  const ReduceLimits& limits_;
  Reduced reduced_;
  bool is_used_up_ = false;
};

}  // namespace

Reduced reduce(std::vector<SamplingRequest> requests, const StillShows& still_shows,
               const ReduceLimits& limits) {
  DRAFTPROOF_CHECK(!requests.empty());
  for (const SamplingRequest& request : requests)
    DRAFTPROOF_CHECK(!request.prompt.empty() || !request.prompt_text.empty());
  return Reduction(std::move(requests), still_shows, limits).run();
}

}  // namespace draftproof::tools::audit
