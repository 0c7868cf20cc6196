// The memory of the emulated device, for whoever has the C interface only.
#include <algorithm>
#include <cstring>
#include <string>

#include "gpu/interface/emulated_executor.h"
#include "gpu/interface/library.h"

namespace {

using draftproof::gpu::interface::EmulatedExecutor;

constexpr draftproof_result kNotEmulated{
    DRAFTPROOF_UNSUPPORTED,
    "library is none of draftproof_library_create_emulated; on a GPU use its own memory functions"};
constexpr draftproof_result kTooLarge{DRAFTPROOF_TOO_LARGE,
                                      "bytes: more than memory can hold; give fewer than 2^63"};

draftproof_result null(const char* text) { return {DRAFTPROOF_NULL_POINTER, text}; }

EmulatedExecutor* emulated(const draftproof_library* library) {
  return library == nullptr ? nullptr : dynamic_cast<EmulatedExecutor*>(library->executor.get());
}

bool is_large(std::uint64_t bytes) { return bytes >> 63 != 0; }

}  // namespace

draftproof_result draftproof_emulated_allocate(const draftproof_library* library,
                                               std::uint64_t bytes, const char* label,
                                               draftproof_pointer* pointer) {
  if (library == nullptr) return null("library is null");
  if (pointer == nullptr) return null("pointer is null");
  *pointer = 0;
  EmulatedExecutor* const executor = emulated(library);
  if (executor == nullptr) return kNotEmulated;
  if (is_large(bytes)) return kTooLarge;
  return executor->allocate(bytes, label == nullptr ? "memory" : label, *pointer);
}

draftproof_result draftproof_emulated_free(const draftproof_library* library,
                                           draftproof_pointer pointer) {
  if (library == nullptr) return null("library is null");
  EmulatedExecutor* const executor = emulated(library);
  return executor == nullptr ? kNotEmulated : executor->free(pointer);
}

draftproof_result draftproof_emulated_write(const draftproof_library* library,
                                            draftproof_pointer to, const void* from,
                                            std::uint64_t bytes) {
  if (library == nullptr) return null("library is null");
  if (from == nullptr && bytes != 0) return null("from is null");
  EmulatedExecutor* const executor = emulated(library);
  if (executor == nullptr) return kNotEmulated;
  if (is_large(bytes)) return kTooLarge;
  return executor->write(to, {static_cast<const std::byte*>(from), bytes});
}

draftproof_result draftproof_emulated_read(const draftproof_library* library,
                                           draftproof_pointer from, void* to, std::uint64_t bytes) {
  if (library == nullptr) return null("library is null");
  if (to == nullptr && bytes != 0) return null("to is null");
  EmulatedExecutor* const executor = emulated(library);
  if (executor == nullptr) return kNotEmulated;
  if (is_large(bytes)) return kTooLarge;
  return executor->read(from, {static_cast<std::byte*>(to), bytes});
}

std::uint64_t draftproof_emulated_observations(const draftproof_library* library, char* text,
                                               std::uint64_t bytes) {
  if (text != nullptr && bytes != 0) text[0] = 0;
  EmulatedExecutor* const executor = emulated(library);
  return executor == nullptr ? 0 : executor->observations(text, bytes);
}
