// Completions body: what the dialects that descend from OpenAI's /v1/completions share: bodies with
// choices, events with parts of them, lists of models.
#pragma once

#include <string>
#include <vector>

#include "tools/engines/dialects/answer_fields.h"

namespace draftproof::tools::engines {

/// The sampling fields that all of them have, n, stop and the stream's options among them.
Json completions_body(const properties::SamplingRequest& request, const Session& session);

/// choices[0]; BadAnswer where there is not exactly one.
const Json& choice_of(const Json& answer);
/// "length", "stop", or the engine's failure.
void end_by(const std::string& finish, std::size_t token_count,
            const properties::SamplingRequest& request, properties::Completion& completion);

/// Adds an event's choice to `whole`; tokens that it brought: its token_ids, or the bytes of its
/// text where it has none.
int add_choice_event(Json& whole, const Json& event);
/// Whether a finish_reason came.
bool has_finish(const Json& whole);

/// Logprobs of {"token_logprobs", "top_logprobs"}, where tokens are called "token_id:N"; nothing
/// where names are texts, which two tokens may share.
void add_choice_logprobs(const Json& logprobs, const properties::SamplingRequest& request,
                         const Session& session, properties::Completion& completion);
/// Likeliest first, lower ids first among equals.
void sort_candidates(std::vector<properties::TokenLogprob>& candidates);

std::vector<std::pair<std::string, std::string>> completions_identity(const Json& answer);

/// The JSON of a page that was answered; null otherwise.
Json page_json(const Pages& pages, const std::string& path);
std::string page_text(const Pages& pages, const std::string& path);
/// data[0] of /v1/models; null where there is none.
Json first_model(const Pages& pages);
/// The id of the only one; empty where there are several, or none. Adapters of vLLM stand there
/// too, with their parent, and do not count.
std::string only_model(const Pages& pages);
bool is_owned_by(const Pages& pages, std::string_view owner);

}  // namespace draftproof::tools::engines
