// Answer fields: what dialects read and write alike. Reading throws BadAnswer with the place of the
// value, writing throws Error(kInput) at the field of the request.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/engines/dialects/dialect.h"

namespace draftproof::tools::engines {

/// `object[name]`; BadAnswer where there is none, or `object` is none.
const Json& field_of(const Json& object, const std::string& name, const std::string& place);
/// `place.name`, or `name` where place is empty.
std::string joined(const std::string& place, const std::string& name);

/// An id in [0, vocab_size), or of 31 bits where vocab_size is 0.
reference::Token token_of(const Json& value, int vocab_size, const std::string& place);
std::vector<reference::Token> tokens_of(const Json& value, int vocab_size,
                                        const std::string& place);
std::int64_t count_of(const Json& value, const std::string& place);
std::string text_of(const Json& value, const std::string& place);
/// Natural. What is at most `zero_at` is -infinity: how engines write probability 0. NaN and what
/// is no number are a BadAnswer.
double logprob_of(const Json& value, double zero_at, const std::string& place);

/// What engines write for probability 0: vLLM and the OpenAI API, and the least float32.
inline constexpr double kZeroAtOpenai = -9999;
inline constexpr double kZeroAtFloat = -1e38;

/// The value of "token_id:N" (vLLM's and SGLang's spelling of an id as text).
std::optional<std::int64_t> id_in(const std::string& text);

/// The bytes of a text as ids: what stands for tokens where an engine tells texts only. They are
/// the same in both arms whatever the engine's tokens are, so laws of them can be compared.
std::vector<reference::Token> bytes_of(const std::string& text);
inline constexpr int kByteCount = 256;

/// Throws where `value` is not finite: JSON has no word for it.
double finite(double value, const char* field);
/// Throws Error(kInput) at `field`: "has no word in the protocol of ENGINE; ...".
[[noreturn]] void no_word(const std::string& field, const std::string& engine,
                          const std::string& remedy);

/// What an engine's protocol can say beyond the common.
struct Words {
  std::string engine;
  bool has_top_k = true, has_min_p = true, has_repetition = true, has_counted_penalties = true;
  bool has_window = false;  ///< penalties over the last N tokens
  bool has_logit_bias = true, has_allowed_ids = false, has_min_tokens = true;
  bool has_stop_ids = true, has_ignore_end = true, has_grammar = true, has_adapters = true;
  bool has_cache_switch = true;
  double bias_max = 1e6;
};
/// Throws Error(kInput) at the first thing that the request wants and the protocol cannot say:
/// bad_words and a grammar mask always, a request that wants nothing, ids that are none, a seed
/// above `seed_max`, more tokens than the context holds.
void require_words(const properties::SamplingRequest& request, const Words& words,
                   std::uint64_t seed_max, const Session& session);

/// {"ID": BIAS}
Json bias_object(const std::vector<reference::TokenBias>& biases);
/// Ids, or the text where there are none.
Json prompt_of(const properties::SamplingRequest& request);
/// What a completion that ended for want of room says: no fault of the engine.
std::string no_room(std::size_t emitted, int wanted);
/// Values of a Prometheus page whose name holds `part` ("spec_decode"), summed over labels; the
/// label "position" stays in the name.
std::map<std::string, double> counters_in(const std::string& page, std::string_view part);
/// `value[path...]` as text; empty where it is not there.
std::string text_at(const Json& value, std::initializer_list<const char*> path);
std::optional<int> int_at(const Json& value, std::initializer_list<const char*> path);

}  // namespace draftproof::tools::engines
