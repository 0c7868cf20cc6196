// What exact laws cost: for every rule the largest vocabulary, draft and horizon whose sequence law
// takes no more than so many seconds of one core, the other two sizes staying small. Not a test:
// times belong to a machine. Results are in tools/docs/law_cost.md.
//
//   law_cost [SECONDS [RULE ...]]        10 and all rules when not given
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <set>
#include <string>
#include <tuple>

#include "reference/error.h"
#include "reference/law/decoding.h"
#include "reference/model/toys.h"

namespace {

namespace law = draftproof::reference::law;
namespace model = draftproof::reference::model;

struct Size {
  int vocab_size = 2;
  int draft_count = 2;
  int horizon = 3;
};

/// Rows are written in 24ths, so that no token may be rarer.
constexpr int kVocabSizeMax = 12;

law::ModelCase case_for(const law::LawRule& rule, const Size& size) {
  law::ModelCase tiny =
      law::chain_case(model::full_memory_model({size.vocab_size, 1, false}),
                      model::full_memory_model({size.vocab_size, 2, false}), size.draft_count);
  // A tree is one of two children below the root, each the head of a chain, as near as it goes.
  if (rule.shape == law::TakenShape::kOneLevel) {
    tiny.parents.assign(static_cast<std::size_t>(size.draft_count), -1);
  } else if (rule.shape == law::TakenShape::kTree) {
    for (int node = 0; node < size.draft_count; ++node)
      tiny.parents[node] = node < 2 ? -1 : node - 2;
  }
  if (!rule.siblings.empty()) tiny.siblings = rule.siblings.front();
  return tiny;
}

struct Walked {
  double seconds = 0;
  std::uint64_t branches = 0;
};

Walked walk(const law::LawRule& rule, const Size& size) {
  const std::clock_t start = std::clock();
  law::WalkCost cost;
  law::sequence_law(law::decoding_of(case_for(rule, size), rule.make(law::checked(rule, {}))),
                    size.horizon, &cost);
  return {static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, cost.branches};
}

/// Grows one of the sizes for as long as the next is expected to stay within the time.
std::string largest(const law::LawRule& rule, double seconds_max, Size size, int Size::*grown,
                    int most) {
  int found = 0;
  Walked last;
  double growth = 2;
  while (size.*grown <= most && last.seconds * growth <= seconds_max) {
    const Walked now = walk(rule, size);
    if (now.seconds > seconds_max) break;
    if (last.seconds > 0.01) growth = now.seconds / last.seconds;
    found = (size.*grown)++;
    last = now;
  }
  if (found == 0) return "none";
  char text[96];
  std::snprintf(text, sizeof text, "%d%s (%.2g s, %llu branches)", found,
                found == most ? " or more" : "", last.seconds,
                static_cast<unsigned long long>(last.branches));
  return text;
}

}  // namespace

int main(int count, char** arguments) {
  const double seconds = count > 1 ? std::atof(arguments[1]) : 10;
  std::printf(
      "| rule | largest vocabulary, 2 drafted, horizon 3 | most drafted, vocabulary 2, "
      "horizon 3 | largest horizon, vocabulary 2, 2 drafted |\n|---|---|---|---|\n");
  const std::set<std::string> asked(arguments + std::min(count, 2), arguments + count);
  for (const law::LawRule& rule : law::law_rules()) {
    if (!asked.empty() && !asked.contains(rule.name)) continue;
    std::printf("| %s |", rule.name.c_str());
    for (const auto& [grown, least, most] :
         {std::tuple(&Size::vocab_size, 2, kVocabSizeMax), std::tuple(&Size::draft_count, 1, 16),
          std::tuple(&Size::horizon, 1, 32)}) {
      Size size;
      size.*grown = least;
      std::string text;
      try {
        text = largest(rule, seconds, size, grown, most);
      } catch (const draftproof::Error& error) {
        text = error.what();
      }
      std::printf(" %s |", text.c_str());
      std::fflush(stdout);
    }
    std::printf("\n");
  }
}
