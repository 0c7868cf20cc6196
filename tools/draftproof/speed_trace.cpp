#include "tools/draftproof/speed_trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <tuple>
#include <vector>

#include "reference/error.h"
#include "tools/draftproof/speed_fields.h"

namespace draftproof::tools {
namespace {

namespace speed = oracle::speed;
using nlohmann::json;

constexpr const char* kSchema = "draftproof/trace/1";

speed::Arm arm_from(const std::string& word) {
  for (const auto arm : {speed::Arm::kBaseline, speed::Arm::kSpeculative}) {
    if (speed::to_string(arm) == word) return arm;
  }
  throw Damage{"'arm' must be baseline or speculative"};
}

speed::TargetShape shape_from(const json& object) {
  Fields fields(object);
  speed::TargetShape shape;
  shape.dense_bytes = fields.number_if("dense_bytes").value_or(0);
  shape.expert_bytes = fields.number_if("expert_bytes").value_or(0);
  shape.experts = fields.count_if("experts", kMostTokens).value_or(0);
  shape.experts_per_token = fields.count_if("experts_per_token", kMostTokens).value_or(0);
  shape.kv_bytes_per_token = fields.number_if("kv_bytes_per_token").value_or(0);
  shape.operations_per_row = fields.number_if("operations_per_row").value_or(0);
  shape.attention_operations = fields.number_if("attention_operations").value_or(0);
  shape.link_bytes_per_row = fields.number_if("link_bytes_per_row").value_or(0);
  shape.exchanges = fields.count_if("exchanges", kMostTokens).value_or(0);
  fields.allow_only_what_was_read();
  if (shape.experts_per_token > shape.experts)
    throw Damage{"'experts_per_token' is above 'experts'; exchange them"};
  return shape;
}

speed::DeviceRates device_from(const json& object) {
  Fields fields(object);
  speed::DeviceRates device;
  device.memory_bytes_per_second = fields.number_if("memory_bytes_per_second").value_or(0);
  device.operations_per_second = fields.number_if("operations_per_second").value_or(0);
  device.link_bytes_per_second = fields.number_if("link_bytes_per_second").value_or(0);
  device.exchange_seconds = fields.time_if("exchange").value_or(0);
  fields.allow_only_what_was_read();
  if (device.memory_bytes_per_second == 0 || device.operations_per_second == 0) {
    throw Damage{"'device' needs memory_bytes_per_second and operations_per_second above 0"};
  }
  return device;
}

speed::DraftPasses passes_from(const std::string& word) {
  if (word == "per-token") return speed::DraftPasses::kOnePerToken;
  if (word == "one") return speed::DraftPasses::kOne;
  throw Damage{"'draft_passes' must be per-token or one"};
}

speed::Setup setup_from(Fields& fields) {
  if (fields.text("schema") != kSchema)
    throw Damage{std::string("'schema' must be ") + kSchema + ", the only version there is"};
  speed::Setup setup;
  setup.engine = fields.text_if("engine").value_or("");
  setup.method = fields.text_if("method").value_or("");
  setup.target = fields.text_if("target").value_or("");
  setup.draft = fields.text_if("draft").value_or("");
  if (const auto word = fields.text_if("placement")) {
    const auto placement = speed::placement_from(*word);
    if (!placement) throw Damage{"'placement' must be serial, overlapped or remote"};
    setup.placement = *placement;
  }
  if (const auto word = fields.text_if("draft_passes")) setup.passes = passes_from(*word);
  setup.emits_bonus = fields.flag_if("emits_bonus").value_or(true);
  setup.query_group = fields.count_if("query_group", kMostTokens, 1);
  setup.tile = fields.count_if("tile", kMostTokens, 1);
  setup.draft_layers = fields.count_if("draft_layers", kMostTokens);
  setup.target_layers = fields.count_if("target_layers", kMostTokens, 1);
  setup.slo_ttft = fields.time_if("slo_ttft");
  setup.slo_itl = fields.time_if("slo_itl");
  if (const json* object = fields.object_if("shape")) setup.shape = shape_from(*object);
  if (const json* object = fields.object_if("device")) setup.device = device_from(*object);
  return setup;
}

speed::Iteration iteration_from(Fields& fields) {
  speed::Iteration iteration;
  iteration.request = fields.text("request");
  iteration.index = fields.count("index", kMostCounted);
  iteration.arm = arm_from(fields.text("arm"));
  iteration.cohort = fields.text_if("cohort").value_or("all");
  const bool drafts = iteration.arm == speed::Arm::kSpeculative;
  iteration.drafted = drafts ? fields.count("drafted", kMostTokens)
                             : fields.count_if("drafted", kMostTokens).value_or(0);
  iteration.accepted = drafts ? fields.count("accepted", kMostTokens)
                              : fields.count_if("accepted", kMostTokens).value_or(0);
  iteration.emitted = fields.count("emitted", kMostTokens);
  iteration.cut = fields.count_if("cut", kMostTokens).value_or(0);
  iteration.depth = fields.count_if("depth", kMostTokens);
  iteration.first_rejection = fields.count_if("first_rejection", kMostTokens, 1);
  iteration.wasted = fields.count_if("wasted", kMostTokens);
  iteration.bonus = fields.flag_if("bonus");
  iteration.batch = fields.count_if("batch", kMostTokens, 1);
  iteration.context = fields.count_if("context", kMostCounted);
  iteration.target_kv_bytes = fields.count_if("target_kv_bytes", kMostCounted);
  iteration.draft_kv_bytes = fields.count_if("draft_kv_bytes", kMostCounted);
  iteration.draft = fields.time_if("draft");
  iteration.verify = fields.time_if("verify", true);
  iteration.accept = fields.time_if("accept");
  iteration.rollback = fields.time_if("rollback");
  iteration.link = fields.time_if("link");
  iteration.step = fields.time_if("step", true);
  iteration.divergence = fields.number_if("kl_nats");
  iteration.fallback = fields.text_if("fallback").value_or("");
  return iteration;
}

speed::Request request_from(Fields& fields) {
  speed::Request request;
  request.request = fields.text("request");
  request.arm = arm_from(fields.text("arm"));
  request.cohort = fields.text_if("cohort").value_or("all");
  request.arrival = fields.time_if("arrival");
  request.ttft = fields.time_if("ttft");
  request.itl = fields.time_if("itl");
  request.latency = fields.time_if("latency");
  request.output_tokens = fields.count_if("output_tokens", kMostCounted);
  request.prefill_tokens = fields.count_if("prefill_tokens", kMostTokens);
  request.leaked_blocks = fields.count_if("leaked_blocks", kMostCounted);
  request.energy = fields.number_if("energy_joules");
  request.draft_acceptance = fields.number_if("draft_acceptance");
  request.accepted_length = fields.number_if("accepted_length");
  return request;
}

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  void read(std::string_view line, std::int64_t number) {
    try {
      const json object = object_from(line);
      Fields fields(object);
      const std::string record = fields.text("record");
      if (record == "setup") {
        read_setup(fields, number);
      } else if (!has_setup_) {
        throw Damage{"the first line must be the setup: {\"record\":\"setup\",\"schema\":\"" +
                     std::string(kSchema) + "\"}"};
      } else if (record == "iteration") {
        read_iteration(fields, number);
      } else if (record == "request") {
        read_request(fields, number);
      } else {
        throw Damage{"'record' must be setup, iteration or request"};
      }
    } catch (const Damage& damage) {
      // Without its setup nothing behind it has a meaning.
      if (!has_setup_) throw Error(ErrorKind::kInput, damage.reason, place(number));
      trace_.damaged.push_back({number, damage.reason});
    }
  }

  speed::Trace finish(bool allows_damaged) {
    if (!has_setup_) {
      throw Error(ErrorKind::kInput,
                  std::string("is empty; the first line is {\"record\":\"setup\",\"schema\":\"") +
                      kSchema + "\"}, see tools/docs/speed.md",
                  file_);
    }
    if (!trace_.damaged.empty() && !allows_damaged) refuse();
    if (trace_.iterations.empty()) {
      throw Error(ErrorKind::kInput, "holds no iteration; add lines with \"record\":\"iteration\"",
                  file_);
    }
    return std::move(trace_);
  }

 private:
  std::string place(std::int64_t number) const { return file_ + ":" + std::to_string(number); }

  void read_setup(Fields& fields, std::int64_t) {
    if (has_setup_)
      throw Damage{"a second setup; a trace has one, split the file or remove this line"};
    trace_.setup = setup_from(fields);
    fields.allow_only_what_was_read();
    has_setup_ = true;
  }

  void read_iteration(Fields& fields, std::int64_t number) {
    speed::Iteration iteration = iteration_from(fields);
    fields.allow_only_what_was_read();
    iteration.line = number;
    keep_cohort(iteration.request, iteration.cohort);
    const auto key = std::tuple(iteration.arm, iteration.request, iteration.index);
    const auto [first, is_first] = iterations_.emplace(key, number);
    if (!is_first) {
      throw Damage{fmt::format("iteration {} of this request was given at line {}; keep one",
                               iteration.index, first->second)};
    }
    trace_.iterations.push_back(std::move(iteration));
  }

  void read_request(Fields& fields, std::int64_t number) {
    speed::Request request = request_from(fields);
    fields.allow_only_what_was_read();
    request.line = number;
    keep_cohort(request.request, request.cohort);
    const auto [first, is_first] =
        requests_.emplace(std::pair(request.arm, request.request), number);
    if (!is_first) {
      throw Damage{fmt::format("this request was given at line {}; keep one", first->second)};
    }
    trace_.requests.push_back(std::move(request));
  }

  /// Requests are the unit that intervals are made over: one is in one cohort.
  void keep_cohort(const std::string& request, const std::string& cohort) {
    const auto [found, is_first] = cohorts_.emplace(request, cohort);
    if (!is_first && found->second != cohort)
      throw Damage{"this request is in another cohort on an earlier line; name one for all of it"};
  }

  [[noreturn]] void refuse() const {
    const auto& first = trace_.damaged.front();
    std::vector<std::int64_t> others;
    for (std::size_t i = 1; i < trace_.damaged.size() && i <= 10; ++i)
      others.push_back(trace_.damaged[i].line);
    std::string more;
    if (!others.empty()) {
      more = fmt::format("; {} more damaged line{}: {}{}", trace_.damaged.size() - 1,
                         trace_.damaged.size() == 2 ? "" : "s", fmt::join(others, ", "),
                         others.size() + 1 < trace_.damaged.size() ? ", ..." : "");
    }
    throw Error(ErrorKind::kInput,
                first.reason + more + " (--allow-damaged lists them and judges the rest)",
                place(first.line));
  }

  std::string file_;
  bool has_setup_ = false;
  speed::Trace trace_;
  std::map<std::tuple<speed::Arm, std::string, std::int64_t>, std::int64_t> iterations_;
  std::map<std::pair<speed::Arm, std::string>, std::int64_t> requests_;
  std::map<std::string, std::string> cohorts_;
};

}  // namespace

speed::Trace trace_from_json_lines(std::string_view text, const std::string& file,
                                   bool allows_damaged) {
  Reader reader(file);
  std::int64_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    // A blank line, or the carriage return of another system, carries nothing.
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (line.back() == '\r') line.remove_suffix(1);
    reader.read(line, number);
  }
  return reader.finish(allows_damaged);
}

}  // namespace draftproof::tools
