// The checks of a seed's promise: pairs of runs, fewest tokens first.
#include "properties/state/replay_of_seed.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "reference/error.h"

namespace draftproof::properties {
namespace {

using reference::Token;
using reference::decode::ReplayRequest;
using reference::decode::ReplayRun;
using reference::decode::Stream;
using Requests = std::vector<ReplayRequest>;

constexpr int kEqualTokens[] = {1, 2, 3, 4, 6, 9, 12};

template <class Number>
std::string listed(const std::vector<Number>& numbers) {
  std::string text = "[";
  for (Number number : numbers) text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  return text + "]";
}

// One stream of one run, as part of an argument.
struct Told {
  ReplayRun run;
  std::size_t request = 0;
  Stream stream;
};

std::string history_of(const Told& told) {
  std::string text = "  engine of entropy " + std::to_string(told.run.entropy) +
                     (told.run.serial ? ", one request after the other" : ", one batch") + "\n";
  for (std::size_t i = 0; i < told.run.requests.size(); ++i)
    text += std::string(i == told.request ? "  > " : "    ") + "request " + std::to_string(i) +
            ": " + to_string(told.run.requests[i]) + "\n";
  return text + "    emitted " + listed(told.stream) + "\n";
}

// Runs the subject, and keeps the first pair of streams that is not as it must be.
class Course {
 public:
  explicit Course(const ReplaySubject& subject) : subject_(subject) {
    finding_.false_alarm_log2 = -std::numeric_limits<double>::infinity();
  }

  const ReplaySubject& subject() const { return subject_; }
  bool is_violated() const { return finding_.answer == ReplayAnswer::kViolated; }

  std::vector<Told> decode(const ReplayRun& run) {
    ++finding_.run_count;
    const std::vector<Stream> streams = subject_.decode(run);
    DRAFTPROOF_CHECK(streams.size() == run.requests.size(), "one stream a request");
    std::vector<Told> told;
    for (std::size_t i = 0; i < streams.size(); ++i) {
      DRAFTPROOF_CHECK(streams[i].size() == static_cast<std::size_t>(run.requests[i].token_count),
                       "a replay has no token that ends a request early");
      told.push_back({run, i, streams[i]});
    }
    return told;
  }
  Told decode_one(const ReplayRequest& request, std::uint64_t entropy = 1) {
    return decode({{request}, false, entropy})[0];
  }

  /// `skip`: tokens of the first that are the prompt of the second.
  void must_agree(const Told& a, const Told& b, std::size_t skip = 0) {
    const Stream rest(a.stream.begin() + static_cast<std::ptrdiff_t>(skip), a.stream.end());
    if (is_violated() || rest == b.stream) return;
    const auto parts = std::ranges::mismatch(rest, b.stream).in1 - rest.begin();
    violated(history_of(a) + history_of(b) + "  must agree, and part at token " +
             std::to_string(static_cast<std::ptrdiff_t>(skip) + parts) + " of the first\n");
  }

  void all_must_differ(const std::vector<Told>& streams) {
    for (std::size_t i = 0; i < streams.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        const auto least = std::min(streams[i].stream.size(), streams[j].stream.size());
        const double chance = -subject_.token_bits * static_cast<double>(least);
        finding_.false_alarm_log2 =
            std::log2(std::exp2(finding_.false_alarm_log2) + std::exp2(chance));
        if (!is_violated() && streams[i].stream == streams[j].stream)
          violated(history_of(streams[j]) + history_of(streams[i]) + "  must differ, and agree\n");
      }
  }

  ReplayFinding finding() const { return finding_; }

 private:
  void violated(std::string history) {
    finding_.answer = ReplayAnswer::kViolated;
    finding_.history = std::move(history);
  }

  const ReplaySubject& subject_;
  ReplayFinding finding_;
};

ReplayRequest request_of(const Course& course, std::optional<std::uint64_t> seed, int tokens,
                         std::vector<int> draft_lengths) {
  ReplayRequest request;
  request.seed = seed;
  request.token_count = tokens;
  request.draft_lengths = std::move(draft_lengths);
  for (int token : {0, 1, 0, 1, 0})
    request.prompt.push_back(token % static_cast<Token>(course.subject().vocab_size));
  return request;
}

const std::vector<std::vector<int>> kDraftPatterns = {{}, {1}, {3}, {0, 2}, {3, 0, 1}};

// Asks about the request of every draft pattern and some seeds, fewest tokens first, until one says
// no. Short requests have more seeds: what takes an accepted draft to show is then found short.
ReplayFinding over_requests(const ReplaySubject& subject,
                            const std::function<void(Course&, const ReplayRequest&)>& ask) {
  Course course(subject);
  for (int tokens : kEqualTokens)
    for (const std::vector<int>& pattern : kDraftPatterns)
      for (std::uint64_t seed = 1; seed <= (tokens <= 3 ? 10 : 2); ++seed) {
        if (course.is_violated()) return course.finding();
        ask(course, request_of(course, seed, tokens, pattern));
      }
  return course.finding();
}

ReplayFinding repeats(const ReplaySubject& subject) {
  return over_requests(subject, [](Course& course, const ReplayRequest& request) {
    course.must_agree(course.decode_one(request, 1), course.decode_one(request, 2));
  });
}

ReplayFinding companions(const ReplaySubject& subject) {
  return over_requests(subject, [](Course& course, const ReplayRequest& request) {
    const Told alone = course.decode_one(request);
    for (const std::vector<int>& pattern : kDraftPatterns)
      for (const std::optional<std::uint64_t>& seed : {std::optional<std::uint64_t>(99), {}}) {
        const ReplayRequest other = request_of(course, seed, request.token_count + 1, pattern);
        course.must_agree(alone, course.decode({{request, other}, false, 1})[0]);
        course.must_agree(alone, course.decode({{other, request}, false, 1})[1]);
        course.must_agree(alone, course.decode({{other, request}, true, 1})[1]);
      }
  });
}

ReplayFinding batch_order(const ReplaySubject& subject) {
  return over_requests(subject, [](Course& course, const ReplayRequest& request) {
    const Requests requests = {request, request_of(course, 21, request.token_count, {2}),
                               request_of(course, 22, request.token_count, {0, 1})};
    const std::vector<Told> first = course.decode({requests, false, 1});
    std::vector<std::size_t> order = {0, 1, 2};
    while (std::ranges::next_permutation(order).found) {
      Requests permuted;
      for (std::size_t i : order) permuted.push_back(requests[i]);
      const std::vector<Told> told = course.decode({permuted, false, 1});
      for (std::size_t i = 0; i < order.size(); ++i) course.must_agree(first[order[i]], told[i]);
    }
  });
}

ReplayFinding preemption(const ReplaySubject& subject) {
  return over_requests(subject, [](Course& course, const ReplayRequest& request) {
    const Told undisturbed = course.decode_one(request);
    ReplayRequest always = request;
    for (int step = 0; step < request.token_count; ++step) {
      ReplayRequest once = request;
      once.preempted_steps = {step};
      always.preempted_steps.push_back(step);
      course.must_agree(undisturbed, course.decode_one(once));
      const ReplayRequest other = request_of(course, 31, request.token_count, {2});
      course.must_agree(undisturbed, course.decode({{other, once}, false, 1})[1]);
    }
    course.must_agree(undisturbed, course.decode_one(always));
  });
}

ReplayFinding not_promised() {
  return {ReplayAnswer::kNotPromised, -std::numeric_limits<double>::infinity(), 0, ""};
}

ReplayFinding draft_free_steps(const ReplaySubject& subject) {
  if (!subject.ignores_drafts) return not_promised();
  return over_requests(subject, [](Course& course, const ReplayRequest& request) {
    ReplayRequest plain = request;
    plain.draft_lengths = {};
    const Told told = course.decode_one(plain);
    course.must_agree(told, course.decode_one(request));
    // Drafts everywhere but behind one text length.
    const int lengths = static_cast<int>(request.prompt.size()) + request.token_count;
    for (int without = static_cast<int>(request.prompt.size()); without < lengths; ++without) {
      ReplayRequest once = request;
      once.draft_lengths.assign(static_cast<std::size_t>(lengths), 2);
      once.draft_lengths[static_cast<std::size_t>(without)] = 0;
      course.must_agree(told, course.decode_one(once));
    }
  });
}

ReplayFinding stops(const ReplaySubject& subject) {
  if (!subject.ignores_drafts && !subject.continues_by_text) return not_promised();
  return over_requests(subject, [](Course& course, const ReplayRequest& request) {
    for (int stop = 1; stop < request.token_count; ++stop) {
      ReplayRequest stopped = request;
      stopped.stops = {stop};
      const Told told = course.decode_one(stopped);
      if (course.subject().ignores_drafts) {
        ReplayRequest careful = stopped;
        careful.drafts_past_stops = false;
        course.must_agree(told, course.decode_one(careful));
        course.must_agree(told, course.decode_one(request));
      }
      if (!course.subject().continues_by_text) continue;
      ReplayRequest resumed = request;
      resumed.prompt.insert(resumed.prompt.end(), told.stream.begin(), told.stream.begin() + stop);
      resumed.token_count = request.token_count - stop;
      course.must_agree(told, course.decode_one(resumed), static_cast<std::size_t>(stop));
    }
  });
}

ReplayFinding equal_seeds(const ReplaySubject& subject) {
  return over_requests(subject, [](Course& course, const ReplayRequest& request) {
    for (bool serial : {false, true}) {
      const std::vector<Told> told = course.decode({{request, request, request}, serial, 1});
      course.must_agree(told[0], told[1]);
      course.must_agree(told[0], told[2]);
    }
  });
}

// Alone, each in an engine of the same entropy: whoever ignores seeds answers the same.
ReplayFinding different_seeds(const ReplaySubject& subject) {
  Course course(subject);
  for (const std::vector<int>& pattern : kDraftPatterns) {
    std::vector<Told> told;
    for (std::uint64_t seed : {1, 2, 3, 4})
      told.push_back(course.decode_one(request_of(course, seed, subject.token_count, pattern)));
    course.all_must_differ(told);
  }
  return course.finding();
}

ReplayFinding unseeded(const ReplaySubject& subject) {
  Course course(subject);
  for (const std::vector<int>& pattern : kDraftPatterns) {
    const ReplayRequest request = request_of(course, {}, subject.token_count, pattern);
    for (bool serial : {true, false})
      course.all_must_differ(course.decode({{request, request, request, request}, serial, 1}));
    course.all_must_differ({course.decode_one(request, 1), course.decode_one(request, 2)});
  }
  return course.finding();
}

ReplayFinding unseeded_in_company(const ReplaySubject& subject) {
  Course course(subject);
  for (const std::vector<int>& pattern : kDraftPatterns) {
    const ReplayRequest seeded = request_of(course, 41, subject.token_count, pattern);
    const ReplayRequest other = request_of(course, {}, subject.token_count, pattern);
    std::vector<Told> told;
    for (std::uint64_t entropy : {1, 2})
      for (const Told& of_run : course.decode({{seeded, other, seeded, other}, false, entropy}))
        if (!of_run.run.requests[of_run.request].seed) told.push_back(of_run);
    course.all_must_differ(told);
  }
  return course.finding();
}

// The control (vllm-project/vllm#13196): greedy decoding reads no coin.
ReplayFinding temperature_zero(const ReplaySubject& subject) {
  return over_requests(subject, [](Course& course, const ReplayRequest& request) {
    ReplayRequest greedy = request;
    greedy.sampling.temperature = 0;
    ReplayRequest other = greedy;
    other.seed = 12345;
    ReplayRequest none = greedy;
    none.seed = {};
    const Told told = course.decode_one(greedy, 1);
    course.must_agree(told, course.decode_one(other, 1));
    course.must_agree(told, course.decode_one(none, 2));
  });
}

}  // namespace

const std::vector<ReplayCheck>& replay_checks() {
  static const std::vector<ReplayCheck> list = {
      {"a_seed_repeats", "a seeded request answers the same after a restart",
       "vllm-project/vllm#6038", repeats},
      {"companions_do_not_move_a_seed", "a seeded request answers alone as in any company",
       "vllm-project/vllm-ascend#13608", companions},
      {"batch_order_does_not_move_a_seed", "seeded requests answer the same in any order",
       "sgl-project/sglang#33395", batch_order},
      {"preemption_does_not_move_a_seed", "work that is thrown away and done again is the same",
       "vllm-project/vllm#52522", preemption},
      {"draft_free_steps_do_not_move_a_seed", "the stream is the same with and without drafts",
       "vllm-project/vllm-ascend#13608", draft_free_steps},
      {"stops_do_not_move_a_seed",
       "behind a stop inside a draft the stream goes on as if nothing had been drafted past it",
       "microsoft/onnxruntime-genai#2528", stops},
      {"equal_seeds_agree", "equal requests with equal seeds answer the same",
       "NVIDIA/TensorRT-LLM#19487", equal_seeds},
      {"different_seeds_differ", "equal requests with different seeds answer differently",
       "NVIDIA/TensorRT-LLM#19487", different_seeds},
      {"unseeded_requests_differ", "equal requests without a seed answer differently",
       "NVIDIA/TensorRT-LLM#17599", unseeded},
      {"unseeded_differ_among_seeded", "requests without a seed are random in seeded company too",
       "vllm-project/vllm#10863", unseeded_in_company},
      {"seeds_say_nothing_at_temperature_zero", "greedy requests answer alike whatever the seed",
       "vllm-project/vllm#13196", temperature_zero},
  };
  return list;
}

const ReplayCheck& replay_check(std::string_view id) {
  std::string known;
  for (const ReplayCheck& check : replay_checks()) {
    if (check.id == id) return check;
    known += (known.empty() ? "" : ", ") + check.id;
  }
  throw Error(ErrorKind::kInput, "unknown check '" + std::string(id) + "'; known: " + known);
}

std::string to_string(const ReplayRequest& request) {
  std::string text = request.seed ? "seed " + std::to_string(*request.seed) : "no seed";
  text += ", prompt " + listed(request.prompt) + ", " + std::to_string(request.token_count) +
          (request.token_count == 1 ? " token" : " tokens");
  if (request.sampling.temperature == 0) text += ", greedy";
  text += request.draft_lengths.empty() ? ", no drafts"
                                        : ", drafts by length " + listed(request.draft_lengths);
  if (!request.preempted_steps.empty())
    text += ", preempted at steps " + listed(request.preempted_steps);
  if (!request.stops.empty()) text += ", stopped behind " + listed(request.stops);
  if (!request.drafts_past_stops) text += ", never drafts past a stop";
  return text;
}

}  // namespace draftproof::properties
