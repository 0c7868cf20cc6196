#include "tools/serve/engine_host.h"

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "reference/error.h"
#include "tools/serve/job.h"
#include "tools/serve/prompt_logprobs.h"

namespace draftproof::tools::serve {

namespace decode = reference::decode;
using Clock = std::chrono::steady_clock;

class EngineHost::Loop {
 public:
  explicit Loop(const HostOptions& options) : options_(options) {
    renew();
    thread_ = std::thread([this] { run(); });
  }

  void submit(const std::vector<std::shared_ptr<Job>>& jobs) {
    {
      const std::lock_guard lock(mutex_);
      if (is_stopping_) throw Busy("the server stops; try another one");
      if (unfinished_ + static_cast<int>(jobs.size()) > options_.unfinished_max)
        throw Busy(std::to_string(unfinished_) + " requests wait or run; try again later");
      unfinished_ += static_cast<int>(jobs.size());
      arrivals_.insert(arrivals_.end(), jobs.begin(), jobs.end());
    }
    work_.notify_one();
  }

  void cancel(const std::shared_ptr<Job>& job) {
    {
      const std::lock_guard lock(mutex_);
      departures_.push_back(job);
    }
    work_.notify_one();
  }

  void stop(std::chrono::milliseconds grace) {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
      deadline_ = std::min(deadline_, Clock::now() + grace);
    }
    work_.notify_one();
    const std::lock_guard lock(joining_);
    if (thread_.joinable()) thread_.join();
  }

  Totals totals() const {
    const std::lock_guard lock(mutex_);
    Totals copy = totals_;
    copy.unfinished = unfinished_;
    return copy;
  }

  PagesInUse pages() const {
    const std::lock_guard lock(mutex_);
    return pages_;
  }

 private:
  void renew() { engine_.emplace(options_.config, options_.steps, options_.make_cache); }

  void run() {
    while (true) {
      std::vector<std::shared_ptr<Job>> arrivals, departures;
      bool is_over = false;
      {
        std::unique_lock lock(mutex_);
        work_.wait(lock, [&] {
          return !arrivals_.empty() || !departures_.empty() || !live_.empty() || is_stopping_;
        });
        arrivals.swap(arrivals_);
        departures.swap(departures_);
        is_over = is_stopping_ && ((live_.empty() && arrivals.empty()) || Clock::now() > deadline_);
      }
      try {
        for (const auto& job : arrivals) admit(job);
        for (const auto& job : departures) depart(job);
        if (is_over) {
          while (!live_.empty()) depart(live_.begin()->second);
        } else if (!live_.empty()) {
          advance();
        }
      } catch (const std::exception& error) {
        break_down(std::string("the engine broke: ") + error.what());
      }
      if (is_over) return;
    }
  }

  void admit(const std::shared_ptr<Job>& job) {
    job->start = Clock::now();
    try {
      if (job->order.prompt_logprob_count >= 0) {
        auto logprobs = prompt_logprobs(*options_.config.target, job->order);
        const std::lock_guard lock(job->mutex);
        job->completion.prompt_logprobs = std::move(logprobs);
      }
      live_[engine_->submit(job->order.spec)] = job;
    } catch (const std::exception& error) {
      job->fail(error.what());
      const std::lock_guard lock(mutex_);
      unfinished_ -= 1;
    }
  }

  void depart(const std::shared_ptr<Job>& job) {
    const auto found = std::find_if(live_.begin(), live_.end(),
                                    [&](const auto& entry) { return entry.second == job; });
    if (found == live_.end()) return;
    engine_->cancel(found->first);
    job->take(engine_->request(found->first), options_.spelling);
    leave(found->first);
  }

  void advance() {
    const bool has_moved = engine_->step();
    std::vector<decode::RequestId> over;
    for (const auto& [id, job] : live_)
      if (job->take(engine_->request(id), options_.spelling)) over.push_back(id);
    for (const decode::RequestId id : over) leave(id);
    if (!has_moved && over.empty() && !live_.empty()) break_down("the engine makes no progress");
  }

  /// Counts a request that is over, and only then tells its client, who may look at the counters.
  void leave(decode::RequestId id) {
    engine_->cancel(id);  // one that a text stopped runs on otherwise
    const std::shared_ptr<Job> job = live_.at(id);
    const decode::HostRequest& host = engine_->request(id);
    {
      const std::lock_guard lock(mutex_);
      count(host, job->completion);
      note_pages();
    }
    job->finish(host);
    live_.erase(id);
    engine_->forget(id);
  }

  // Under the mutex.
  void count(const decode::HostRequest& host, const Completion& done) {
    const auto& metrics = host.metrics;
    totals_.prompt_tokens += static_cast<std::int64_t>(done.prompt.size());
    totals_.completion_tokens += static_cast<std::int64_t>(done.tokens.size());
    totals_.verifications += metrics.verifications;
    totals_.drafts += drafts_of(host);
    totals_.drafted += metrics.drafted;
    totals_.accepted += metrics.accepted + metrics.cut_accepted;
    const auto& histogram = metrics.accepted_histogram;
    if (totals_.accepted_histogram.size() < histogram.size())
      totals_.accepted_histogram.resize(histogram.size());
    for (std::size_t i = 0; i < histogram.size(); ++i)
      totals_.accepted_histogram[i] += histogram[i];
    totals_.finished[done.stop_text ? FinishReason::kStop : host.finish] += 1;
    unfinished_ -= 1;
  }

  // Under the mutex.
  void note_pages() {
    const auto counts = engine_->state().target_cache->counts();
    pages_ = {counts.live, counts.total};
  }

  void break_down(const std::string& message) {
    renew();
    {
      const std::lock_guard lock(mutex_);
      unfinished_ -= static_cast<int>(live_.size());
      note_pages();
    }
    for (const auto& [id, job] : live_) job->fail(message);
    live_.clear();
  }

  const HostOptions& options_;
  mutable std::mutex mutex_;
  std::mutex joining_;
  std::condition_variable work_;
  std::vector<std::shared_ptr<Job>> arrivals_;
  std::vector<std::shared_ptr<Job>> departures_;
  Totals totals_;
  PagesInUse pages_;
  int unfinished_ = 0;
  bool is_stopping_ = false;
  Clock::time_point deadline_ = Clock::time_point::max();
  std::optional<decode::Engine> engine_;
  std::map<decode::RequestId, std::shared_ptr<Job>> live_;
  std::thread thread_;
};

EngineHost::Ticket::Ticket(std::shared_ptr<Job> job, std::shared_ptr<Loop> loop)
    : job_(std::move(job)), loop_(std::move(loop)) {}

EngineHost::Ticket::~Ticket() {
  if (!job_) return;
  bool is_over = false;
  {
    const std::lock_guard lock(job_->mutex);
    is_over = job_->is_over;
  }
  if (!is_over) loop_->cancel(job_);
}

bool EngineHost::Ticket::wait(std::chrono::milliseconds time_max) const {
  return wait_for_more(std::numeric_limits<std::size_t>::max(), time_max);
}

bool EngineHost::Ticket::wait_for_more(std::size_t token_count,
                                       std::chrono::milliseconds time_max) const {
  std::unique_lock lock(job_->mutex);
  const bool has_more = job_->changed.wait_for(
      lock, time_max, [&] { return job_->is_over || job_->shown > token_count; });
  if (!job_->failure.empty()) throw EngineFailure(job_->failure);
  return has_more;
}

Completion EngineHost::Ticket::so_far() const {
  const std::lock_guard lock(job_->mutex);
  Completion copy = job_->completion;
  if (!job_->is_over && job_->shown < copy.tokens.size()) {
    copy.text.resize(copy.text_offsets[job_->shown]);
    copy.tokens.resize(job_->shown);
    copy.text_offsets.resize(job_->shown);
  }
  return copy;
}

namespace {

/// Below this the logits of toys (at most 6 or so in size) leave the range in which masses of 2^21
/// at most can be told apart (reference/shaping.h, line 5), and no token could be judged.
constexpr double kTemperatureMin = 1e-5;

/// What the engine would take, and could only answer wrongly or not at all.
void require_answerable(const decode::RequestSpec& spec, const decode::EngineConfig& config) {
  const double temperature = spec.sampling.temperature;
  if (is_greedy(spec.sampling, reference::contract(config.contract).preset)) return;
  if (temperature < kTemperatureMin)
    throw Error(ErrorKind::kInput, "is too small to tell logits apart; send 0 for greedy decoding",
                "temperature");
  if (config.drafts && (config.rule == "greedy" || config.rule == "tree-greedy"))
    throw Error(
        ErrorKind::kInput,
        "must be 0: this server verifies by the rule " + config.rule + ", which decodes greedily",
        "temperature");
}

}  // namespace

EngineHost::EngineHost(HostOptions options) : options_(std::move(options)) {
  options_.config.queue_max = options_.unfinished_max;
  decode::validate(options_.config);
  DRAFTPROOF_CHECK(options_.spelling.vocab_size() ==
                   static_cast<std::size_t>(options_.config.target->vocab_size()));
  loop_ = std::make_shared<Loop>(options_);
}

EngineHost::~EngineHost() { stop(std::chrono::milliseconds(0)); }

std::vector<EngineHost::Ticket> EngineHost::submit(std::vector<Order> orders) {
  std::vector<std::shared_ptr<Job>> jobs;
  for (Order& order : orders) {
    decode::validate(order.spec, options_.config);
    require_answerable(order.spec, options_.config);
    jobs.push_back(std::make_shared<Job>(std::move(order)));
    jobs.back()->completion.prompt = jobs.back()->order.spec.prompt;
  }
  loop_->submit(jobs);
  std::vector<Ticket> tickets;
  for (auto& job : jobs) tickets.emplace_back(std::move(job), loop_);
  return tickets;
}

Totals EngineHost::totals() const { return loop_->totals(); }
PagesInUse EngineHost::pages_in_use() const { return loop_->pages(); }
void EngineHost::stop(std::chrono::milliseconds grace) { loop_->stop(grace); }

std::vector<std::int64_t> Totals::accepted_by_position() const {
  std::vector<std::int64_t> counts;
  for (std::size_t i = 1; i < accepted_histogram.size(); ++i)
    counts.push_back(std::accumulate(accepted_histogram.begin() + static_cast<std::ptrdiff_t>(i),
                                     accepted_histogram.end(), std::int64_t{0}));
  return counts;
}

}  // namespace draftproof::tools::serve
