#include "tools/audit/toy_law.h"

#include <algorithm>

#include "reference/contract.h"
#include "reference/error.h"
#include "tools/audit/config_values.h"
#include "tools/serve/served_toy.h"
#include "tools/toys/toy_spec.h"

namespace draftproof::tools::audit {
namespace {

using properties::audits::KnownTarget;
using reference::Token;

/// Contexts to look at: a toy of thousands of tokens shows its specials in the first ones.
constexpr int kContextsMax = 64;
constexpr double kLiveAbove = 1e-9;

std::vector<Token> live_tokens(const KnownTarget& target) {
  const int count = target.vocab_size();
  std::vector<bool> is_live(static_cast<std::size_t>(count), false);
  // From the end: specials are the first ids, and their own rows say nothing of the others.
  for (int i = 0; i < std::min(count, kContextsMax); ++i) {
    properties::SamplingRequest request;
    request.prompt = {count - 1 - i};
    const std::vector<double> law = target.next(request, {});
    for (std::size_t token = 0; token < law.size(); ++token)
      if (law[token] > kLiveAbove) is_live[token] = true;
  }
  std::vector<Token> live;
  for (int token = 0; token < count; ++token)
    if (is_live[static_cast<std::size_t>(token)]) live.push_back(token);
  return live;
}

}  // namespace

ToyLaw toy_law(const std::string& toy, const std::string& contract, std::optional<int> vocab_size,
               const std::string& place) {
  ToyLaw law;
  if (toy.ends_with(".json")) {
    law.target = toys::known_target(toys::read_manifest(toy), contract);
  } else {
    serve::ServedModels models;
    try {
      models = serve::served_models(toy, toy == "hashed" ? vocab_size : std::nullopt);
    } catch (const Error& error) {
      refuse(place, error.message() + "; or the .toy.json that `draftproof toy write` wrote");
    }
    law.target = properties::audits::toy_target({models.target, contract});
    law.draft = properties::audits::toy_target({models.draft, contract});
  }
  law.live = live_tokens(*law.target);
  return law;
}

std::string contract_of_engine(const std::string& engine) {
  if (engine == "tgi") return "transformers";
  for (const reference::Contract& each : reference::contracts())
    if (each.name == engine) return engine;
  return "default";
}

}  // namespace draftproof::tools::audit
