// Planted differences: one thing in the state of a right engine, or in what it hands to a twin,
// made wrong, with the check that must say so.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/properties/twin_runs.h"

namespace draftproof::properties::state {

/// A cache whose insides a test can reach.
class OpenCache final : public reference::kv::PagedCache {
 public:
  using PagedCache::PagedCache;
  std::unique_ptr<PagedCache> clone() const override { return std::make_unique<OpenCache>(*this); }
  reference::kv::Cell& cell(reference::kv::SequenceId id, int slot) {
    return stored(address(id, slot));
  }
  /// False: no page is free.
  bool lose_a_page() {
    if (free_.empty()) return false;
    free_.pop_back();
    return true;
  }
};

struct Planted {
  std::string name;
  StateCheck check = StateCheck::kPages;
  /// False: there is nothing here that it could be done to.
  std::function<bool(reference::decode::EngineState&)> in_state = {};
  std::function<bool(reference::decode::VerificationRecord&)> in_record = {};
};

namespace decode = reference::decode;
namespace kv = reference::kv;
using decode::EngineState;

inline OpenCache& open(const std::unique_ptr<kv::PagedCache>& cache) {
  return dynamic_cast<OpenCache&>(*cache);
}

/// Does `what` to the first entry of `entries` that it can be done to.
template <typename Entries, typename What>
bool to_first(Entries& entries, What what) {
  for (auto& [id, entry] : entries)
    if (what(entry)) return true;
  return false;
}

/// Of the last page of a sequence, when nothing of it is published: nobody but the twin looks.
template <typename What>
bool to_last_cell(const std::unique_ptr<kv::PagedCache>& cache, kv::SequenceId id, What what) {
  if (!cache || id == decode::kNoSequence) return false;
  const int length = cache->sequence(id).length;
  if (length == 0 || length % cache->config().page_size == 0) return false;
  what(open(cache).cell(id, length - 1));
  return true;
}

inline std::vector<Planted> planted_in_caches() {
  std::vector<Planted> list;
  list.push_back({"a page is lost", StateCheck::kPages,
                  [](EngineState& state) { return open(state.target_cache).lose_a_page(); }});
  list.push_back({"a page of the draft's is lost", StateCheck::kPages, [](EngineState& state) {
                    return state.draft_cache && open(state.draft_cache).lose_a_page();
                  }});
  list.push_back({"a sequence that nobody holds", StateCheck::kLeak, [](EngineState& state) {
                    state.target_cache->open();
                    return true;
                  }});
  list.push_back(
      {"a step of recurrent state that goes on", StateCheck::kLeak, [](EngineState& state) {
         return to_first(state.device, [&](decode::DeviceRequest& device) {
           state.recurrent.feed(device.target, std::vector<reference::Token>{1},
                                std::vector<int>{-1});
           return true;
         });
       }});
  return list;
}

inline std::vector<Planted> planted_in_cells() {
  std::vector<Planted> list;
  list.push_back({"slots that stay reserved", StateCheck::kTargetCells, [](EngineState& state) {
                    return to_first(state.device, [&](decode::DeviceRequest& device) {
                      return state.target_cache->reserve(device.target, 1);
                    });
                  }});
  list.push_back({"a cell of another history", StateCheck::kTargetCells, [](EngineState& state) {
                    return to_first(state.device, [&](decode::DeviceRequest& device) {
                      return to_last_cell(state.target_cache, device.target,
                                          [](kv::Cell& cell) { cell.history ^= 1; });
                    });
                  }});
  list.push_back({"a cell told another position", StateCheck::kTargetCells, [](EngineState& state) {
                    return to_first(state.device, [&](decode::DeviceRequest& device) {
                      return to_last_cell(state.target_cache, device.target,
                                          [](kv::Cell& cell) { ++cell.position; });
                    });
                  }});
  list.push_back({"a cell too few", StateCheck::kTargetCells, [](EngineState& state) {
                    return to_first(state.device, [&](decode::DeviceRequest& device) {
                      const int length = state.target_cache->sequence(device.target).length;
                      // Before the first row is judged any length is one of a prompt being fed.
                      return device.tokens.size() > static_cast<std::size_t>(device.prompt_count) &&
                             static_cast<std::size_t>(length) + 1 == device.tokens.size() &&
                             device.iteration > 0 &&
                             state.target_cache->trim(device.target, length - 1);
                    });
                  }});
  list.push_back(
      {"a cell of another token in the draft's", StateCheck::kDraftCells, [](EngineState& state) {
         return to_first(state.device, [&](decode::DeviceRequest& device) {
           return to_last_cell(state.draft_cache, device.draft,
                               [](kv::Cell& cell) { cell.token = (cell.token + 1) % kRunVocab; });
         });
       }});
  list.push_back(
      {"a temporary cell of another position", StateCheck::kDraftCells, [](EngineState& state) {
         return to_first(state.device, [&](decode::DeviceRequest& device) {
           if (!state.draft_cache || device.waiting.fed_nodes.empty()) return false;
           const int length = state.draft_cache->sequence(device.draft).length;
           ++open(state.draft_cache).cell(device.draft, length).position;
           return true;
         });
       }});
  list.push_back(
      {"a draft's reservation without a draft", StateCheck::kDraftCells, [](EngineState& state) {
         return to_first(state.device, [&](decode::DeviceRequest& device) {
           return state.draft_cache && state.draft_cache->sequence(device.draft).reserved == 0 &&
                  state.draft_cache->reserve(device.draft, 1);
         });
       }});
  list.push_back({"another recurrent state", StateCheck::kRecurrent, [](EngineState& state) {
                    return to_first(state.device, [&](decode::DeviceRequest& device) {
                      const kv::RecurrentState held = state.recurrent.committed(device.target);
                      state.recurrent.assign(device.target, held ^ 1);
                      return true;
                    });
                  }});
  return list;
}

inline std::vector<Planted> planted_on_the_device() {
  std::vector<Planted> list;
  list.push_back({"a token more on the device", StateCheck::kOutput, [](EngineState& state) {
                    return to_first(state.device, [](decode::DeviceRequest& device) {
                      device.tokens.push_back(0);
                      return true;
                    });
                  }});
  list.push_back({"another length of the prompt", StateCheck::kOutput, [](EngineState& state) {
                    return to_first(state.device, [](decode::DeviceRequest& device) {
                      ++device.prompt_count;
                      return true;
                    });
                  }});
  list.push_back({"a draft that nobody made", StateCheck::kProposal, [](EngineState& state) {
                    return to_first(state.device, [&](decode::DeviceRequest& device) {
                      if (state.draft_cache || !device.waiting.proposal.tokens.empty())
                        return false;
                      device.waiting.proposal.tokens = {0};
                      return true;
                    });
                  }});
  list.push_back(
      {"a token that penalties count twice", StateCheck::kProcessor, [](EngineState& state) {
         return to_first(state.device, [](decode::DeviceRequest& device) {
           if (device.processor.empty()) return false;
           device.processor.push_back(device.processor.back());
           return true;
         });
       }});
  list.push_back({"another grammar state", StateCheck::kGrammar, [](EngineState& state) {
                    for (auto& [id, device] : state.device)
                      if (state.host.at(id).spec.grammar && device.is_grammar_on) {
                        device.grammar_state = (device.grammar_state + 1) % 3;
                        return true;
                      }
                    return false;
                  }});
  list.push_back({"a grammar that is not in force", StateCheck::kGrammar, [](EngineState& state) {
                    for (auto& [id, device] : state.device)
                      if (state.host.at(id).spec.grammar && device.is_grammar_on) {
                        device.is_grammar_on = false;
                        return true;
                      }
                    return false;
                  }});
  return list;
}

/// `what` is done to the first request with output.
inline Planted to_output(std::string name, StateCheck check,
                         std::function<bool(decode::HostRequest&)> what) {
  return {std::move(name), check, [what = std::move(what)](EngineState& state) {
            return to_first(state.host, [&](decode::HostRequest& host) {
              return !host.output.empty() && what(host);
            });
          }};
}

inline std::vector<Planted> planted_on_the_host() {
  const auto wants_logprobs = [](const decode::HostRequest& host, int count) {
    return host.spec.logprob_count >= count;
  };
  std::vector<Planted> list;
  list.push_back(to_output("another token emitted", StateCheck::kOutput, [](auto& host) {
    host.output.back().token = (host.output.back().token + 1) % kRunVocab;
    return true;
  }));
  list.push_back(to_output("a token lost", StateCheck::kOutput, [](auto& host) {
    host.output.pop_back();
    return true;
  }));
  list.push_back(to_output("another reason", StateCheck::kFinish, [](auto& host) {
    if (host.finish != decode::FinishReason::kStop && host.finish != decode::FinishReason::kEos)
      return false;
    host.finish = decode::FinishReason::kLength;
    return true;
  }));
  list.push_back(
      to_output("the raw logprob of another law", StateCheck::kLogprobs, [=](auto& host) {
        host.output.back().raw_logprob += 1e-9;
        return true;
      }));
  list.push_back(to_output("a processed logprob of 0", StateCheck::kLogprobs, [](auto& host) {
    if (host.output.back().processed_logprob > -1e-9) return false;
    host.output.back().processed_logprob = 0;
    return true;
  }));
  list.push_back(to_output("a logprob that is no number", StateCheck::kLogprobs, [=](auto& host) {
    host.output.back().raw_logprob = std::numeric_limits<double>::quiet_NaN();
    return true;
  }));
  list.push_back(
      to_output("the likeliest in another order", StateCheck::kLogprobs, [=](auto& host) {
        if (!wants_logprobs(host, 2)) return false;
        std::swap(host.output.back().top[0], host.output.back().top[1]);
        return true;
      }));
  list.push_back(to_output("a likeliest token too few", StateCheck::kLogprobs, [=](auto& host) {
    if (!wants_logprobs(host, 1)) return false;
    host.output.back().top.pop_back();
    return true;
  }));
  const std::vector<std::int64_t decode::Metrics::*> counters = {
      &decode::Metrics::verifications, &decode::Metrics::drafted, &decode::Metrics::accepted,
      &decode::Metrics::emitted,       &decode::Metrics::cut,     &decode::Metrics::cut_accepted,
      &decode::Metrics::stopped};
  for (std::size_t i = 0; i < counters.size(); ++i)
    list.push_back(to_output("counter " + std::to_string(i) + " one more", StateCheck::kMetrics,
                             [counter = counters[i]](auto& host) {
                               ++(host.metrics.*counter);
                               return true;
                             }));
  list.push_back(to_output("a histogram with one more", StateCheck::kMetrics, [](auto& host) {
    ++host.metrics.accepted_histogram.at(0);
    return true;
  }));
  list.push_back(to_output("fewer dropped than none", StateCheck::kMetrics, [](auto& host) {
    host.metrics.dropped = -1;
    return true;
  }));
  return list;
}

inline std::vector<Planted> planted_in_accounts() {
  const auto on_host = [](std::string name, StateCheck check, auto what) -> Planted {
    return {std::move(name), check, [what](EngineState& state) {
              return to_first(state.host, [&](decode::HostRequest& host) { return what(host); });
            }};
  };
  const auto is_alive = [](const decode::HostRequest& host) {
    return host.phase != decode::Phase::kFinished;
  };
  std::vector<Planted> list;
  list.push_back(on_host("a placeholder too many", StateCheck::kLengths, [](auto& host) {
    ++host.placeholders;
    return true;
  }));
  list.push_back(on_host("a placeholder below none", StateCheck::kLengths, [](auto& host) {
    host.placeholders = -1;
    return true;
  }));
  list.push_back(on_host("a frame too many", StateCheck::kLengths, [](auto& host) {
    ++host.in_flight;
    return true;
  }));
  list.push_back(on_host("a length without its rejection", StateCheck::kLengths, [=](auto& host) {
    ++host.computed;
    return is_alive(host);
  }));
  list.push_back({"rows that nobody counted", StateCheck::kBudget, [](EngineState& state) {
                    state.use_max.verify_rows = 0;
                    return to_first(state.host, [](const decode::HostRequest& host) {
                      return host.metrics.verifications > 0;
                    });
                  }});
  list.push_back({"more rows than may be", StateCheck::kBudget, [](EngineState& state) {
                    state.use_max.verify_rows = (1 << 20) + 1;
                    return true;
                  }});
  list.push_back({"a request missing in the queue", StateCheck::kPhases, [](EngineState& state) {
                    if (state.waiting.empty()) return false;
                    state.waiting.pop_back();
                    return true;
                  }});
  list.push_back({"a request twice in the queue", StateCheck::kPhases, [](EngineState& state) {
                    if (state.waiting.empty()) return false;
                    state.waiting.push_back(state.waiting.front());
                    return true;
                  }});
  list.push_back(on_host("a transition that nobody made", StateCheck::kPhases, [](auto& host) {
    ++host.transitions[{decode::Phase::kDrafting, decode::Phase::kVerifying}];
    return true;
  }));
  list.push_back(on_host("a step out of the end", StateCheck::kPhases, [](auto& host) {
    ++host.transitions[{decode::Phase::kFinished, decode::Phase::kDrafting}];
    return true;
  }));
  list.push_back(on_host("a draft on the host only", StateCheck::kPhases, [](auto& host) {
    ++host.draft_count;
    return true;
  }));
  list.push_back(on_host("a phase too early", StateCheck::kPhases, [](auto& host) {
    if (host.phase != decode::Phase::kDrafting) return false;
    host.phase = decode::Phase::kPrefilling;
    return true;
  }));
  return list;
}

}  // namespace draftproof::properties::state
