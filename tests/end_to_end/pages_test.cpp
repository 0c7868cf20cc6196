// Pages for people quote the tool. Goal: no quoted number that the tool does not print. Method:
// each fenced block that begins with a command of exact arithmetic is run; every quoted line must
// be among the lines printed, in this order, "..." standing for any number of lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/end_to_end/command.h"

namespace draftproof::tests {
namespace {

namespace fs = std::filesystem;

struct Quotation {
  std::string place;  // file:line of the command
  std::vector<std::string> arguments;
  std::vector<std::string> lines;
};

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text.substr(0, text.find(" #")));
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// Commands whose output is exact and quick.
bool is_quick(const std::vector<std::string>& arguments) {
  static const std::set<std::string> quick = {"law", "list", "table", "speed"};
  return !arguments.empty() && quick.contains(arguments.front());
}

std::vector<Quotation> quotations_of(const std::string& name, std::istream& page) {
  static const std::string prompt = "$ tools/run.sh ";
  std::vector<Quotation> all;
  bool is_fenced = false;
  bool is_quoting = false;
  int number = 0;
  for (std::string line; std::getline(page, line);) {
    ++number;
    if (trimmed(line).rfind("```", 0) == 0) {
      is_fenced = !is_fenced;
      is_quoting = false;
    } else if (is_fenced && trimmed(line).rfind(prompt, 0) == 0) {
      const auto arguments = words_of(trimmed(line).substr(prompt.size()));
      is_quoting = is_quick(arguments);
      if (is_quoting) all.push_back({name + ":" + std::to_string(number), arguments, {}});
    } else if (is_fenced && trimmed(line).rfind("$ ", 0) == 0) {
      is_quoting = false;
    } else if (is_quoting && !trimmed(line).empty()) {
      all.back().lines.push_back(trimmed(line));
    }
  }
  return all;
}

/// Empty, or the first quoted line that is not printed where it should be.
std::string misquoted(const std::vector<std::string>& quoted, const std::string& printed) {
  std::vector<std::string> lines;
  std::istringstream stream(printed);
  for (std::string line; std::getline(stream, line);)
    if (!trimmed(line).empty()) lines.push_back(trimmed(line));
  std::size_t next = 0;
  bool may_skip = true;  // a quotation may begin anywhere
  for (const std::string& line : quoted) {
    if (line == "...") {
      may_skip = true;
      continue;
    }
    const auto found =
        std::find(lines.begin() + static_cast<std::ptrdiff_t>(next), lines.end(), line);
    const auto at = static_cast<std::size_t>(found - lines.begin());
    if (found == lines.end() || (!may_skip && at != next)) return line;
    next = at + 1;
    may_skip = false;
  }
  return "";
}

std::vector<fs::path> pages() {
  const fs::path root = DRAFTPROOF_SOURCE_DIR;
  std::vector<fs::path> all = {root / "README.md"};
  for (const char* folder : {"reference", "oracle", "fixtures", "tools/docs"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
      if (entry.path().extension() == ".md") all.push_back(entry.path());
  return all;
}

TEST(Pages, QuoteWhatTheToolPrints) {
  std::size_t count = 0;
  for (const fs::path& path : pages()) {
    std::ifstream page(path);
    for (const Quotation& quotation : quotations_of(path.filename().string(), page)) {
      ++count;
      const CommandResult result = draftproof(quotation.arguments);
      EXPECT_EQ(misquoted(quotation.lines, result.out), "") << quotation.place << "\n"
                                                            << result.err;
    }
  }
  EXPECT_GT(count, 5u) << "no page was read";
}

TEST(Pages, SeeAMisquotation) {
  const std::string printed = "kept  2/5\nrejected  3/5\nend\n";
  EXPECT_EQ(misquoted({"kept  2/5", "rejected  3/5"}, printed), "");
  EXPECT_EQ(misquoted({"kept  2/5", "...", "end"}, printed), "");
  EXPECT_EQ(misquoted({"rejected  3/5"}, printed), "");
  EXPECT_EQ(misquoted({"kept  2/5", "end"}, printed), "end") << "lines were left out unsaid";
  EXPECT_EQ(misquoted({"kept  2/7"}, printed), "kept  2/7");
  EXPECT_EQ(misquoted({"rejected  3/5", "kept  2/5"}, printed), "kept  2/5");
}

TEST(Pages, FindTheCommandsOfAPage) {
  std::istringstream page(
      "text\n```\n$ tools/run.sh law --a 1   # exit 0\nline\n```\n"
      "```\n$ tools/run.sh check\nother\n```\n");
  const auto found = quotations_of("page", page);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].arguments, testing::ElementsAre("law", "--a", "1"));
  EXPECT_THAT(found[0].lines, testing::ElementsAre("line"));
  EXPECT_EQ(found[0].place, "page:3");
}

}  // namespace
}  // namespace draftproof::tests
