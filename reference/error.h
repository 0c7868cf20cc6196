// The three kinds of error and their mechanisms (reference/README.md, at its end).
//   the subject is wrong  -> an oracle::Verdict value, never thrown
//   we are wrong          -> DRAFTPROOF_CHECK throws BrokenInvariant; only main catches it (exit 4)
//   the world is wrong    -> throw Error; what the user named is checked before any work (exit 3)
#pragma once

#include <stdexcept>
#include <string>

namespace draftproof {

/// Which part of the world was wrong. kInput: what the user named (flag, file, card, PTX, JSON);
/// kEnvironment: a device, a driver or the file system.
enum class ErrorKind { kInput, kEnvironment };

/// The world is wrong. what() is one line "place: message" that names the remedy.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string message, std::string place = "")
      : std::runtime_error(place.empty() ? message : place + ": " + message),
        kind_(kind),
        message_(std::move(message)),
        place_(std::move(place)) {}

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  /// "file:line" or the flag; empty when there is none.
  const std::string& place() const { return place_; }

 private:
  ErrorKind kind_;
  std::string message_;
  std::string place_;
};

/// We are wrong: a precondition of ours does not hold.
class BrokenInvariant : public std::logic_error {
 public:
  BrokenInvariant(const char* expression, const char* file, int line, const std::string& values)
      : std::logic_error(std::string(file) + ":" + std::to_string(line) + ": broken invariant: " +
                         expression + (values.empty() ? "" : " (" + values + ")")) {}
};

}  // namespace draftproof

/// On in every build. The second argument, optional, is a std::string with the values at fault.
#define DRAFTPROOF_CHECK(expression, ...)                                  \
  do {                                                                     \
    if (!(expression))                                                     \
      throw ::draftproof::BrokenInvariant(#expression, __FILE__, __LINE__, \
                                          std::string{__VA_ARGS__});       \
  } while (false)
