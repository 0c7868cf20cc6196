// A patch is matched line by line over the lines of an entry that say something. Matching tries
// every line as a beginning, the shortest skips first, and goes on behind a match.
#include "gpu/ptx_patch.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "gpu/launches/verify.h"
#include "reference/error.h"

namespace draftproof::gpu {
namespace {

using Kind = PtxPatchLine::Kind;
using Captures = std::map<std::string, std::string, std::less<>>;

/// Lines that a "..." may step over.
constexpr std::size_t kSkipMax = 24;

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' ||
         c == '.';
}

/// Blanks collapsed to one, none at the ends.
std::string squeezed(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (!is_blank(c))
      result += c;
    else if (!result.empty() && result.back() != ' ')
      result += ' ';
  }
  if (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// What matching sees of a line of PTX; empty when it steps over it.
std::string significant(std::string_view line) {
  std::string text = squeezed(line);
  if (text.starts_with(".loc")) return "";
  if (text.starts_with("//")) {
    const std::size_t begin = text.find_first_not_of("/ ");
    const bool is_anchor = begin != std::string::npos &&
                           std::string_view(text).substr(begin).starts_with("draftproof:");
    return is_anchor ? text.substr(begin) : "";
  }
  return text;
}

/// Matches `pattern` against the whole of `text` and adds what it captures.
bool matches(std::string_view pattern, std::string_view text, Captures& captures) {
  while (!pattern.empty()) {
    if (pattern.front() != '{' || pattern.find('}') == std::string_view::npos ||
        pattern.size() < 3 || !std::isalpha(static_cast<unsigned char>(pattern[1]))) {
      if (text.empty() || text.front() != pattern.front()) return false;
      pattern.remove_prefix(1);
      text.remove_prefix(1);
      continue;
    }
    const std::size_t close = pattern.find('}');
    const std::string name(pattern.substr(1, close - 1));
    pattern.remove_prefix(close + 1);
    std::size_t length = 0;
    while (length < text.size() && is_word(text[length])) ++length;
    if (length == 0) return false;
    const auto [capture, is_added] = captures.emplace(name, text.substr(0, length));
    if (!is_added && capture->second != text.substr(0, length)) return false;
    text.remove_prefix(length);
  }
  return text.empty();
}

std::string filled_in(std::string_view pattern, const Captures& captures,
                      const std::string& place) {
  std::string result;
  while (!pattern.empty()) {
    const std::size_t close = pattern.find('}');
    if (pattern.front() == '{' && close != std::string_view::npos && close > 1 &&
        std::isalpha(static_cast<unsigned char>(pattern[1]))) {
      const std::string_view name = pattern.substr(1, close - 1);
      const auto capture = captures.find(name);
      if (capture == captures.end())
        throw Error(ErrorKind::kInput, "nothing captured {" + std::string(name) + "}", place);
      result += capture->second;
      pattern.remove_prefix(close + 1);
    } else {
      result += pattern.front();
      pattern.remove_prefix(1);
    }
  }
  return result;
}

/// A module's text as lines, each with what matching sees of it; a removed line is emptied, added
/// lines hang behind the line they follow.
struct Text {
  std::vector<std::string> lines;
  std::vector<std::string> significant;
  std::vector<std::string> added;
};

struct LineRange {
  std::size_t begin;
  std::size_t end;
  std::string entry;
};

/// One way a hunk lies on the text: for each of its lines the text's line, and the captures.
struct Match {
  std::vector<std::size_t> at;
  Captures captures;
};

std::size_t next_significant(const Text& text, std::size_t line, std::size_t end) {
  while (line < end && text.significant[line].empty()) ++line;
  return line;
}

/// Lays the hunk's lines from `index` on over the text from `line` on.
std::optional<Match> lay(const PtxPatchHunk& hunk, std::size_t index, const Text& text,
                         std::size_t line, std::size_t end, Match match) {
  for (; index < hunk.lines.size(); ++index) {
    const PtxPatchLine& wanted = hunk.lines[index];
    if (wanted.kind == Kind::kAdd) {
      match.at.push_back(match.at.empty() ? line : match.at.back());
      continue;
    }
    if (wanted.kind == Kind::kSkip) {
      match.at.push_back(match.at.back());
      for (std::size_t skipped = 0; skipped <= kSkipMax; ++skipped) {
        line = next_significant(text, line, end);
        if (line == end) return std::nullopt;
        if (auto found = lay(hunk, index + 1, text, line, end, match)) return found;
        ++line;
      }
      return std::nullopt;
    }
    line = next_significant(text, line, end);
    if (line == end || !matches(wanted.pattern, text.significant[line], match.captures))
      return std::nullopt;
    match.at.push_back(line++);
  }
  return match;
}

void rewrite(const PtxPatchHunk& hunk, const Match& match, Text& text) {
  for (std::size_t i = 0; i < hunk.lines.size(); ++i) {
    const std::size_t line = match.at[i];
    if (hunk.lines[i].kind == Kind::kRemove) {
      text.lines[line].clear();
      text.significant[line].clear();
    }
    if (hunk.lines[i].kind == Kind::kAdd)
      text.added[line] +=
          "\t" + filled_in(hunk.lines[i].pattern, match.captures, hunk.place) + "\n";
  }
}

/// Applies a hunk wherever it matches inside `range`; how often it did.
std::size_t apply_hunk(const PtxPatchHunk& hunk, const LineRange& range, Text& text) {
  std::size_t count = 0;
  for (std::size_t line = range.begin; line < range.end; ++line) {
    if (text.significant[line].empty()) continue;
    Match seed;
    seed.captures.emplace("entry", range.entry);
    const auto match = lay(hunk, 0, text, line, range.end, std::move(seed));
    if (!match) continue;
    rewrite(hunk, *match, text);
    ++count;
    line = std::max(line, match->at.back());
  }
  return count;
}

/// True when `glob`, which may end in a star, names the entry.
bool is_named(std::string_view glob, std::string_view entry) {
  if (!glob.ends_with('*')) return entry == glob;
  return entry.starts_with(glob.substr(0, glob.size() - 1));
}

/// The bodies of the entries whose name `glob` names.
std::vector<LineRange> entries_of(const Text& text, std::string_view glob) {
  std::vector<LineRange> ranges;
  constexpr std::string_view kEntry = ".entry ";
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const std::size_t keyword = text.significant[i].find(kEntry);
    if (keyword == std::string::npos) continue;
    std::string_view name = std::string_view(text.significant[i]).substr(keyword + kEntry.size());
    name = name.substr(0, name.find_first_of("( "));
    std::size_t end = i;
    while (end < text.lines.size() && !text.lines[end].starts_with('}')) ++end;
    if (is_named(glob, name)) ranges.push_back({i, end, std::string(name)});
    i = end;
  }
  return ranges;
}

Error at(std::string_view file_name, std::size_t line, const std::string& message) {
  return Error(ErrorKind::kInput, message, std::string(file_name) + ":" + std::to_string(line));
}

void read_header(PtxPatch& patch, std::string_view line, std::string_view file_name,
                 std::size_t number) {
  const std::map<std::string, std::string*, std::less<>> fields{
      {"name", &patch.name},   {"statement", &patch.statement}, {"report", &patch.report},
      {"kills", &patch.kills}, {"module", &patch.module},       {"entry", &patch.entry}};
  const std::size_t colon = line.find(':');
  const auto field = fields.find(squeezed(line.substr(0, colon)));
  if (colon == std::string_view::npos || field == fields.end())
    throw at(file_name, number, "expected one of: name, statement, report, kills, module, entry");
  *field->second = squeezed(line.substr(colon + 1));
}

std::size_t read_count(std::string_view line, std::string_view file_name, std::size_t number) {
  const std::string text = squeezed(line.substr(2));
  std::size_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size() || count == 0)
    throw at(file_name, number, "expected \"@@ COUNT\", a positive number of places");
  return count;
}

void read_hunk_line(PtxPatchHunk& hunk, std::string_view line, std::string_view file_name,
                    std::size_t number) {
  PtxPatchLine entry;
  if (squeezed(line) == "...") {
    entry.kind = Kind::kSkip;
  } else {
    const std::string_view marks = " -+";
    const std::size_t mark = marks.find(line.front());
    if (mark == std::string_view::npos)
      throw at(file_name, number, "expected a line that begins with ' ', '-', '+' or \"...\"");
    entry.kind = std::array{Kind::kKeep, Kind::kRemove, Kind::kAdd}[mark];
    entry.pattern = squeezed(line.substr(1));
  }
  const bool is_first_wanted = entry.kind == Kind::kKeep || entry.kind == Kind::kRemove;
  if (hunk.lines.empty() && !is_first_wanted)
    throw at(file_name, number, "a hunk begins with a ' ' or '-' line");
  hunk.lines.push_back(std::move(entry));
}

void check_complete(const PtxPatch& patch, std::string_view file_name) {
  for (const std::string* field :
       {&patch.name, &patch.statement, &patch.report, &patch.kills, &patch.module, &patch.entry})
    if (field->empty())
      throw at(file_name, 1, "name, statement, report, kills, module and entry must all be given");
  if (patch.hunks.empty()) throw at(file_name, 1, "has no hunk");
  for (const PtxPatchHunk& hunk : patch.hunks) {
    const bool changes = std::any_of(hunk.lines.begin(), hunk.lines.end(), [](const auto& line) {
      return line.kind == Kind::kRemove || line.kind == Kind::kAdd;
    });
    if (!changes) throw Error(ErrorKind::kInput, "the hunk changes nothing", hunk.place);
  }
}

}  // namespace

PtxPatch parse_ptx_patch(std::string_view text, std::string_view file_name) {
  PtxPatch patch;
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    if (squeezed(line).empty() || line.starts_with('#')) continue;
    if (line.starts_with("@@")) {
      patch.hunks.push_back({read_count(line, file_name, number),
                             {},
                             std::string(file_name) + ":" + std::to_string(number)});
    } else if (patch.hunks.empty()) {
      read_header(patch, line, file_name, number);
    } else {
      read_hunk_line(patch.hunks.back(), line, file_name, number);
    }
  }
  check_complete(patch, file_name);
  return patch;
}

std::string patched(const PtxPatch& patch, std::string_view ptx) {
  Text text;
  for (const std::string_view line : lines_of(ptx)) {
    text.lines.emplace_back(line);
    text.significant.push_back(significant(line));
  }
  text.added.resize(text.lines.size());
  const std::vector<LineRange> ranges = entries_of(text, patch.entry);
  for (const PtxPatchHunk& hunk : patch.hunks) {
    std::size_t count = 0;
    for (const LineRange& range : ranges) count += apply_hunk(hunk, range, text);
    if (count != hunk.matches)
      throw Error(ErrorKind::kInput,
                  "patch " + patch.name + " no longer applies: it matches " +
                      std::to_string(count) + " places of module " + patch.module +
                      ", and declares " + std::to_string(hunk.matches),
                  hunk.place);
  }
  std::string result;
  result.reserve(ptx.size() + 4096);
  for (std::size_t i = 0; i < text.lines.size(); ++i)
    result += text.lines[i] + "\n" + text.added[i];
  return result;
}

std::vector<std::string> rules_of(const PtxPatch& patch) {
  std::vector<std::string> rules;
  for (const launches::VerifyRule& rule : launches::verify_rules()) {
    const bool is_broken =
        patch.module == rule.module &&
        std::any_of(std::begin(rule.entries), std::end(rule.entries),
                    [&](const char* entry) { return is_named(patch.entry, entry); });
    if (is_broken || patch.module == "shaping") rules.emplace_back(rule.name);
  }
  return rules;
}

PatchedText patched_kernels(const PtxPatch& patch, KernelTexts texts) {
  const auto module = texts.find(patch.module);
  if (module == texts.end())
    throw Error(ErrorKind::kInput, "there is no module '" + patch.module + "'", patch.name);
  module->second = patched(patch, module->second);
  return {"mutant:" + patch.name, patch.statement + " (" + patch.report + ")", std::move(texts)};
}

}  // namespace draftproof::gpu
