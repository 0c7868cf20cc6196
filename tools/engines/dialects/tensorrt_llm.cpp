// TensorRT-LLM's trtllm-serve: POST /v1/completions with fields of its own and no others: it
// refuses what it does not know. Fields as read in tensorrt_llm/serve/openai_protocol.py, 2026: ids
// come back where no text is asked for (detokenize: false); logprobs name tokens by their texts,
// and are not asked for; of drafts an answer has avg_decoded_tokens_per_iter, which is no count.
#include "reference/error.h"
#include "tools/engines/dialects/completions_body.h"

namespace draftproof::tools::engines {
namespace {

using properties::Completion;
using properties::SamplingRequest;

class TensorrtLlm final : public Dialect {
 public:
  DialectInfo info() const override {
    return {"tensorrt-llm", "POST /v1/completions", "dialect only"};
  }
  std::vector<std::string> pages() const override {
    return {"/v1/models", "/version", "/server_info"};
  }
  bool recognises(const Pages& pages) const override { return is_owned_by(pages, "tensorrt_llm"); }
  Session session(const Pages& pages) const override { return {.model = only_model(pages)}; }

  ArmFacts facts(const Pages& pages) const override {
    ArmFacts facts;
    facts.engine = "tensorrt-llm";
    facts.version = text_at(page_json(pages, "/version"), {"version"});
    facts.model = text_at(first_model(pages), {"id"});
    return facts;
  }

  properties::Capabilities capabilities(const ArmFacts& facts) const override {
    return {.name = "tensorrt-llm " + facts.version + " " + facts.model, .can_draw = true};
  }

  Call call(const SamplingRequest& request, const Session& session) const override {
    Words words{.engine = "TensorRT-LLM"};
    words.bias_max = 100;
    words.has_adapters = words.has_cache_switch = false;
    require_words(request, words, seed_max(), session);
    if (session.is_draftless)
      no_word("speculation", "TensorRT-LLM", "start a second server without speculative_config");
    if (request.logprob_count >= 0)
      no_word("logprob_count", "TensorRT-LLM", "it names tokens by their texts; leave it at -1");
    Json body = completions_body(request, session);
    body.update({{"prompt", prompt_of(request)},
                 {"top_k", request.sampling.top_k > 0 ? request.sampling.top_k : 0},
                 {"top_p_min", 0.0},
                 {"min_p", request.sampling.min_p},
                 {"repetition_penalty", request.adjustments.penalties.repetition},
                 {"prompt_ignore_length", 0},
                 {"use_beam_search", false},
                 {"min_tokens", request.adjustments.min_tokens},
                 {"ignore_eos", request.ignores_end},
                 {"stop_token_ids", request.stop_token_ids},
                 {"skip_special_tokens", false},
                 {"spaces_between_special_tokens", false},
                 {"include_stop_str_in_output", false},
                 {"detokenize", false}});
    if (!request.adjustments.logit_bias.empty())
      body["logit_bias"] = bias_object(request.adjustments.logit_bias);
    if (!request.grammar.empty())
      body["response_format"] = {{"type", "regex"}, {"regex", request.grammar}};
    return {"/v1/completions", std::move(body)};
  }

  Completion completion(const Json& answer, const SamplingRequest& request, const Json&,
                        const Session& session) const override {
    const Json& choice = choice_of(answer);
    Completion completion;
    completion.token_ids = tokens_of(field_of(choice, "token_ids", "choices[0]"),
                                     session.vocab_size, "choices[0].token_ids");
    completion.text = text_at(choice, {"text"});
    end_by(text_of(field_of(choice, "finish_reason", "choices[0]"), "choices[0].finish_reason"),
           completion.token_ids.size(), request, completion);
    return completion;
  }

  int add_event(Json& whole, const Json& event) const override {
    return add_choice_event(whole, event);
  }
  bool is_whole(const Json& whole) const override { return has_finish(whole); }
  std::vector<std::pair<std::string, std::string>> identity(const Json& answer) const override {
    return completions_identity(answer);
  }
};

}  // namespace

const Dialect& tensorrt_llm_dialect() {
  static const TensorrtLlm dialect;
  return dialect;
}

}  // namespace draftproof::tools::engines
