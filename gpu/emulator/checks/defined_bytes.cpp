// DefinedBytes: see the header. The count of undefined bytes is what makes the common case, a piece
// that is defined from end to end, one comparison.
#include "gpu/emulator/checks/defined_bytes.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace draftproof::gpu::emulator {

namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101u;

std::uint64_t load_word(const std::uint8_t* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

/// How many of the `count` shadow bytes at `from` are 1.
std::uint64_t count_defined(const std::uint8_t* from, std::uint64_t count) {
  std::uint64_t defined = 0;
  while (count >= 8) {
    // Each byte is 0 or 1, so the product's top byte is their sum.
    defined += (load_word(from) * kOnes) >> 56;
    from += 8;
    count -= 8;
  }
  for (std::uint64_t i = 0; i < count; ++i) defined += from[i];
  return defined;
}

}  // namespace

void DefinedBytes::Release::operator()(std::uint8_t* shadow) const { std::free(shadow); }

void DefinedBytes::make_shadow() {
  // calloc, because untouched pages of a large buffer then cost no memory.
  auto* shadow = static_cast<std::uint8_t*>(std::calloc(bytes_, 1));
  if (shadow == nullptr) throw std::bad_alloc();
  shadow_.reset(shadow);
}

void DefinedBytes::reset() {
  if (shadow_ != nullptr && undefined_ != bytes_) std::memset(shadow_.get(), 0, bytes_);
  undefined_ = bytes_;
}

void DefinedBytes::define_in_shadow(std::uint64_t offset, std::uint64_t count) {
  if (count == bytes_) {
    undefined_ = 0;
    if (shadow_ != nullptr) std::memset(shadow_.get(), 1, bytes_);
    return;
  }
  if (shadow_ == nullptr) make_shadow();
  std::uint8_t* shadow = shadow_.get() + offset;
  const std::uint64_t already = count_defined(shadow, count);
  if (already == count) return;
  std::memset(shadow, 1, count);
  undefined_ -= count - already;
}

void DefinedBytes::undefine(std::uint64_t offset, std::uint64_t count) {
  if (undefined_ == bytes_ || count == 0) return;
  if (shadow_ == nullptr) {
    make_shadow();
    std::memset(shadow_.get(), 1, bytes_);
  }
  std::uint8_t* shadow = shadow_.get() + offset;
  undefined_ += count_defined(shadow, count);
  std::memset(shadow, 0, count);
}

bool DefinedBytes::is_defined_in_shadow(std::uint64_t offset, std::uint64_t count) const {
  if (shadow_ == nullptr) return count == 0;
  const std::uint8_t* shadow = shadow_.get() + offset;
  std::uint64_t all = kOnes;
  while (count >= 8) {
    all &= load_word(shadow);
    shadow += 8;
    count -= 8;
  }
  std::uint8_t rest = 1;
  for (std::uint64_t i = 0; i < count; ++i) rest &= shadow[i];
  return all == kOnes && rest == 1;
}

std::uint64_t DefinedBytes::first_undefined(std::uint64_t offset, std::uint64_t count) const {
  if (undefined_ == 0) return offset + count;
  if (shadow_ == nullptr) return offset;
  const void* found = std::memchr(shadow_.get() + offset, 0, count);
  if (found == nullptr) return offset + count;
  return static_cast<std::uint64_t>(static_cast<const std::uint8_t*>(found) - shadow_.get());
}

}  // namespace draftproof::gpu::emulator
