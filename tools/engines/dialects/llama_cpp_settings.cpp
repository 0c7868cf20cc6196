#include "tools/engines/dialects/llama_cpp_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reference/error.h"
#include "tools/engines/dialects/answer_fields.h"
#include "tools/engines/dialects/regex_grammar.h"

namespace draftproof::tools::engines {
namespace {

using properties::SamplingRequest;

constexpr int kLlamaWindow = 64;  ///< of penalties, where a request names none
constexpr int kBannedIdsMax = 1 << 16;

Words llama_words() {
  Words words{.engine = "llama.cpp"};
  words.has_window = true;
  words.has_allowed_ids = true;
  words.has_min_tokens = false;
  words.has_stop_ids = false;
  return words;
}

/// Pairs; false bans. What is not allowed is banned id by id.
Json bias_pairs(const reference::Adjustments& adjustments, const Session& session) {
  Json pairs = Json::array();
  for (const auto& [token, bias] : adjustments.logit_bias)
    pairs.push_back({token, std::isfinite(bias) ? Json(bias) : Json(false)});
  if (!adjustments.allowed_ids) return pairs;
  if (session.vocab_size == 0 || session.vocab_size > kBannedIdsMax)
    no_word("adjustments.allowed_ids", "llama.cpp",
            fmt::format("others are banned one by one, which is done up to {} ids; take a grammar",
                        kBannedIdsMax));
  std::vector<bool> is_allowed(static_cast<std::size_t>(session.vocab_size), false);
  for (const auto id : *adjustments.allowed_ids) is_allowed[static_cast<std::size_t>(id)] = true;
  for (int id = 0; id < session.vocab_size; ++id)
    if (!is_allowed[static_cast<std::size_t>(id)]) pairs.push_back({id, false});
  return pairs;
}

Json adapters_of(const std::string& name, const Session& session) {
  if (name.empty()) return Json::array();
  for (std::size_t i = 0; i < session.adapters.size(); ++i) {
    const std::string& path = session.adapters[i];
    if (name == path || name == std::to_string(i) || path.ends_with("/" + name))
      return Json::array({{{"id", i}, {"scale", 1.0}}});
  }
  throw Error(ErrorKind::kInput,
              fmt::format("\"{}\" is no adapter of this server, which was started with {}; name it "
                          "by its file or its place in /lora-adapters",
                          name, session.adapters.size()),
              "adapter");
}

bool is_same(const Json& sent, const Json& echoed) {
  if (sent.is_number() && echoed.is_number())
    return static_cast<float>(sent.get<double>()) == static_cast<float>(echoed.get<double>());
  return sent == echoed;
}

[[noreturn]] void other_echo(const std::string& field, const Json& sent, const std::string& echo) {
  throw Error(ErrorKind::kInput,
              fmt::format("was sent as {}, and the engine says that it used {}; this build takes "
                          "the field otherwise, so nothing can be judged under it",
                          sent.dump(), echo),
              field);
}

void require_bias_echo(const Json& sent, const Json& echo) {
  for (const Json& pair : sent) {
    const bool is_there = std::any_of(echo.begin(), echo.end(), [&](const Json& each) {
      if (!each.is_object() || each.value("token", Json()) != pair[0]) return false;
      const Json bias = each.value("bias", Json());
      return pair[1] == false ? bias.is_null() || bias == false : is_same(pair[1], bias);
    });
    if (!is_there) other_echo("logit_bias", pair, echo.dump());
  }
}

}  // namespace

Json llama_settings(const SamplingRequest& request, const Session& session) {
  require_words(request, llama_words(), kLlamaSeedMax, session);
  const auto& sampling = request.sampling;
  const auto& penalties = request.adjustments.penalties;
  Json body = {{"n_predict", request.max_tokens},
               {"samplers", {"penalties", "top_k", "top_p", "min_p", "temperature"}},
               {"temperature", sampling.temperature},
               {"top_k", sampling.top_k},
               {"top_p", sampling.top_p},
               {"min_p", sampling.min_p},
               {"typical_p", 1.0},
               {"top_n_sigma", -1.0},
               {"dynatemp_range", 0.0},
               {"xtc_probability", 0.0},
               {"dry_multiplier", 0.0},
               {"mirostat", 0},
               {"repeat_penalty", penalties.repetition},
               {"repeat_last_n", penalties.last_n.value_or(kLlamaWindow)},
               {"frequency_penalty", penalties.frequency},
               {"presence_penalty", penalties.presence},
               {"logit_bias", bias_pairs(request.adjustments, session)},
               {"ignore_eos", request.ignores_end},
               {"stop", Json::array()},
               {"grammar", request.grammar.empty() ? "" : gbnf_of_regex(request.grammar)},
               {"lora", adapters_of(request.adapter, session)},
               {"n_probs", request.logprob_count < 0 ? 0 : std::max(1, request.logprob_count)},
               {"post_sampling_probs", false},
               {"return_tokens", true},
               {"cache_prompt", request.uses_prefix_cache},
               {"stream", request.is_streamed}};
  body["seed"] = request.seed ? Json(*request.seed) : Json(-1);
  if (session.is_draftless) body["speculative.n_max"] = 0;
  return body;
}

void require_echo(const Json& sent, const Json& settings) {
  for (const char* field : {"n_predict",
                            "temperature",
                            "top_k",
                            "top_p",
                            "min_p",
                            "typical_p",
                            "top_n_sigma",
                            "dynatemp_range",
                            "xtc_probability",
                            "dry_multiplier",
                            "mirostat",
                            "repeat_penalty",
                            "frequency_penalty",
                            "presence_penalty",
                            "n_probs",
                            "samplers",
                            "grammar",
                            "ignore_eos",
                            "stop",
                            "post_sampling_probs"}) {
    const auto echoed = settings.find(field);
    if (echoed != settings.end() && !is_same(sent.at(field), *echoed))
      other_echo(field, sent.at(field), echoed->dump());
  }
  // Negative ones are replaced by what they mean.
  for (const char* field : {"seed", "repeat_last_n"}) {
    const auto echoed = settings.find(field);
    if (echoed != settings.end() && sent.at(field).get<double>() >= 0 && sent.at(field) != *echoed)
      other_echo(field, sent.at(field), echoed->dump());
  }
  if (const auto bias = settings.find("logit_bias"); bias != settings.end() && bias->is_array())
    require_bias_echo(sent.at("logit_bias"), *bias);
  if (!sent.contains("speculative.n_max")) return;
  const auto switched = settings.find("speculative.n_max");
  if (switched == settings.end() || *switched != 0)
    throw Error(ErrorKind::kInput,
                "this build does not take the request's switch of drafts (its answer does not "
                "repeat it, llama.cpp#23052); start a second server without a draft for the "
                "baseline",
                "speculative.n_max");
}

}  // namespace draftproof::tools::engines
