// The client of programs that speak lines of JSON (tools/docs/runners.md). A request's line is what
// a transcript says of a request, an answer's line what it says of a completion, so both go through
// the reader and the writer of transcripts, and there is no second format to keep alike.
#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "properties/json_nesting.h"
#include "properties/transcript.h"
#include "reference/error.h"
#include "tools/engines/child_process.h"
#include "tools/engines/runner.h"

namespace draftproof::tools::engines {
namespace {

using Json = nlohmann::json;
using properties::Completion;
using properties::SamplingRequest;
using Clock = std::chrono::steady_clock;

constexpr const char* kProtocol = "draftproof/runner/1";
constexpr const char* kPage = "tools/docs/runners.md says what it may be";

Json parsed(const std::string& line) { return properties::json_or_discarded<Json>(line); }

std::string shortened(const std::string& line) {
  return line.size() <= 200 ? line : line.substr(0, 200) + "...";
}

/// What the fields of a transcript say of a request, the defaults written out.
Json request_line(const SamplingRequest& request) {
  properties::Transcript transcript;
  transcript.key.case_id = "-";
  transcript.request = request;
  Json line = Json::parse(properties::line_of(transcript));
  for (const char* name : {"schema", "arm", "case", "trial", "token_ids", "end"}) line.erase(name);
  Json& sampling = line["sampling"];
  const reference::Penalties& penalties = request.adjustments.penalties;
  sampling["repetition_penalty"] = penalties.repetition;
  sampling["frequency_penalty"] = penalties.frequency;
  sampling["presence_penalty"] = penalties.presence;
  sampling["logprob_count"] = request.logprob_count;
  sampling["ignores_end"] = request.ignores_end;
  sampling["is_streamed"] = request.is_streamed;
  sampling["uses_prefix_cache"] = request.uses_prefix_cache;
  return line;
}

class LineClient : public ArmClient {
 public:
  explicit LineClient(const LineClientOptions& options)
      : options_(options),
        child_({options.command, options.environment, options.log, true, /*stop_timeout_s=*/10}) {
    read_hello();
    reader_ = std::thread([this] { read_answers(); });
  }

  ~LineClient() override {
    {
      const std::lock_guard lock(mutex_);
      is_closing_ = true;
    }
    child_.stop();
    reader_.join();
  }

  properties::Capabilities capabilities() const override { return capabilities_; }

  ArmFacts facts() override {
    if (!tells_facts_) return facts_;
    const Json answer = ask({{"facts", true}});
    if (!answer.contains("facts")) refuse("the answer to 'facts' has no 'facts'", answer.dump());
    return facts_from(answer["facts"]);
  }

  Completion complete(const SamplingRequest& request) override {
    return finish(request, send(request_line(request)));
  }

  std::vector<Completion> complete_together(const std::vector<SamplingRequest>& requests) override {
    std::vector<Ticket> tickets;
    for (const SamplingRequest& request : requests) tickets.push_back(send(request_line(request)));
    std::vector<Completion> completions;
    for (std::size_t i = 0; i < requests.size(); ++i)
      completions.push_back(finish(requests[i], tickets[i]));
    return completions;
  }

  std::vector<std::vector<properties::TokenLogprob>> score(
      const std::vector<reference::Token>& tokens, int candidate_count) override {
    if (!can_score_) return {};
    // Read as the completion whose candidates these are: one format, one reader.
    Json answer = ask({{"score", tokens}, {"logprob_count", candidate_count}});
    SamplingRequest request;
    request.prompt = tokens;
    answer["token_ids"] = tokens;
    answer["end"] = "length";
    std::vector<std::vector<properties::TokenLogprob>> rows =
        completion_from(request, std::move(answer)).top_logprobs;
    if (rows.size() != tokens.size())
      refuse("a score has one entry of 'logprobs' with 'top' a token", std::to_string(rows.size()));
    return rows;
  }

  std::optional<std::vector<reference::Token>> tokenize(const std::string& text) override {
    if (!can_tokenize_) return std::nullopt;
    const Json answer = ask({{"tokenize", text}});
    return value<std::vector<reference::Token>>(answer, "token_ids");
  }

  std::optional<std::string> detokenize(const std::vector<reference::Token>& tokens) override {
    if (!can_tokenize_) return std::nullopt;
    const Json answer = ask({{"detokenize", tokens}});
    return value<std::string>(answer, "text");
  }

  std::string curl_of(const SamplingRequest&) const override { return ""; }

 private:
  struct Ticket {
    std::uint64_t id = 0;
    double sent = 0;
  };

  std::string place() const { return options_.command; }

  std::string log_words() const {
    const std::string tail = child_.log_tail();
    return "; the end of " + options_.log.string() + " says:" + (tail.empty() ? " nothing" : tail);
  }

  [[noreturn]] void refuse(const std::string& what, const std::string& line) const {
    throw Error(ErrorKind::kEnvironment,
                what + ": '" + shortened(line) + "'; " + kPage + log_words(), place());
  }

  [[noreturn]] void gone() {
    const std::string ending = child_.ending();
    throw Error(ErrorKind::kEnvironment,
                (ending.empty() ? "closed its output" : "ended (" + ending + ")") + log_words(),
                place());
  }

  template <class Value>
  Value value(const Json& object, const char* name) const {
    try {
      return object.at(name).get<Value>();
    } catch (const Json::exception& error) {
      refuse(std::string("field '") + name + "' is missing or of another type", object.dump());
    }
  }
  template <class Value>
  Value value_or(const Json& object, const char* name, Value otherwise) const {
    if (!object.contains(name) || object[name].is_null()) return otherwise;
    return value<Value>(object, name);
  }
  template <class Value>
  std::optional<Value> optional(const Json& object, const char* name) const {
    if (!object.contains(name) || object[name].is_null()) return std::nullopt;
    return value<Value>(object, name);
  }

  void read_hello() {
    const std::optional<std::string> line = child_.read_line(options_.ready_timeout_s);
    if (!line)
      throw Error(ErrorKind::kEnvironment,
                  "said nothing in " + std::to_string(options_.ready_timeout_s) +
                      " s: its first line is due when its models are loaded" + log_words(),
                  place());
    if (line->empty() && child_.is_at_end()) gone();
    const Json hello = parsed(*line);
    if (!hello.is_object() || !hello.contains("runner"))
      refuse("its first line is no hello", *line);
    if (value<std::string>(hello, "runner") != kProtocol)
      refuse(std::string("speaks another protocol than ") + kProtocol, *line);
    facts_ = facts_from(hello.value("facts", Json::object()));
    const Json what = hello.value("capabilities", Json::object());
    capabilities_.name = facts_.engine + " " + facts_.version + ", " + facts_.model;
    capabilities_.vocab_size = facts_.vocab_size.value_or(0);
    capabilities_.draft_count = facts_.draft_count.value_or(0);
    capabilities_.can_draw = value_or(what, "can_draw", true);
    capabilities_.reports_counters = value_or(what, "reports_counters", false);
    capabilities_.takes_token_ids = value_or(what, "takes_token_ids", true);
    capabilities_.returns_token_ids = value_or(what, "returns_token_ids", true);
    capabilities_.takes_seed = value_or(what, "takes_seed", false);
    can_score_ = value_or(what, "can_score", false);
    can_tokenize_ = value_or(what, "can_tokenize", false);
    tells_facts_ = value_or(what, "tells_facts", false);
    const auto logprobs = value_or<std::string>(what, "logprobs", "none");
    if (logprobs != "none" && logprobs != "raw" && logprobs != "processed")
      refuse("'logprobs' is none, raw or processed", *line);
    if (logprobs == "raw") capabilities_.logprobs = properties::LogprobKind::kRaw;
    if (logprobs == "processed") capabilities_.logprobs = properties::LogprobKind::kProcessed;
  }

  ArmFacts facts_from(const Json& told) const {
    ArmFacts facts;
    facts.engine = value<std::string>(told, "engine");
    facts.version = value_or<std::string>(told, "version", "");
    facts.model = value_or<std::string>(told, "model", "");
    facts.vocab_size = optional<int>(told, "vocab_size");
    facts.context_max = optional<int>(told, "context_max");
    facts.slot_count = optional<int>(told, "slot_count");
    facts.is_speculative = optional<bool>(told, "is_speculative");
    facts.draft_count = optional<int>(told, "draft_count");
    facts.method = value_or<std::string>(told, "method", "");
    facts.lossy_mode = optional<std::string>(told, "lossy_mode");
    facts.chat_template = value_or<std::string>(told, "chat_template", "");
    facts.counters = value_or<std::map<std::string, double>>(told, "counters", {});
    facts.raw.emplace_back("facts", told.dump());
    return facts;
  }

  Ticket send(Json line) {
    const std::lock_guard writing(write_mutex_);
    Ticket ticket;
    {
      const std::lock_guard lock(mutex_);
      if (!garbage_.empty()) refuse("gave a line that is no answer", garbage_);
      if (stuck_id_ != 0)
        throw Error(ErrorKind::kEnvironment,
                    "did not answer an earlier request in " +
                        std::to_string(options_.answer_timeout_s) + " s" + log_words(),
                    place());
      ticket.id = ++last_id_;
    }
    line["id"] = ticket.id;
    ticket.sent = seconds_now();
    if (!child_.write_line(line.dump(-1, ' ', false, Json::error_handler_t::replace))) {
      const std::lock_guard lock(mutex_);
      gone();
    }
    return ticket;
  }

  /// The answer; nullopt when it did not come in time. Throws when it cannot come any more.
  std::optional<Json> await(const Ticket& ticket) {
    std::unique_lock lock(mutex_);
    // Of several that are under way each may take the whole time: they may be done one by one.
    const auto is_over = [&] { return answers_.contains(ticket.id) || has_ended_; };
    std::uint64_t seen = answered_;
    while (!is_over()) {
      const auto limit = std::chrono::duration<double>(options_.answer_timeout_s);
      if (changed_.wait_for(lock, limit, [&] { return is_over() || answered_ != seen; })) {
        seen = answered_;
        continue;
      }
      stuck_id_ = ticket.id;
      return std::nullopt;
    }
    const auto found = answers_.find(ticket.id);
    if (found == answers_.end()) {
      if (!garbage_.empty()) refuse("gave a line that is no answer", garbage_);
      gone();
    }
    Json answer = std::move(found->second);
    answers_.erase(found);
    return answer;
  }

  /// A question that is no request: the world is wrong when there is no answer.
  Json ask(Json question) {
    std::optional<Json> answer = await(send(std::move(question)));
    if (!answer)
      throw Error(
          ErrorKind::kEnvironment,
          "did not answer in " + std::to_string(options_.answer_timeout_s) + " s" + log_words(),
          place());
    if (answer->contains("error")) throw_error(*answer);
    answer->erase("id");
    return std::move(*answer);
  }

  [[noreturn]] void throw_error(const Json& answer) {
    const Json& error = answer["error"];
    const auto kind = value_or<std::string>(error, "kind", "");
    const auto message = value_or<std::string>(error, "message", "without a message");
    if (kind == "refused")
      throw Error(ErrorKind::kInput, message, value_or<std::string>(error, "field", place()));
    throw Error(ErrorKind::kEnvironment, message + log_words(), place());
  }

  Completion finish(const SamplingRequest& request, const Ticket& ticket) {
    std::optional<Json> answer = await(ticket);
    Completion completion;
    if (!answer) {
      completion.end = properties::CompletionEnd::kFailed;
      completion.failure_cause = properties::FailureCause::kTransport;
      completion.failure =
          "no answer in " + std::to_string(options_.answer_timeout_s) + " s from " + place();
    } else if (answer->contains("error")) {
      if (value_or<std::string>((*answer)["error"], "kind", "") != "failed") throw_error(*answer);
      completion.end = properties::CompletionEnd::kFailed;
      completion.failure = value_or<std::string>((*answer)["error"], "message", "no message");
    } else {
      answer->erase("id");
      completion = completion_from(request, std::move(*answer));
    }
    if (!completion.timing) completion.timing.emplace();
    completion.timing->due = completion.timing->sent = ticket.sent;
    completion.timing->ended = seconds_now();
    return completion;
  }

  /// `answer` has the fields of a transcript that speak of a completion.
  Completion completion_from(const SamplingRequest& request, Json answer) const {
    properties::Transcript asked;
    asked.key.case_id = "-";
    asked.request = request;
    Json line = Json::parse(properties::line_of(asked));
    for (const char* name : {"token_ids", "end"}) line.erase(name);
    for (auto& [name, field] : answer.items()) {
      if (line.contains(name)) refuse("'" + name + "' is no field of an answer", answer.dump());
      line[name] = std::move(field);
    }
    return properties::transcript_from(line.dump(), place() + ": answer").completion;
  }

  void read_answers() {
    for (;;) {
      const std::optional<std::string> line = child_.read_line(1);
      const std::lock_guard lock(mutex_);
      if (is_closing_) return;
      if (!line) continue;
      Json answer = line->empty() ? Json() : parsed(*line);
      if (line->empty() && child_.is_at_end()) {
        has_ended_ = true;
      } else if (!answer.is_object() || !answer.contains("id") ||
                 !answer["id"].is_number_unsigned()) {
        garbage_ = *line;
        has_ended_ = true;
      } else {
        const auto id = answer["id"].get<std::uint64_t>();
        ++answered_;
        if (id != stuck_id_) answers_[id] = std::move(answer);
      }
      changed_.notify_all();
      if (has_ended_) return;
    }
  }

  static double seconds_now() {
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  }

  LineClientOptions options_;
  ChildProcess child_;
  ArmFacts facts_;
  properties::Capabilities capabilities_;
  bool can_score_ = false, can_tokenize_ = false, tells_facts_ = false;

  std::mutex write_mutex_;
  std::mutex mutex_;  ///< of what follows
  std::condition_variable changed_;
  std::map<std::uint64_t, Json> answers_;
  std::string garbage_;
  std::uint64_t last_id_ = 0, answered_ = 0, stuck_id_ = 0;
  bool has_ended_ = false, is_closing_ = false;
  std::thread reader_;
};

}  // namespace

std::unique_ptr<ArmClient> line_client(const LineClientOptions& options) {
  if (options.command.empty()) throw Error(ErrorKind::kInput, "is empty", "runner");
  return std::make_unique<LineClient>(options);
}

}  // namespace draftproof::tools::engines
