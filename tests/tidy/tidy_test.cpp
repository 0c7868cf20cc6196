// The house rules that a program can check, checked: reviewers never argue about them. What files
// may include and where they lie is borders_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/tidy/source_tree.h"

namespace draftproof::tests {
namespace {

namespace fs = std::filesystem;

Complaints long_lines(const SourceFile& file) {
  Complaints complaints;
  if (!is_code(file.path)) return complaints;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    // Columns, not bytes: continuation bytes of UTF-8 do not count.
    const auto columns = std::count_if(file.lines[i].begin(), file.lines[i].end(),
                                       [](unsigned char byte) { return (byte & 0xc0) != 0x80; });
    if (columns > 100) complaints.push_back(at(file, i) + ": longer than 100 columns");
  }
  return complaints;
}

Complaints long_files(const SourceFile& file) {
  if (!is_code(file.path) || file.lines.size() <= 400) return {};
  return {file.path + ": " + std::to_string(file.lines.size()) +
          " lines, limit 400: split by noun"};
}

// A function starts at column 0 with a line that ends in '{' and ends with '}' at column 0.
Complaints long_functions(const SourceFile& file) {
  static const std::regex not_a_function(
      R"(^(namespace|class|struct|enum|union|extern|template<|constexpr|const|static const|)"
      R"(inline constexpr|\}|#).*)");
  Complaints complaints;
  if (!is_code(file.path)) return complaints;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    const bool opens = !line.empty() && line.back() == '{' && line[0] != ' ' && line[0] != '/';
    if (!opens || std::regex_match(line, not_a_function)) continue;
    std::size_t end = i + 1;
    while (end < file.lines.size() && (file.lines[end].empty() || file.lines[end][0] != '}')) ++end;
    if (end - i + 1 > 70)
      complaints.push_back(at(file, i) + ": function of " + std::to_string(end - i + 1) +
                           " lines, limit 70");
    i = end;
  }
  return complaints;
}

Complaints markers(const SourceFile& file) {
  // Spelt apart so that this file does not complain about itself.
  static const std::regex marker(std::string(R"(\b(TO)") + "DO|FIX" + "ME|XX" + "X|HA" +
                                 R"(CK)\b)");
  Complaints complaints;
  for (std::size_t i = 0; i < file.lines.size(); ++i)
    if (std::regex_search(file.lines[i], marker))
      complaints.push_back(at(file, i) + ": a marker for later work");
  return complaints;
}

Complaints outside_paths(const SourceFile& file) {
  static const std::regex outside(std::string(R"(\.\./sha)") + "red|/wo" + "rk/|/ho" + "me/|/ro" +
                                  "ot/");
  Complaints complaints;
  for (std::size_t i = 0; i < file.lines.size(); ++i)
    if (std::regex_search(file.lines[i], outside))
      complaints.push_back(at(file, i) + ": a path outside the project");
  return complaints;
}

Complaints vague_names(const SourceFile& file) {
  static const std::regex vague(
      R"((^|[_/])(util|utils|helper|helpers|manager|misc|common|fast|new)(_|\.|$))");
  const std::string name = fs::path(file.path).filename().string();
  if (is_code(file.path) && std::regex_search(name, vague))
    return {file.path + ": a name that says nothing"};
  return {};
}

// The glossary is law in code: what a text or a comment quotes of others is not looked at.
Complaints foreign_words(const SourceFile& file) {
  static const std::regex quoted(R"rx("([^"\\]|\\.)*"|//.*)rx");
  static const std::regex foreign(
      std::string(R"(\b(num_\w+|\w+_len|\w*resampl\w*|\w*corrected\w*|logit_war)") +
      R"(p\w*|warpers?)\b)");
  Complaints complaints;
  if (!is_code(file.path)) return complaints;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    std::smatch match;
    const std::string code = std::regex_replace(file.lines[i], quoted, "");
    if (std::regex_search(code, match, foreign))
      complaints.push_back(at(file, i) + ": '" + match[0].str() + "' is no word of the glossary");
  }
  return complaints;
}

bool begins_with_a_comment(const SourceFile& file) {
  // Plain C, which engines include, has comments of its own kind.
  return !file.lines.empty() &&
         (file.lines[0].starts_with("//") || file.lines[0].starts_with("/* "));
}

// Every file says what it is; a source may leave that to the header of its name.
Complaints files_without_a_word(const std::vector<SourceFile>& files) {
  std::set<std::string> introduced;
  for (const auto& file : files)
    if (begins_with_a_comment(file)) introduced.insert(file.path);
  Complaints complaints;
  for (const auto& file : files) {
    const std::string header = fs::path(file.path).replace_extension(".h").generic_string();
    if (is_code(file.path) && !introduced.contains(file.path) && !introduced.contains(header))
      complaints.push_back(file.path + ": no comment at its head says what it is");
  }
  return complaints;
}

// A folder's page is one screen; what needs more room belongs into tools/docs. Two are longer: the
// tour at the root, and the page of all rules and methods.
Complaints pages(const std::vector<SourceFile>& files) {
  constexpr std::size_t kScreen = 50;
  Complaints complaints;
  std::set<std::string> described;
  for (const auto& file : files) {
    if (fs::path(file.path).filename() != "README.md") continue;
    described.insert(fs::path(file.path).parent_path().generic_string());
    const bool is_long = file.path == "README.md" || file.path == "reference/README.md";
    if (!is_long && file.lines.size() > kScreen)
      complaints.push_back(file.path + ": more than one screen of " + std::to_string(kScreen) +
                           " lines");
  }
  for (const auto& folder : top_folders())
    if (!described.contains(folder)) complaints.push_back(folder + ": has no README.md");
  return complaints;
}

Complaints unsafe_floating_point(const SourceFile& file) {
  static const std::regex flag(std::string("-ffast") + "-math|--use_fast" + "_math|-use_fast" +
                               "_math|-Ofa" + "st");
  // A card states how somebody else's kernel is compiled, and fetch.sh does as it says.
  static const std::regex theirs(R"(.*\.md$|fixtures/kernels/.*|tools/kernels/.*)");
  const bool is_ours = !std::regex_match(file.path, theirs);
  Complaints complaints;
  for (std::size_t i = 0; i < file.lines.size(); ++i)
    if (is_ours && std::regex_search(file.lines[i], flag))
      complaints.push_back(at(file, i) + ": floating point that decides is never relaxed");
  return complaints;
}

TEST(Tidy, ReadsTheTreeItJudges) { EXPECT_GT(all_files().size(), 50u); }

TEST(Tidy, LinesAreAtMostAHundredColumns) {
  expect_clean(long_lines);
  EXPECT_EQ(long_lines({"a.h", {std::string(101, 'x')}}).size(), 1u);
  EXPECT_TRUE(long_lines({"a.h", {std::string(100, 'x')}}).empty());
}

TEST(Tidy, FilesAreAtMostFourHundredLines) {
  expect_clean(long_files);
  EXPECT_EQ(long_files({"a.h", std::vector<std::string>(401)}).size(), 1u);
}

TEST(Tidy, FunctionsAreAtMostSeventyLines) {
  expect_clean(long_functions);
  SourceFile file{"a.cpp", {"void f() {"}};
  file.lines.resize(70, "  ;");
  file.lines.push_back("}");
  EXPECT_EQ(long_functions(file).size(), 1u);
}

TEST(Tidy, NothingIsLeftForLater) {
  expect_clean(markers);
  EXPECT_EQ(markers({"a.h", {std::string("// TO") + "DO: x"}}).size(), 1u);
}

TEST(Tidy, NoPathLeavesTheProject) {
  expect_clean(outside_paths);
  EXPECT_EQ(outside_paths({"a.h", {std::string("// see ../sha") + "red/x"}}).size(), 1u);
}

TEST(Tidy, NamesSaySomething) {
  expect_clean(vague_names);
  EXPECT_EQ(vague_names({"gpu/string_utils.h", {}}).size(), 1u);
  EXPECT_TRUE(vague_names({"gpu/renewal.h", {}}).empty());
}

TEST(Tidy, IdentifiersUseTheWordsOfTheGlossary) {
  expect_clean(foreign_words);
  EXPECT_EQ(foreign_words({"a.h", {std::string("int num") + "_drafts;"}}).size(), 1u);
  EXPECT_EQ(foreign_words({"a.h", {std::string("int draft") + "_len;"}}).size(), 1u);
  EXPECT_EQ(foreign_words({"a.h", {std::string("Token re") + "sampled_token;"}}).size(), 1u);
  EXPECT_TRUE(foreign_words({"a.h", {"read(\"num_warps\");  // num_warps"}}).empty());
}

TEST(Tidy, EveryFileSaysWhatItIs) {
  for (const auto& complaint : files_without_a_word(all_files())) ADD_FAILURE() << complaint;
  EXPECT_EQ(files_without_a_word({{"a.cpp", {"#include <map>"}}}).size(), 1u);
  EXPECT_EQ(files_without_a_word({{"a.cpp", {"#include <map>"}}, {"a.h", {"#pragma once"}}}).size(),
            2u);
  EXPECT_TRUE(files_without_a_word({{"a.cpp", {"#include <map>"}}, {"a.h", {"// A."}}}).empty());
  EXPECT_TRUE(files_without_a_word({{"a.h", {"/* A: plain C. */"}}}).empty());
}

TEST(Tidy, EveryFolderHasAPageOfOneScreen) {
  for (const auto& complaint : pages(all_files())) ADD_FAILURE() << complaint;
  EXPECT_EQ(pages({}).size(), top_folders().size());
  EXPECT_EQ(pages({{"gpu/README.md", std::vector<std::string>(51)}}).size(), top_folders().size());
}

TEST(Tidy, FloatingPointIsNeverRelaxed) {
  expect_clean(unsafe_floating_point);
  EXPECT_EQ(unsafe_floating_point({"x.cmake", {std::string("-ffast") + "-math"}}).size(), 1u);
}

}  // namespace
}  // namespace draftproof::tests
