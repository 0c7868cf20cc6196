// DefinedBytes: which bytes of a piece of memory hold a value that someone wrote. One shadow byte a
// byte, made only when a piece is neither wholly undefined nor wholly defined: a large buffer that
// the host filled in one go costs nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace draftproof::gpu::emulator {

class DefinedBytes {
 public:
  explicit DefinedBytes(std::uint64_t bytes = 0) : bytes_(bytes), undefined_(bytes) {}

  /// Every byte is undefined again.
  void reset();
  /// The range must lie inside the piece.
  void define(std::uint64_t offset, std::uint64_t count) {
    if (undefined_ != 0) define_in_shadow(offset, count);
  }
  void undefine(std::uint64_t offset, std::uint64_t count);
  bool is_defined(std::uint64_t offset, std::uint64_t count) const {
    return undefined_ == 0 || is_defined_in_shadow(offset, count);
  }
  /// Offset of the first undefined byte in the range; offset + count when there is none.
  std::uint64_t first_undefined(std::uint64_t offset, std::uint64_t count) const;

 private:
  void define_in_shadow(std::uint64_t offset, std::uint64_t count);
  bool is_defined_in_shadow(std::uint64_t offset, std::uint64_t count) const;
  void make_shadow();

  struct Release {
    void operator()(std::uint8_t* shadow) const;
  };

  std::uint64_t bytes_;
  std::uint64_t undefined_;  ///< how many bytes are undefined
  /// 1: defined. Null while nothing or everything is defined.
  std::unique_ptr<std::uint8_t[], Release> shadow_;
};

}  // namespace draftproof::gpu::emulator
