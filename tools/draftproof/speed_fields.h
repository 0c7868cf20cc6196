// Fields of one line of a trace: typed look-ups that refuse what they do not know. Throws Damage;
// the reader of the trace turns it into an error or an entry of the list.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace draftproof::tools {

/// Why a line cannot be counted, with the remedy.
struct Damage {
  std::string reason;
};

/// Bounds that no measurement exceeds; beyond them a number is a slip, and sums would lose digits.
inline constexpr std::int64_t kMostTokens = std::int64_t{1} << 20;
inline constexpr std::int64_t kMostCounted = std::int64_t{1} << 50;
inline constexpr double kMostSeconds = 1e9;

/// Throws Damage unless `text` is one JSON object without a key given twice.
nlohmann::json object_from(std::string_view text);

class Fields {
 public:
  /// `object` must outlive this.
  explicit Fields(const nlohmann::json& object) : object_(object) {}

  std::string text(const std::string& name);
  std::optional<std::string> text_if(const std::string& name);
  std::int64_t count(const std::string& name, std::int64_t most);
  std::optional<std::int64_t> count_if(const std::string& name, std::int64_t most,
                                       std::int64_t least = 0);
  std::optional<bool> flag_if(const std::string& name);
  /// A finite number that is not negative.
  std::optional<double> number_if(const std::string& name);
  /// Seconds of NAME_s, NAME_ms, NAME_us or NAME_ns, of which at most one may be given.
  std::optional<double> time_if(const std::string& name, bool must_be_positive = false);
  /// A JSON object; absent when not given.
  const nlohmann::json* object_if(const std::string& name);

  /// Throws Damage for a field that was never asked for. Call it last.
  void allow_only_what_was_read() const;

 private:
  const nlohmann::json* find(const std::string& name);

  const nlohmann::json& object_;
  std::set<std::string> known_;
};

}  // namespace draftproof::tools
