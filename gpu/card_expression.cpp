// Recursive descent over the grammar
//   expression := comparison [ "if" comparison "else" expression ]
//   comparison := sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
//   sum        := product { ("+" | "-") product }
//   product    := factor { ("*" | "/" | "%") factor }
//   factor     := NUMBER [ "**" NUMBER ] | NAME | "-" factor | "(" expression ")"
// "**" joins two literals only ("2**32"): limits of index types are powers of two.
#include "gpu/card_expression.h"

#include <cctype>
#include <limits>
#include <utility>
#include <vector>

#include "reference/error.h"

namespace draftproof::gpu {
namespace {

constexpr int kDepthMax = 64;

}  // namespace

struct CardExpression::Node {
  std::string operation;  ///< "number", "name", "negate", "if", or the operator itself
  std::int64_t number = 0;
  std::string name;
  std::vector<std::shared_ptr<const Node>> operands;
};

namespace {

using Node = CardExpression::Node;
using Tree = std::shared_ptr<const Node>;

class Parser {
 public:
  Parser(std::string_view text, const std::string& place) : text_(text), place_(place) {}

  Tree parse() {
    Tree tree = expression();
    if (!peek().empty()) fail("unexpected '" + std::string(peek()) + "'");
    return tree;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ErrorKind::kInput, "expression '" + std::string(text_) + "': " + message, place_);
  }

  /// The token at the current position, empty at the end.
  std::string_view peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ == text_.size()) return {};
    const char first = text_[at_];
    std::size_t end = at_ + 1;
    const auto is_word = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    if (is_word(first)) {
      while (end < text_.size() && is_word(text_[end])) ++end;
    } else if (end < text_.size()) {
      const std::string_view two = text_.substr(at_, 2);
      if (two == "<=" || two == ">=" || two == "==" || two == "!=" || two == "**") ++end;
    }
    return text_.substr(at_, end - at_);
  }

  std::string_view take() {
    const std::string_view token = peek();
    at_ += token.size();
    return token;
  }

  bool take_if(std::string_view wanted) {
    if (peek() != wanted) return false;
    take();
    return true;
  }

  static Tree make(std::string_view operation, std::vector<Tree> operands) {
    auto node = std::make_shared<Node>();
    node->operation = operation;
    node->operands = std::move(operands);
    return node;
  }

  Tree expression() {
    if (++depth_ > kDepthMax) fail("nested too deeply");
    Tree value = comparison();
    if (take_if("if")) {
      Tree condition = comparison();
      if (!take_if("else")) fail("'if' without 'else'");
      value = make("if", {std::move(condition), std::move(value), expression()});
    }
    --depth_;
    return value;
  }

  Tree comparison() {
    Tree left = sum();
    for (const std::string_view operation : {"<=", ">=", "==", "!=", "<", ">"})
      if (take_if(operation)) return make(operation, {std::move(left), sum()});
    return left;
  }

  Tree sum() {
    Tree left = product();
    while (peek() == "+" || peek() == "-") {
      const std::string_view operation = take();
      left = make(operation, {std::move(left), product()});
    }
    return left;
  }

  Tree product() {
    Tree left = factor();
    while (peek() == "*" || peek() == "/" || peek() == "%") {
      const std::string_view operation = take();
      left = make(operation, {std::move(left), factor()});
    }
    return left;
  }

  std::int64_t literal(std::string_view digits) const {
    std::int64_t value = 0;
    for (const char digit : digits) {
      if (digit < '0' || digit > '9') fail("'" + std::string(digits) + "' is not a number");
      if (__builtin_mul_overflow(value, std::int64_t{10}, &value) ||
          __builtin_add_overflow(value, std::int64_t{digit - '0'}, &value))
        fail("'" + std::string(digits) + "' does not fit 64 bits");
    }
    return value;
  }

  Tree number(std::string_view digits) {
    auto node = std::make_shared<Node>();
    node->operation = "number";
    node->number = literal(digits);
    if (take_if("**")) {
      const std::int64_t base = node->number;
      const std::int64_t exponent = literal(take());
      node->number = 1;
      for (std::int64_t i = 0; i < exponent; ++i)
        if (__builtin_mul_overflow(node->number, base, &node->number) || i > kDepthMax)
          fail("the power does not fit 64 bits");
    }
    return node;
  }

  Tree factor() {
    if (++depth_ > kDepthMax) fail("nested too deeply");
    const std::string_view token = take();
    Tree tree;
    if (token.empty()) fail("ends too early");
    if (token == "(") {
      tree = expression();
      if (!take_if(")")) fail("')' is missing");
    } else if (token == "-") {
      tree = make("negate", {factor()});
    } else if (std::isdigit(static_cast<unsigned char>(token.front())) != 0) {
      tree = number(token);
    } else if (std::isalpha(static_cast<unsigned char>(token.front())) != 0 && token != "if" &&
               token != "else") {
      auto node = std::make_shared<Node>();
      node->operation = "name";
      node->name = token;
      tree = node;
    } else {
      fail("unexpected '" + std::string(token) + "'");
    }
    --depth_;
    return tree;
  }

  std::string_view text_;
  const std::string& place_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

class Evaluation {
 public:
  Evaluation(const Names& names, const std::string& text, const std::string& place)
      : names_(names), text_(text), place_(place) {}

  std::int64_t value(const Node& node) const {
    if (node.operation == "number") return node.number;
    if (node.operation == "name") return named(node.name);
    if (node.operation == "if") return value(*node.operands[value(*node.operands[0]) != 0 ? 1 : 2]);
    const std::int64_t left = value(*node.operands[0]);
    if (node.operation == "negate") return arithmetic('-', 0, left);
    const std::int64_t right = value(*node.operands[1]);
    if (node.operation == "<") return left < right;
    if (node.operation == "<=") return left <= right;
    if (node.operation == ">") return left > right;
    if (node.operation == ">=") return left >= right;
    if (node.operation == "==") return left == right;
    if (node.operation == "!=") return left != right;
    return arithmetic(node.operation.front(), left, right);
  }

 private:
  std::int64_t named(const std::string& name) const {
    const auto found = names_.find(name);
    if (found != names_.end()) return found->second;
    std::string known;
    for (const auto& [each, unused] : names_) known += (known.empty() ? "" : ", ") + each;
    throw Error(ErrorKind::kInput,
                "expression '" + text_ + "': unknown name '" + name + "'; known: " + known, place_);
  }

  std::int64_t arithmetic(char operation, std::int64_t left, std::int64_t right) const {
    std::int64_t result = 0;
    bool overflows = false;
    if (operation == '+') overflows = __builtin_add_overflow(left, right, &result);
    if (operation == '-') overflows = __builtin_sub_overflow(left, right, &result);
    if (operation == '*') overflows = __builtin_mul_overflow(left, right, &result);
    if (operation == '/' || operation == '%') {
      if (right == 0)
        throw Error(ErrorKind::kInput, "expression '" + text_ + "' divides by zero", place_);
      overflows = left == std::numeric_limits<std::int64_t>::min() && right == -1;
      if (!overflows) result = operation == '/' ? left / right : left % right;
    }
    if (overflows)
      throw Error(ErrorKind::kInput, "expression '" + text_ + "' overflows 64 bits", place_);
    return result;
  }

  const Names& names_;
  const std::string& text_;
  const std::string& place_;
};

}  // namespace

CardExpression::CardExpression(std::string_view text, std::string place)
    : text_(text), place_(std::move(place)), root_(Parser(text_, place_).parse()) {}

CardExpression CardExpression::constant(std::int64_t value, std::string place) {
  DRAFTPROOF_CHECK(value >= 0, std::to_string(value));
  return CardExpression(std::to_string(value), std::move(place));
}

std::int64_t CardExpression::evaluate(const Names& names) const {
  return Evaluation(names, text_, place_).value(*root_);
}

}  // namespace draftproof::gpu
