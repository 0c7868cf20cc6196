// Cost: what a pipeline cost on a batch, counted on the emulated device or timed on a GPU.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "gpu/launch_profile.h"
#include "tools/cost/pipeline.h"
#include "tools/cost/register_table.h"

namespace draftproof::tools::cost {

struct LaunchCost {
  std::string entry;
  std::uint64_t blocks = 0;
  std::uint64_t block_threads = 0;
  std::uint64_t dynamic_shared_bytes = 0;
  std::optional<Registers> allotted;          ///< by ptxas, of entries that a table knows
  std::optional<gpu::LaunchProfile> profile;  ///< on the emulated device
};

struct Timing {
  std::vector<double>
      microseconds;  ///< of each repeat, from the first launch to the last one's end
  double median() const;
};

struct Cost {
  std::string pipeline, remark;
  Shape shape;
  std::string skipped;     ///< why nothing follows; empty when something does
  bool is_failed = false;  ///< skipped because something went wrong
  std::vector<LaunchCost> launches;
  std::optional<Timing> timing;
  std::uint64_t unsafe_observations = 0;  ///< that are more than notes

  /// Sums over the launches, which run one behind the other.
  gpu::LaunchProfile total() const;
  bool is_counted() const { return !launches.empty() && launches.front().profile.has_value(); }
  /// Bytes of 32-byte sectors that loads and stores asked for, by the floor.
  double requested_over_floor() const;
  double distinct_over_floor() const;
  /// Thread instructions for each element of the floor.
  double instructions_an_element() const;
};

struct Plan {
  std::vector<Shape> shapes;
  std::vector<std::string> pipelines;  ///< parts of names; empty: all
  std::filesystem::path third_party = "build/third_party";
  std::uint64_t seed = 1;
  int repeats = 0;       ///< timed; 0 on the emulated device
  bool is_cold = false;  ///< L2 is written over before every repeat
};

struct Costs {
  std::string device;
  bool is_timed = false;
  bool is_cold = false;
  double copied_gigabytes_a_second = 0;  ///< by a copy kernel in the same run: read and written
  std::vector<Cost> rows;
};

/// Runs every pipeline on every shape. One that was not fetched, that does not take a shape, or
/// that fails is a row that says so, and does not keep the others from running; to accept another
/// number of tokens than the batch has built in is to fail. Throws Error(kInput) when the plan
/// selects no pipeline.
Costs measure(gpu::Device& device, const Plan& plan);

/// The device to count on: no check but those that guide a launch, and room for long launches.
std::unique_ptr<gpu::Device> make_counting_device();

}  // namespace draftproof::tools::cost
