// HTTP arm: an arm behind a URL, spoken to through a dialect. What the engine did wrong with a
// request that it took is a completion that failed, with its cause; what is wrong with the address,
// the credentials, the choice of engine or a field is an Error with its remedy. It remembers what
// the server said of itself, and refuses to go on with another one.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tools/engines/connection_pool.h"
#include "tools/engines/dialects/dialect.h"

namespace draftproof::tools::engines {

class HttpArm final : public ArmClient {
 public:
  explicit HttpArm(const ClientOptions& options);

  properties::Capabilities capabilities() const override;
  std::uint64_t seed_max() const override;
  ArmFacts facts() override;
  properties::Completion complete(const properties::SamplingRequest& request) override;
  std::vector<properties::Completion> complete_together(
      const std::vector<properties::SamplingRequest>& requests) override;
  std::vector<std::vector<properties::TokenLogprob>> score(
      const std::vector<reference::Token>& tokens, int candidate_count) override;
  std::optional<std::vector<reference::Token>> tokenize(const std::string& text) override;
  std::optional<std::string> detokenize(const std::vector<reference::Token>& tokens) override;
  std::string curl_of(const properties::SamplingRequest& request) const override;

 private:
  /// What was found out of the server, once.
  struct Known {
    const Dialect* dialect = nullptr;
    ArmFacts facts;
    Session session;
  };
  const Known& known() const;
  Pages ask(const std::vector<std::string>& paths) const;
  Known find_out() const;
  Session session() const;

  std::vector<properties::Completion> answered(
      const Call& call, const std::vector<properties::SamplingRequest>& requests,
      const Session& session) const;
  properties::Completion streamed(const Call& call, const properties::SamplingRequest& request,
                                  const Session& session) const;
  std::optional<Json> asked(const Call& call) const;  ///< nullopt: there is no such endpoint
  properties::Completion read(const Dialect& dialect, const Json& answer, const Call& call,
                              const properties::SamplingRequest& request,
                              const Session& session) const;
  void require_status(const http::Reply& reply, const std::string& path) const;
  void require_identity(const Dialect& dialect, const Json& answer) const;
  properties::Completion lost(const http::ConnectionError& error) const;
  std::string redacted(std::string text) const;

  ClientOptions options_;
  std::string key_;  ///< never told
  mutable ConnectionPool pool_;
  mutable std::mutex mutex_;  ///< of what follows
  mutable std::optional<Known> known_;
  mutable std::map<std::string, std::string> identity_;
  mutable std::atomic<std::uint64_t> salt_{0};
  std::string salt_of_arm_;
};

}  // namespace draftproof::tools::engines
