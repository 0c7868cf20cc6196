// A served world without sockets: what dialects read bodies against, and completions made by hand.
#pragma once

#include <memory>
#include <string>

#include "reference/error.h"
#include "tools/serve/dialect.h"
#include "tools/serve/served_toy.h"

namespace draftproof::tests {

struct ServedWorld {
  explicit ServedWorld(const tools::serve::ToySettings& settings)
      : options(tools::serve::served_toy(settings)), served{options.model,
                                                            &options.host.config,
                                                            &options.host.spelling,
                                                            options.eos,
                                                            options.draft_method,
                                                            1000} {}
  ServedWorld(const ServedWorld&) = delete;

  tools::serve::ServiceOptions options;
  tools::serve::Served served;

  std::unique_ptr<tools::serve::Exchange> read(const std::string& body, std::size_t endpoint = 0) {
    return options.dialect.endpoints[endpoint].read(tools::serve::parse_body(body), served);
  }
  tools::serve::Order order(const std::string& body, std::size_t endpoint = 0) {
    return read(body, endpoint)->orders.at(0);
  }
  /// What is wrong with a body; empty: nothing.
  std::string complaint(const std::string& body, std::size_t endpoint = 0) {
    try {
      read(body, endpoint);
    } catch (const Error& error) {
      return error.what();
    } catch (const tools::serve::UnknownModel& error) {
      return std::string("404 ") + error.what();
    }
    return "";
  }
};

/// Eight tokens a .. g and an end token 7.
inline tools::serve::ToySettings eight_tokens(const std::string& dialect) {
  tools::serve::ToySettings settings;
  settings.toy = "hashed";
  settings.dialect = dialect;
  settings.eos = 7;
  return settings;
}

/// "bc" behind "a": two verifications, one draft of two tokens of which one was accepted.
inline tools::serve::Completion completion_of_two() {
  tools::serve::Completion done;
  done.prompt = {0};
  done.tokens = {{1, -0.5, -0.25, {{1, -0.5}, {2, -1.5}}}, {2, -1.0, -1.0, {{1, -0.5}, {2, -1.0}}}};
  done.text = "bc";
  done.text_offsets = {0, 1};
  done.finish = tools::serve::FinishReason::kLength;
  done.metrics.verifications = 2;
  done.metrics.drafted = 2;
  done.metrics.accepted = 1;
  done.metrics.emitted = 2;
  done.metrics.accepted_histogram = {1, 1};
  done.drafts = 1;
  return done;
}

}  // namespace draftproof::tests
