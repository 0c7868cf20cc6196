#include "tools/audit/shard.h"

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "reference/error.h"

namespace draftproof::tools::audit {
namespace {

constexpr std::uint64_t kCountMax = 1000000;

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::kInput, message, "--shard");
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// What a scheduler says; absent: the variable is not there.
std::optional<std::uint64_t> told(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  const auto number = number_of(text);
  if (!number) refuse(std::string(name) + " is \"" + text + "\", no number; type it as 2/8");
  return number;
}

std::uint64_t index_of_task() {
  if (const auto index = told("SLURM_ARRAY_TASK_ID")) {
    const std::uint64_t least = told("SLURM_ARRAY_TASK_MIN").value_or(0);
    if (*index < least) refuse("SLURM_ARRAY_TASK_ID lies below SLURM_ARRAY_TASK_MIN");
    return *index - least;
  }
  if (const auto index = told("OMPI_COMM_WORLD_RANK")) return *index;
  if (const auto index = told("JOB_COMPLETION_INDEX")) return *index;
  refuse(
      "no scheduler gave this task a place (SLURM_ARRAY_TASK_ID, OMPI_COMM_WORLD_RANK, "
      "JOB_COMPLETION_INDEX); type it as 2/8");
}

std::uint64_t count_of_tasks() {
  if (const auto count = told("SLURM_ARRAY_TASK_COUNT")) return *count;
  if (const auto count = told("OMPI_COMM_WORLD_SIZE")) return *count;
  refuse("the scheduler does not say how many tasks there are; type it as auto/8");
}

}  // namespace

Shard shard_from(const std::string& text) {
  const std::size_t slash = text.find('/');
  const std::string left = text.substr(0, slash);
  const bool is_auto = left == "auto";
  const bool has_count = slash != std::string::npos;
  const auto typed = number_of(left);
  const auto count = has_count ? number_of(text.substr(slash + 1)) : std::nullopt;
  if ((!is_auto && (!typed || !has_count)) || (has_count && !count))
    refuse("\"" + text + "\" is no shard; write 2/8 for the second of eight, or auto/8");
  const std::uint64_t of = has_count ? *count : count_of_tasks();
  if (of == 0 || of > kCountMax) refuse("a run has 1 to 1000000 shards");
  // People count from one, schedulers from nought.
  if (!is_auto && (*typed == 0 || *typed > of))
    refuse("\"" + text + "\" is none of 1/" + std::to_string(of) + " to " + std::to_string(of) +
           "/" + std::to_string(of));
  const std::uint64_t index = is_auto ? index_of_task() : *typed - 1;
  if (index >= of)
    refuse("this task is number " + std::to_string(index) + " from 0, of " + std::to_string(of));
  return {static_cast<std::size_t>(index), static_cast<std::size_t>(of)};
}

}  // namespace draftproof::tools::audit
