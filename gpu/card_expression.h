// Card expressions: the arithmetic of kernel cards. Shapes, grids and template choices are
// functions of a few sizes, so a card states them as expressions: 64-bit integers, names, + - * / %
// ( ), comparisons, and `A if C else B`. Nothing wraps and nothing is guessed: overflow, an unknown
// name and division by zero are errors at the card's line.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace draftproof::gpu {

/// The values of dims and `let` names.
using Names = std::map<std::string, std::int64_t, std::less<>>;

/// A parsed expression; a value, cheap to copy.
class CardExpression {
 public:
  /// Throws Error(kInput) at `place` ("card.toml:12") for text that is no expression.
  CardExpression(std::string_view text, std::string place);
  static CardExpression constant(std::int64_t value, std::string place);

  /// / and % round towards zero; comparisons are 1 or 0. Throws Error(kInput) at the place of the
  /// expression for an unknown name, overflow or division by zero. The branch of an `if` that is
  /// not taken is not evaluated.
  std::int64_t evaluate(const Names& names) const;

  const std::string& text() const { return text_; }
  const std::string& place() const { return place_; }

  struct Node;

 private:
  std::string text_;
  std::string place_;
  std::shared_ptr<const Node> root_;
};

}  // namespace draftproof::gpu
