// Goldens: what our kernels decided on a GPU, one line a case. Written by kernels_gpu_test.cpp when
// DRAFTPROOF_UPDATE_GOLDENS=1, read by kernels_golden_test.cpp on machines without a GPU.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iomanip>
#include <sstream>
#include <string>
#include <vector>

#include "tests/differential/parity.h"

namespace draftproof::tests {

/// The cases behind a golden file; a change here or of the generator asks for fresh goldens.
inline RandomCases golden_cases() { return RandomCases(2026, {1, 700, 5, 4}); }
inline constexpr int kGoldenCount = 200;

/// fixtures/goldens; DRAFTPROOF_GOLDEN_FOLDER names another, for a dry run.
inline std::filesystem::path golden_folder() {
  const char* other = std::getenv("DRAFTPROOF_GOLDEN_FOLDER");
  return other != nullptr ? other : DRAFTPROOF_SOURCE_DIR "/fixtures/goldens";
}

/// FNV-1a over the bits of the inputs: tells a changed generator from a changed decision.
inline std::uint64_t hash_of(const reference::Batch& batch) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](std::uint64_t word) { hash = (hash ^ word) * 0x100000001b3u; };
  for (const reference::Request& request : batch.requests) {
    add(request.id);
    for (const reference::Token token : request.proposal.tokens)
      add(static_cast<std::uint32_t>(token));
    for (const auto* rows : {&request.target_rows, &request.proposal.rows})
      for (const reference::Row& row : *rows)
        for (const float value : row) add(std::bit_cast<std::uint32_t>(value));
  }
  return hash;
}

/// "INDEX INPUTS outcome; outcome; ..."
inline std::string golden_line(int index, const reference::Batch& batch,
                               const std::vector<reference::RequestOutcome>& outcomes) {
  std::ostringstream line;
  line << index << ' ' << std::hex << std::setw(16) << std::setfill('0') << hash_of(batch)
       << std::dec;
  for (const auto& outcome : outcomes) line << ' ' << to_text(outcome) << ';';
  return line.str();
}

}  // namespace draftproof::tests
