#include "tools/engines/dialects/regex_grammar.h"

#include <fmt/format.h>

#include <cctype>
#include <string_view>

#include "reference/error.h"

namespace draftproof::tools::engines {
namespace {

/// Recursive descent over alternation > sequence > repetition > atom.
class Translation {
 public:
  explicit Translation(std::string_view text) : text_(text) {
    if (text_.starts_with('^')) at_ = 1;
    if (text_.ends_with('$') && !is_escaped(text_.size() - 1)) text_.remove_suffix(1);
  }

  std::string whole() {
    std::string out = alternation();
    if (!is_done()) refuse("has a ')' without its '('");
    return out;
  }

 private:
  static constexpr int kDepthMax = 64;

  bool is_escaped(std::size_t at) const {
    std::size_t slashes = 0;
    while (slashes < at && text_[at - 1 - slashes] == '\\') ++slashes;
    return slashes % 2 == 1;
  }
  bool is_done() const { return at_ >= text_.size(); }
  char peek() const { return is_done() ? '\0' : text_[at_]; }
  char take() {
    if (is_done()) refuse("ends too early");
    return text_[at_++];
  }
  [[noreturn]] void refuse(const std::string& message) const {
    throw Error(ErrorKind::kInput,
                fmt::format("{} (at character {}); llama.cpp takes it as GBNF, which has literals, "
                            "classes, groups, '|' and the quantifiers * + ? {{n,m}}",
                            message, at_ + 1),
                "grammar");
  }

  std::string alternation() {
    if (++depth_ > kDepthMax) refuse("nests too deeply");
    std::string out = sequence();
    while (peek() == '|') {
      ++at_;
      out += " | " + sequence();
    }
    --depth_;
    return out;
  }

  std::string sequence() {
    std::string out;
    while (!is_done() && peek() != '|' && peek() != ')') {
      if (!out.empty()) out += " ";
      out += repetition();
    }
    return out.empty() ? "\"\"" : out;
  }

  std::string repetition() {
    std::string out = atom();
    while (!is_done()) {
      if (peek() == '{') {
        out += counts();
      } else if (peek() == '*' || peek() == '+' || peek() == '?') {
        out += take();
      } else {
        break;
      }
      if (peek() == '?' || peek() == '+') refuse("has a lazy or possessive quantifier");
      if (peek() == '*' || peek() == '{') refuse("repeats a repetition; group it");
      break;
    }
    return out;
  }

  std::string counts() {
    const std::size_t end = text_.find('}', at_);
    if (end == std::string_view::npos) refuse("has a '{' without its '}'");
    const std::string inside(text_.substr(at_ + 1, end - at_ - 1));
    std::size_t commas = 0;
    for (const char c : inside) {
      if (c == ',')
        ++commas;
      else if (std::isdigit(static_cast<unsigned char>(c)) == 0)
        refuse("has no counts in '{}'");
    }
    if (inside.empty() || inside.front() == ',' || commas > 1) refuse("has no counts in '{}'");
    at_ = end + 1;
    return "{" + inside + "}";
  }

  std::string atom() {
    const char c = take();
    switch (c) {
      case '(':
        return group();
      case '[':
        return char_class();
      case '.':
        return "[^\\n]";
      case '\\':
        return escape();
      case '*':
      case '+':
      case '?':
      case '{':
        --at_;
        refuse("has a quantifier behind nothing");
      case '^':
      case '$':
        --at_;
        refuse("has an anchor inside");
      default:
        return quoted(c);
    }
  }

  std::string group() {
    if (peek() == '?') {
      ++at_;
      if (take() != ':') refuse("has look-around, names or flags");
    }
    std::string out = "(" + alternation() + ")";
    if (take() != ')') refuse("has a '(' without its ')'");
    return out;
  }

  /// A character inside quotes or brackets.
  static std::string safe(char c) {
    if (c == '\n') return "\\n";
    if (c == '\r') return "\\r";
    if (c == '\t') return "\\t";
    if (c == '"' || c == '\\' || c == ']' || c == '[') return std::string("\\") + c;
    return std::string(1, c);
  }

  /// A '^' that comes first would negate.
  static std::string in_class(char c) { return c == '^' ? "\\x5E" : safe(c); }

  std::string quoted(char c) {
    // A character of several bytes stays one.
    std::string out = "\"" + safe(c);
    while (!is_done() && (static_cast<unsigned char>(peek()) & 0xc0) == 0x80) out += take();
    return out + "\"";
  }

  static std::string_view class_of(char letter) {
    switch (letter) {
      case 'd':
        return "0-9";
      case 'w':
        return "A-Za-z0-9_";
      case 's':
        return " \\t\\n\\r";
      default:
        return "";
    }
  }

  char plain_escape(char c) {
    if (c == 'n') return '\n';
    if (c == 'r') return '\r';
    if (c == 't') return '\t';
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) refuse("has an escape that is not known");
    return c;
  }

  std::string escape() {
    const char c = take();
    if (const auto inside = class_of(c); !inside.empty()) return fmt::format("[{}]", inside);
    if (const auto inside = class_of(static_cast<char>(std::tolower(c))); !inside.empty())
      return fmt::format("[^{}]", inside);
    return quoted(plain_escape(c));
  }

  std::string char_class() {
    std::string out = "[";
    if (peek() == '^') out += take();
    for (bool is_first = true; is_first || peek() != ']'; is_first = false) {
      char c = take();
      if (c == '\\') {
        const char letter = take();
        if (const auto inside = class_of(letter); !inside.empty()) {
          out += inside;
          continue;
        }
        c = plain_escape(letter);
        out += c == '-' ? "\\x2D" : in_class(c);  // escaped, it is no range
        continue;
      }
      if (c == '[' && peek() == ':') refuse("has a class by name");
      out += in_class(c);
    }
    ++at_;
    return out + "]";
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string gbnf_of_regex(const std::string& regex) {
  return "root ::= " + Translation(regex).whole();
}

}  // namespace draftproof::tools::engines
