#include "tools/serve/dialect.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::tools::serve {

const std::vector<Dialect>& dialects() {
  static const std::vector<Dialect> list = {llama_cpp_dialect(), vllm_dialect(), sglang_dialect(),
                                            openai_dialect()};
  return list;
}

const Dialect& dialect(std::string_view name) {
  const auto found = std::find_if(dialects().begin(), dialects().end(),
                                  [&](const Dialect& each) { return each.name == name; });
  if (found != dialects().end()) return *found;
  std::string known;
  for (const Dialect& each : dialects()) known += (known.empty() ? "" : ", ") + each.name;
  throw Error(ErrorKind::kInput, "there is no " + std::string(name) + "; known: " + known,
              "--dialect");
}

}  // namespace draftproof::tools::serve
