#include "tools/engines/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "reference/error.h"
#include "tools/engines/dialects/prompt_batch.h"
#include "tools/engines/http_arm.h"

namespace draftproof::tools::engines {

using properties::Arm;
using properties::Capabilities;
using properties::Completion;
using properties::SamplingRequest;

std::vector<Completion> ArmClient::complete_together(const std::vector<SamplingRequest>& requests) {
  std::vector<Completion> completions;
  for (const SamplingRequest& request : requests) completions.push_back(complete(request));
  return completions;
}

std::vector<std::vector<properties::TokenLogprob>> ArmClient::score(
    const std::vector<reference::Token>&, int) {
  return {};
}

std::optional<std::vector<reference::Token>> ArmClient::tokenize(const std::string&) {
  return std::nullopt;
}

std::optional<std::string> ArmClient::detokenize(const std::vector<reference::Token>&) {
  return std::nullopt;
}

const std::vector<const Dialect*>& all_dialects() {
  static const std::vector<const Dialect*> dialects = {
      &llama_cpp_dialect(), &vllm_dialect(),   &sglang_dialect(),     &tensorrt_llm_dialect(),
      &tgi_dialect(),       &openai_dialect(), &openai_chat_dialect()};
  return dialects;
}

const Dialect& dialect_named(std::string_view name) {
  std::string names;
  for (const Dialect* each : all_dialects()) {
    if (each->info().name == name) return *each;
    names += each->info().name + ", ";
  }
  throw Error(
      ErrorKind::kInput,
      fmt::format("\"{}\" is no engine whose protocol is known; one of: {}auto", name, names),
      "engine");
}

const std::vector<DialectInfo>& dialect_infos() {
  static const std::vector<DialectInfo> infos = [] {
    std::vector<DialectInfo> list;
    for (const Dialect* each : all_dialects()) list.push_back(each->info());
    return list;
  }();
  return infos;
}

std::unique_ptr<ArmClient> http_client(const ClientOptions& options) {
  return std::make_unique<HttpArm>(options);
}

namespace {

class TwoArms : public properties::Engine {
 public:
  TwoArms(std::shared_ptr<ArmClient> baseline, std::shared_ptr<ArmClient> speculative,
          int concurrency)
      : baseline_(std::move(baseline)),
        speculative_(std::move(speculative)),
        concurrency_(static_cast<std::size_t>(concurrency)) {}

  /// What both can do; drafts are those of the speculative arm.
  Capabilities capabilities() const override {
    const Capabilities other = baseline_->capabilities();
    Capabilities both = speculative_->capabilities();
    if (other.name != both.name) both.name = other.name + " | " + both.name;
    if (other.vocab_size > 0 && both.vocab_size > 0 && other.vocab_size != both.vocab_size)
      throw Error(ErrorKind::kInput,
                  fmt::format("the baseline has {} token ids and the speculative arm {}; both must "
                              "serve one model",
                              other.vocab_size, both.vocab_size),
                  "arm");
    both.vocab_size = std::max(both.vocab_size, other.vocab_size);
    both.can_draw = both.can_draw && other.can_draw;
    if (other.logprobs != both.logprobs) both.logprobs = properties::LogprobKind::kNone;
    both.takes_token_ids = both.takes_token_ids && other.takes_token_ids;
    both.returns_token_ids = both.returns_token_ids && other.returns_token_ids;
    both.takes_seed = both.takes_seed && other.takes_seed;
    return both;
  }

  std::vector<Completion> generate(Arm arm, const std::vector<SamplingRequest>& requests) override {
    ArmClient& client = client_of(arm);
    std::vector<Completion> completions(requests.size());
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::exception_ptr broken;  // under the mutex
    const auto work = [&] {
      for (std::size_t i = 0; (i = next++) < requests.size();) {
        try {
          completions[i] = client.complete(requests[i]);
        } catch (...) {
          next = requests.size();  // others finish what they have
          const std::lock_guard lock(mutex);
          if (!broken) broken = std::current_exception();
        }
      }
    };
    {
      std::vector<std::jthread> workers;
      for (std::size_t i = 1; i < std::min(concurrency_, requests.size()); ++i)
        workers.emplace_back(work);
      work();
    }
    if (broken) std::rethrow_exception(broken);
    return completions;
  }

 protected:
  ArmClient& client_of(Arm arm) { return arm == Arm::kBaseline ? *baseline_ : *speculative_; }

 private:
  std::shared_ptr<ArmClient> baseline_, speculative_;
  std::size_t concurrency_;
};

class TogetherArms final : public TwoArms {
 public:
  using TwoArms::TwoArms;

  std::vector<Completion> generate(Arm arm, const std::vector<SamplingRequest>& requests) override {
    std::vector<Completion> completions;
    for (std::size_t begin = 0; begin < requests.size();) {
      std::size_t end = begin + 1;
      while (end < requests.size() && end - begin < kPromptsTogetherMax &&
             differ_in_prompt(requests[begin], requests[end]))
        ++end;
      const auto at = [&](std::size_t i) {
        return requests.begin() + static_cast<std::ptrdiff_t>(i);
      };
      for (Completion& each : client_of(arm).complete_together({at(begin), at(end)}))
        completions.push_back(std::move(each));
      begin = end;
    }
    return completions;
  }

 private:
  static bool differ_in_prompt(SamplingRequest one, const SamplingRequest& other) {
    one.prompt = other.prompt;
    return one == other;
  }
};

}  // namespace

std::unique_ptr<properties::Engine> two_arms(std::shared_ptr<ArmClient> baseline,
                                             std::shared_ptr<ArmClient> speculative,
                                             int concurrency) {
  DRAFTPROOF_CHECK(baseline && speculative);
  if (concurrency < 1) throw Error(ErrorKind::kInput, "must be at least 1", "concurrency");
  return std::make_unique<TwoArms>(std::move(baseline), std::move(speculative), concurrency);
}

std::unique_ptr<properties::Engine> two_arms_together(std::shared_ptr<ArmClient> baseline,
                                                      std::shared_ptr<ArmClient> speculative) {
  DRAFTPROOF_CHECK(baseline && speculative);
  return std::make_unique<TogetherArms>(std::move(baseline), std::move(speculative), 1);
}

}  // namespace draftproof::tools::engines
