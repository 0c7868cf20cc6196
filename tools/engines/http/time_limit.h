// Time limit: ends what has taken too long in all. A socket's own limits begin anew with every
// byte, so that whoever sends one now and then is waited for as long as he likes.
#pragma once

#include <functional>
#include <memory>

namespace draftproof::tools::http {

class TimeLimit {
 public:
  /// Calls `end` from a thread of its own when `seconds` are over and this still lives; `end` must
  /// not throw. The limits of others do not wait for it.
  TimeLimit(double seconds, std::function<void()> end);
  TimeLimit(const TimeLimit&) = delete;
  ~TimeLimit();  ///< `end` is not being called any longer
  bool is_over() const;

 private:
  struct Entry;
  std::unique_ptr<Entry> entry_;
};

}  // namespace draftproof::tools::http
