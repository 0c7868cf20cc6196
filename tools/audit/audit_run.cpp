#include "tools/audit/audit_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "reference/error.h"
#include "tools/audit/approximate_checks.h"
#include "tools/audit/arrivals.h"
#include "tools/audit/reading_floor.h"
#include "tools/audit/toy_slack.h"

namespace draftproof::tools::audit {
namespace {

using properties::Arm;
using properties::audits::AuditCase;
using properties::audits::JudgeSettings;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Ids of a text by the engine's tokenizer, each text once.
class Tokenizer {
 public:
  explicit Tokenizer(Arms& arms) : arms_(arms) {}

  std::vector<reference::Token> ids(const std::string& text, const std::string& name) {
    const auto known = ids_.find(text);
    if (known != ids_.end()) return known->second;
    const auto ids = arms_.client(Arm::kSpeculative).tokenize(text);
    if (!ids || ids->empty())
      throw Error(ErrorKind::kInput,
                  fmt::format("'{}' is a text, and this engine does not tell its ids; give prompts "
                              "as ids (prompts.ids)",
                              name),
                  "prompts");
    if (arms_.has_baseline()) {
      const auto other = arms_.client(Arm::kBaseline).tokenize(text);
      if (other && *other != *ids)
        throw Error(ErrorKind::kInput,
                    fmt::format("the arms cut '{}' into different ids: two tokenizers, so no "
                                "comparison means anything",
                                name),
                    "prompts");
    }
    return ids_[text] = *ids;
  }

 private:
  Arms& arms_;
  std::map<std::string, std::vector<reference::Token>> ids_;
};

properties::Capabilities capabilities_of(const Arms& arms, Arm arm) {
  properties::Capabilities each = arms.client(arm).capabilities();
  const engines::ArmFacts& facts = arms.facts(arm);
  if (each.vocab_size == 0) each.vocab_size = facts.vocab_size.value_or(0);
  if (each.draft_count == 0) each.draft_count = facts.draft_count.value_or(0);
  if (each.name.empty()) each.name = facts.engine;
  return each;
}

/// An address for a report: what stands before an '@' is a credential.
std::string shown_url(const std::string& url) {
  const std::size_t begin = url.find("://");
  if (begin == std::string::npos) return url;
  const std::size_t end = url.find('/', begin + 3);
  const std::size_t at = url.rfind('@', end == std::string::npos ? url.size() : end);
  if (at == std::string::npos || at < begin) return url;
  return url.substr(0, begin + 3) + url.substr(at + 1);
}

std::string words_of(const Arms& arms, Arm arm, const ArmConfig& config) {
  std::string words = line_of(arms.facts(arm));
  if (!config.client.url.empty()) words += " at " + shown_url(config.client.url);
  if (config.process) words += " (started here)";
  for (const auto& [name, value] : config.deployment) words += fmt::format(", {} {}", name, value);
  return words;
}

void set_lossy_mode(const AuditConfig& config, const Arms& arms, JudgeSettings& judge) {
  const auto& told = arms.facts(Arm::kSpeculative).lossy_mode;
  if (config.declared_lossy)
    judge.lossy = {.name = *config.declared_lossy, .source = "the configuration", .budget_tv = {}};
  else if (told)
    judge.lossy = {.name = *told, .source = "the server", .budget_tv = {}};
  if (judge.lossy && config.approximate) judge.lossy->budget_tv = config.approximate->tv;
}

/// Who reads answers again, and what that costs in slack.
void set_reading(const AuditConfig& config, const Arms& arms, RunRecord& record) {
  JudgeSettings& judge = record.judge;
  const auto scorer = arms.scorer();
  if (scorer == nullptr) {
    record.told.emplace_back("rescoring", "the speculative server reads its own answers");
    return;
  }
  judge.baseline = scorer->capabilities();  // for what can be asked of it
  const ReadingFloor floor = reading_floor(arms.client(Arm::kSpeculative), *scorer, record.matrix);
  // A law is off by the gap of a token and by that of the others, both divided by temperature.
  judge.tolerance =
      std::max(judge.tolerance, 2 * floor.gap_max / lowest_temperature(record.matrix));
  record.told.emplace_back(
      "rescoring",
      fmt::format("answers are read by {} at {}, which on {} prompts differs from the speculative "
                  "server by {:.3g} nats at most in {} logprobs: taken for rounding",
                  line_of(scorer->facts()), shown_url(config.scorer.url), floor.prompt_count,
                  floor.gap_max, floor.gap_count));
}

}  // namespace

RunRecord record_of(const AuditConfig& config, Arms& arms) {
  RunRecord record;
  record.matrix = config.matrix;
  const bool takes_ids = arms.client(Arm::kSpeculative).capabilities().takes_token_ids;
  Tokenizer tokenizer(arms);
  for (AuditCase& each : record.matrix.cases) {
    properties::SamplingRequest& request = each.request;
    if (takes_ids && request.prompt.empty() && !request.prompt_text.empty())
      request.prompt = tokenizer.ids(request.prompt_text, each.prompt_name);
    if (!takes_ids && request.prompt_text.empty()) {
      const auto text = arms.client(Arm::kSpeculative).detokenize(request.prompt);
      if (!text)
        throw Error(ErrorKind::kInput,
                    fmt::format("'{}' is given as ids, and this engine takes texts alone; give it "
                                "as a text (prompts.texts)",
                                each.prompt_name),
                    "prompts");
      request.prompt_text = *text;
    }
    if (!config.toy.empty() && request.prompt.empty() && !request.prompt_text.empty())
      throw Error(ErrorKind::kInput,
                  "its law is one of token ids, and this engine tells texts alone: nothing could "
                  "be held to it; leave the toy out, or name an engine that tells ids",
                  "toy");
  }
  JudgeSettings& judge = record.judge;
  judge.false_alarms = config.false_alarms;
  judge.effect_tv = config.effect_tv;
  judge.has_baseline = arms.has_baseline();
  judge.promises_same_seed = config.promises_same_seed;
  judge.audits = config.audits;
  judge.speculative = capabilities_of(arms, Arm::kSpeculative);
  judge.baseline = arms.has_baseline() ? capabilities_of(arms, Arm::kBaseline) : judge.speculative;
  judge.contract = config.contract.empty()
                       ? contract_of_engine(arms.facts(Arm::kSpeculative).engine)
                       : config.contract;
  if (judge.speculative.vocab_size == 0)
    judge.speculative.vocab_size = config.vocab_size.value_or(0);
  set_lossy_mode(config, arms, judge);
  if (config.approximate) {
    need_lossy_mode(*config.approximate, judge);
    record.approximate = config.approximate;
    // Half of the budget of false alarms is for scores.
    if (has_score_budget(*config.approximate)) judge.false_alarms /= 2;
  }
  record.toy = config.toy;
  record.toy_vocab = config.vocab_size;
  if (config.toy.ends_with(".json")) {
    grant_toy_slack(config.toy, arms.facts(Arm::kSpeculative).engine, config.cache_dtype, record);
  } else if (config.toy == "hashed" && !record.toy_vocab && judge.speculative.vocab_size > 0) {
    record.toy_vocab = judge.speculative.vocab_size;
  }
  if (!arms.has_baseline()) set_reading(config, arms, record);
  record.required_claims = config.required_claims;
  record.inconclusive_is_failure = config.inconclusive_is_failure;
  record.traffic = config.traffic;
  record.not_exercised = config.not_exercised;
  record.speculative = identity_of(arms.facts(Arm::kSpeculative));
  if (arms.has_baseline()) {
    record.baseline = identity_of(arms.facts(Arm::kBaseline));
    record.told.emplace_back("baseline", words_of(arms, Arm::kBaseline, config.baseline));
  }
  record.told.emplace_back("speculative", words_of(arms, Arm::kSpeculative, config.speculative));
  if (!config.file.empty()) record.told.emplace_back("configuration", config.file.string());
  return record;
}

CollectResult collect_into(store::ObservationStore& store, properties::audits::Evidence& evidence,
                           Arms& arms, const CollectOrder& order) {
  const AuditConfig& config = order.config;
  const CollectPlan plan{.matrix = order.record.matrix,
                         .judge = order.judge,
                         .settings = order.settings,
                         .time_limit_s = config.time_limit_s,
                         .request_max = config.request_max,
                         .warm_up_s = config.warm_up_s,
                         .stops_at_violation = config.stops_at_violation};
  const auto speculative = arms.shared(Arm::kSpeculative);
  // Whoever has one arm never asks for the other.
  const auto baseline = arms.has_baseline() ? arms.shared(Arm::kBaseline) : speculative;
  std::map<int, std::unique_ptr<properties::Engine>> engines;
  std::unique_ptr<properties::Engine> open;
  if (!config.traffic.arrivals.empty())
    open = open_loop(baseline, speculative, Arrivals(config.traffic.arrivals, config.seed));
  CollectHooks hooks;
  hooks.ask = [&](Arm arm, const std::vector<properties::SamplingRequest>& requests,
                  int concurrency) {
    if (open) return open->generate(arm, requests);
    auto& engine = engines[concurrency];
    if (!engine) engine = engines::two_arms(baseline, speculative, concurrency);
    return engine->generate(arm, requests);
  };
  if (!arms.has_baseline())
    hooks.score = [reader = arms.scorer() ? arms.scorer() : speculative](
                      const std::vector<reference::Token>& tokens, int candidate_count) {
      return reader->score(tokens, candidate_count);
    };
  hooks.keep = [&](const std::vector<properties::Transcript>& transcripts) {
    store.append(transcripts);
  };
  hooks.what_changed = [&] { return arms.what_changed(); };
  hooks.is_interrupted = order.is_interrupted;
  hooks.now = seconds_now;
  hooks.progress = order.progress;
  CollectResult result = collect(plan, hooks, evidence);
  if (result.end == CollectEnd::kArmChanged) write_change(store, result.reason);
  return result;
}

}  // namespace draftproof::tools::audit
