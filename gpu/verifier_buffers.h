// Buffers of one verification on a device: what goes in, what comes out, and what is read back.
// Made afresh for every call, so that the emulator sees each of their bytes unwritten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "gpu/device.h"
#include "gpu/kernels/arguments/shaping.h"
#include "gpu/kernels/arguments/verify.h"
#include "gpu/packed_batch.h"
#include "reference/outcome.h"
#include "reference/proposal.h"

namespace draftproof::gpu {

/// A device buffer with the host's image of it. Where the device does not watch its memory, bytes
/// that mean nothing are poisoned, so that a kernel that reads them goes astray.
class Upload {
 public:
  Upload(Device& device, const BufferImage& image, std::string_view label);

  /// Null for an empty buffer.
  DevicePointer pointer() const { return buffer_.bytes() == 0 ? 0 : buffer_.pointer(); }
  /// What the ranges in use hold now. True when it is not what they held.
  bool read_back(const BufferImage& before, BufferImage& after) const;

 private:
  Device& device_;
  Buffer buffer_;
};

/// The input buffers of one call.
class VerifierInputs {
 public:
  VerifierInputs(Device& device, const PackedBatch& packed);

  /// Fills in the pointers and strides of the inputs, the seed and the kind of draft.
  void fill(const PackedBatch& packed, draftproof_verify_arguments& arguments) const;
  /// Writes into `batch` what the device did to its inputs.
  void write_back(const PackedBatch& packed, reference::Batch& batch) const;

 private:
  Upload target_rows_, draft_rows_, draft_tokens_, parents_, parameters_, coins_;
};

/// The records and output buffers of one call.
class VerifierOutputs {
 public:
  VerifierOutputs(Device& device, const PackedBatch& packed, std::size_t request_count,
                  bool takes_trees);

  /// Fills in the pointers of records and outputs.
  void fill(draftproof_verify_arguments& arguments) const;
  /// What the kernels wrote, word for word as far as an outcome can say it. A count beyond the
  /// slots reads as every slot and one token more, which is no token; a token or a node behind the
  /// count is read too.
  std::vector<reference::RequestOutcome> outcomes() const;

 private:
  void read_nodes(std::vector<reference::RequestOutcome>& list) const;

  std::size_t slots_;
  Buffer target_records_, draft_records_, tokens_, reasons_, nodes_, outcomes_;
};

/// draftproof_logit_format, by value.
std::uint32_t format_word(reference::LogitFormat format);

/// The shaping of every row that the rule reads, by the general variant.
draftproof_shape_rows_arguments shaping_of(const draftproof_verify_arguments& arguments);

}  // namespace draftproof::gpu
