#include "tools/serve/job.h"

namespace draftproof::tools::serve {

namespace decode = reference::decode;

namespace {

double ms_between(Job::Clock::time_point from, Job::Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

}  // namespace

// Launches out of the phase in which a draft waits.
std::int64_t drafts_of(const decode::HostRequest& host) {
  const auto found = host.transitions.find({decode::Phase::kVerifying, decode::Phase::kDrafting});
  return found == host.transitions.end() ? 0 : found->second;
}

bool Job::is_stop_token(const decode::HostRequest& host, std::size_t index) const {
  return (host.finish == FinishReason::kStop || host.finish == FinishReason::kEos) &&
         index + 1 == host.output.size();
}

bool Job::add(const OutputToken& token, const std::string& text) {
  const std::size_t seen = completion.text.size();
  completion.tokens.push_back(token);
  completion.text_offsets.push_back(seen);
  completion.text += text;
  const auto needed = static_cast<std::size_t>(order.stop_text_min_tokens);
  if (order.stop_texts.empty() || completion.tokens.size() <= needed) return false;
  const auto found = stops.find(completion.text, seen);
  if (!found) return false;
  completion.stop_text = found->text;
  if (order.keeps_stop) return true;
  // A token goes when any of its text lies behind the beginning of the stop.
  while (!completion.tokens.empty() && completion.text.size() > found->begin) {
    completion.text.resize(completion.text_offsets.back());
    completion.text_offsets.pop_back();
    completion.tokens.pop_back();
  }
  return true;
}

void Job::finish(const decode::HostRequest& host) {
  const std::lock_guard lock(mutex);
  completion.finish = completion.stop_text ? FinishReason::kStop : host.finish;
  completion.metrics = host.metrics;
  completion.drafts = drafts_of(host);
  completion.preemptions = host.epoch;
  const Clock::time_point now = Clock::now();
  if (taken == 0) first_token = now;
  completion.timings = {ms_between(arrival, start), ms_between(start, first_token),
                        ms_between(first_token, now)};
  shown = completion.tokens.size();
  is_over = true;
  changed.notify_all();
}

bool Job::take(const decode::HostRequest& host, const reference::model::Spelling& spelling) {
  const bool is_finished = host.finish != FinishReason::kNone;
  if (taken == host.output.size() && !is_finished) return false;
  const std::lock_guard lock(mutex);
  if (taken == 0) first_token = Clock::now();
  for (; taken < host.output.size(); ++taken) {
    const OutputToken& token = host.output[taken];
    const bool is_silent = is_stop_token(host, taken) && !order.keeps_stop;
    if (is_stop_token(host, taken)) completion.stop_token = token.token;
    // Ids come from an engine that may be faulty on purpose.
    const bool is_known =
        token.token >= 0 && static_cast<std::size_t>(token.token) < spelling.vocab_size();
    if (!add(token, is_silent || !is_known ? "" : spelling.text(token.token))) continue;
    completion.stop_token.reset();
    ++taken;
    return true;
  }
  if (is_finished) return true;
  const std::size_t safe = completion.text.size() - stops.held_back(completion.text);
  while (shown < completion.tokens.size()) {
    const bool is_last = shown + 1 == completion.tokens.size();
    if ((is_last ? completion.text.size() : completion.text_offsets[shown + 1]) > safe) break;
    ++shown;
  }
  changed.notify_all();
  return false;
}

void Job::fail(const std::string& message) {
  const std::lock_guard lock(mutex);
  failure = message;
  is_over = true;
  changed.notify_all();
}

}  // namespace draftproof::tools::serve
