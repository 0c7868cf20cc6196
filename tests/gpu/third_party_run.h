// ThirdPartyRun: what the tests share that run other people's kernels on the emulated device, with
// every check on. The PTX is that of tools/kernels/fetch.sh NAME; tests skip without it.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/device.h"
#include "gpu/emulated_device.h"
#include "reference/error.h"

namespace draftproof::gpu::test {

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// Where tools/kernels/fetch.sh NAME writes.
inline std::filesystem::path third_party_folder(const std::string& name) {
  return std::filesystem::path(DRAFTPROOF_SOURCE_DIR) / "build" / "third_party" / name;
}

inline bool is_fetched(const std::string& name) {
  return std::filesystem::exists(third_party_folder(name) / "complete");
}

/// One kernel on a device of its own: buffers by label, launches, results.
class ThirdPartyRun {
 public:
  /// `entry` is part of the name of one entry of `ptx`.
  ThirdPartyRun(const std::string& ptx, const std::string& file_name, const std::string& entry)
      : device_(make_emulated_device()), module_(device_->load(ptx, file_name)) {
    for (const EntryInfo& each : module_->entries()) {
      if (each.name.find(entry) == std::string::npos) continue;
      EXPECT_TRUE(entry_.name.empty()) << entry << " is not one entry of " << file_name;
      entry_ = each;
    }
    EXPECT_FALSE(entry_.name.empty()) << file_name << " has no " << entry;
  }

  /// A buffer that holds `values`.
  template <class T>
  Argument in(std::string_view label, const std::vector<T>& values) {
    const Buffer& buffer = add(label, values.size() * sizeof(T));
    device_->write(buffer.pointer(), std::as_bytes(std::span(values)));
    return Argument(buffer.pointer());
  }
  /// A buffer that no one has written.
  template <class T>
  Argument out(std::string_view label, std::size_t count) {
    return Argument(add(label, count * sizeof(T)).pointer());
  }
  /// What the buffer holds; a value of which a byte was never written reads as all 0x7e.
  template <class T>
  std::vector<T> read(std::string_view label) const {
    const Buffer& buffer = buffers_.find(label)->second;
    std::vector<T> values(buffer.bytes() / sizeof(T));
    buffer.read(std::span(values), std::byte{0x7e});
    return values;
  }

  /// Parameters after the given ones are null: compilers append pointers to scratch memory.
  const LaunchReport& launch(const LaunchOptions& options, std::vector<Argument> arguments) {
    while (arguments.size() < entry_.parameters.size()) arguments.emplace_back(std::uint64_t{0});
    report_ = device_->launch(*module_, entry_.name, options, arguments);
    return report_;
  }
  const LaunchReport& report() const { return report_; }

  /// Observations that are more than notes, for messages of failed tests; empty when there are
  /// none. Races on the allocation `racy` are left out.
  std::string unsafe(std::string_view racy = "") const {
    std::string text;
    const std::string known = "allocation '" + std::string(racy) + "'";
    for (const auto& one : report_.observations) {
      if (one.severity == reference::Severity::kNote) continue;
      if (one.check == "race" && one.message.find(known) != std::string::npos) continue;
      text += one.check + " at line " + std::to_string(one.place.ptx_line) + " (" +
              one.place.source_file + ":" + std::to_string(one.place.source_line) +
              "): " + one.message + " (x" + std::to_string(one.count) + ")\n";
    }
    return text;
  }
  std::size_t count(std::string_view check) const {
    std::size_t result = 0;
    for (const auto& seen : report_.observations) result += seen.check == check ? 1 : 0;
    return result;
  }

 private:
  const Buffer& add(std::string_view label, std::size_t bytes) {
    return buffers_.try_emplace(std::string(label), *device_, bytes, label).first->second;
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Module> module_;
  EntryInfo entry_;
  std::map<std::string, Buffer, std::less<>> buffers_;
  LaunchReport report_;
};

/// `text` with every `from` replaced; there must be `count` of them.
inline std::string mutated(std::string text, const std::string& from, const std::string& to,
                           std::size_t count) {
  std::size_t seen = 0;
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
    ++seen;
  }
  EXPECT_EQ(seen, count) << from;
  return text;
}

/// A value no kernel writes: what ThirdPartyRun::read makes of bytes that no one wrote.
inline constexpr std::int32_t kUnwrittenId = 0x7e7e7e7e;

}  // namespace draftproof::gpu::test
