// A served toy in this process, with a client of its own.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tools/engines/http.h"
#include "tools/serve/served_toy.h"

namespace draftproof::tests {

using tools::http::Client;
using tools::http::Reply;
using tools::serve::Json;
using tools::serve::Service;
using tools::serve::ToySettings;

class Served {
 public:
  explicit Served(const ToySettings& settings, const tools::http::ServerOptions& http = {},
                  reference::decode::EngineStepsPtr steps = nullptr) {
    auto options = tools::serve::served_toy(settings);
    options.http = http;
    if (steps) options.host.steps = std::move(steps);
    options.http.port = 0;
    service_ = std::make_unique<Service>(std::move(options));
    client_ = std::make_unique<Client>("127.0.0.1", service_->port());
  }

  Service& service() { return *service_; }
  Client& client() { return *client_; }
  int port() const { return service_->port(); }
  Json post(const std::string& path, const Json& body) {
    const Reply reply = client_->post(path, body.dump());
    EXPECT_EQ(reply.status, 200) << reply.body;
    return Json::parse(reply.body);
  }

 private:
  std::unique_ptr<Service> service_;
  std::unique_ptr<Client> client_;
};

inline ToySettings hashed(const std::string& dialect = "llama.cpp") {
  ToySettings settings;
  settings.toy = "hashed";
  settings.dialect = dialect;
  return settings;
}

inline Json neutral(const std::vector<int>& prompt, int count) {
  return {{"prompt", prompt},   {"n_predict", count},    {"samplers", {"temperature"}},
          {"temperature", 1.0}, {"return_tokens", true}, {"seed", 3}};
}

/// Waits until no request is left and no page is held.
inline bool becomes_idle(const Service& service) {
  for (int i = 0; i < 400; ++i) {
    if (service.totals().unfinished == 0 && service.pages_in_use().live == 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

}  // namespace draftproof::tests
