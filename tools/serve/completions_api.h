// The completions API of OpenAI, which vLLM speaks with fields of its own: how answers and streams
// are written, and the fields that both read alike. The rest of a body is each dialect's business.
#pragma once

#include <string>
#include <vector>

#include "tools/serve/dialect.h"

namespace draftproof::tools::serve {

/// Logprobs below are written as this: vLLM's JSON has no -inf either.
inline constexpr double kLeastLogprob = -9999.0;

class CompletionsExchange : public Exchange {
 public:
  explicit CompletionsExchange(const Served& served);

  Json answer(const std::vector<Completion>& done) const override;
  std::string piece(std::size_t index, const Completion& so_far, std::size_t shown) override;
  std::string last_piece(const std::vector<Completion>& done) override;

 protected:
  /// "stream", "stream_options"
  void read_streaming(Fields& fields);
  /// "model": absent or the served one, else UnknownModel.
  void read_model(Fields& fields) const;
  /// "prompt", which must be there; counts them.
  std::vector<std::vector<Token>> read_prompts(Fields& fields);
  /// "logprobs" as a count of the likeliest tokens, `count_max` at most.
  void read_logprob_count(Fields& fields, std::int64_t count_max, Order& order);
  /// "frequency_penalty", "presence_penalty"
  static void read_penalties(Fields& fields, Order& order);
  /// "seed"
  static void read_seed(Fields& fields, Order& order);
  /// "n" and "max_tokens", the last fields that are read: what nobody asked for is refused, and the
  /// orders are made.
  void read_counts_and_end(Fields& fields, const std::vector<std::vector<Token>>& prompts,
                           const Order& order);
  /// Text of a token in lists of logprobs.
  virtual std::string name_of(Token token) const;
  /// What a choice has beside text, index, logprobs and finish_reason; `from`: the first token that
  /// this choice of a stream shows.
  virtual void add_to_choice(Json& /*choice*/, const Completion&, std::size_t /*from*/) const {}
  virtual std::string finish_of(const Completion& done) const;
  /// Logprobs of tokens from `from` on.
  virtual Json logprobs_of(const Completion& done, std::size_t from) const;
  /// Of an answer, or of a chunk of a stream.
  virtual std::string object_name(bool is_chunk) const;
  /// How a choice says its text: {"text": ...} here.
  virtual void add_text(Json& choice, const std::string& text, bool is_chunk) const;

  const Served* served_;
  int logprob_count_ = -1;

 private:
  Json choice_of(std::size_t index, const Completion& done, std::size_t from, bool is_chunk) const;
  Json frame(bool is_chunk) const;
  Json usage_of(const std::vector<Completion>& done) const;

  std::string id_;
  std::size_t prompt_count_ = 1;  ///< orders are as many choices of each
  bool has_usage_ = false;
};

/// {"object": "list", "data": [...]}, with `fields` added to the model's entry.
Json model_list(const Served& served, const char* owner, const Json& fields);

}  // namespace draftproof::tools::serve
