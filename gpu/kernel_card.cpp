#include "gpu/kernel_card.h"

#include <algorithm>
#include <cstring>
#include <regex>

#include "reference/error.h"

namespace draftproof::gpu {
namespace {

/// Dims from 1 to this reach every vector width in use.
constexpr std::int64_t kSizesChecked = 8;

[[noreturn]] void fail(const std::string& place, const std::string& message) {
  throw Error(ErrorKind::kInput, message, place);
}

/// `select` with every {NAME} replaced by its value.
std::string filled(const std::string& select, const Names& names, const std::string& place) {
  std::string result;
  for (std::size_t at = 0; at < select.size(); ++at) {
    if (select[at] != '{') {
      result += select[at];
      continue;
    }
    const std::size_t end = select.find('}', at);
    if (end == std::string::npos) fail(place, "select '" + select + "': '}' is missing");
    const auto found = names.find(select.substr(at + 1, end - at - 1));
    if (found == names.end())
      fail(place, "select '" + select + "': unknown name " + select.substr(at, end - at + 1));
    result += std::to_string(found->second);
    at = end;
  }
  return result;
}

Names names_of(const CardStage& stage, const Names& dims) {
  Names names = dims;
  for (const auto& [name, expression] : stage.let) names[name] = expression.evaluate(dims);
  return names;
}

const EntryInfo& chosen_entry(const Module& module, const CardStage& stage, const Names& names) {
  const std::regex pattern(stage.entry);
  const std::string select = filled(stage.select, names, stage.place);
  const EntryInfo* chosen = nullptr;
  for (const EntryInfo& entry : module.entries()) {
    if (!std::regex_search(entry.name, pattern)) continue;
    if (entry.name.find(select) == std::string::npos) continue;
    if (chosen != nullptr)
      fail(stage.place, "two entries match '" + stage.entry + "' and '" + select +
                            "': " + chosen->name + ", " + entry.name);
    chosen = &entry;
  }
  if (chosen == nullptr)
    fail(stage.place, "no entry of " + stage.ptx + " matches '" + stage.entry + "' and '" + select +
                          "'; `draftproof inspect` lists them");
  return *chosen;
}

std::size_t bytes_of(const CardParameter& parameter) {
  return parameter.is_pointer ? sizeof(DevicePointer) : bytes_of(parameter.type);
}

void check_against_entry(const CardStage& stage, const EntryInfo& entry) {
  if (entry.parameters.size() != stage.parameters.size())
    fail(stage.place, "the card has " + std::to_string(stage.parameters.size()) +
                          " parameters, entry " + entry.name + " has " +
                          std::to_string(entry.parameters.size()));
  for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
    const CardParameter& parameter = stage.parameters[i];
    if (entry.parameters[i].size != bytes_of(parameter))
      fail(parameter.place, "parameter " + std::to_string(i) + " '" + parameter.name + "' has " +
                                std::to_string(bytes_of(parameter)) + " bytes, in entry " +
                                entry.name + " it has " + std::to_string(entry.parameters[i].size));
    if (entry.parameters[i].is_pointer && !parameter.is_pointer)
      fail(parameter.place, "parameter " + std::to_string(i) + " '" + parameter.name +
                                "' is no pointer, in entry " + entry.name + " it is one");
  }
}

/// Element count of a buffer.
std::size_t count_of(const CardParameter& parameter, const Names& names) {
  std::size_t count = 1;
  for (const CardExpression& extent : parameter.shape) {
    const std::int64_t value = extent.evaluate(names);
    if (value < 0)
      fail(parameter.place, "'" + parameter.name + "': extent " + extent.text() + " is negative");
    if (__builtin_mul_overflow(count, static_cast<std::size_t>(value), &count))
      fail(parameter.place, "'" + parameter.name + "' does not fit memory");
  }
  return count;
}

/// `value` as the bytes of one element; must be in the type's range.
std::vector<std::byte> element(const CardParameter& parameter, std::int64_t value) {
  std::vector<std::byte> bytes(bytes_of(parameter.type));
  const auto bits = static_cast<std::uint64_t>(value);
  bool fits = true;
  switch (parameter.type) {
    case CardType::kUint8:
      fits = value >= 0 && value <= 0xff;
      break;
    case CardType::kInt32:
      fits = value == static_cast<std::int32_t>(value);
      break;
    case CardType::kUint32:
      fits = value >= 0 && value <= 0xffffffffLL;
      break;
    case CardType::kUint64:
      fits = value >= 0;
      break;
    case CardType::kInt64:
      break;
    case CardType::kFloat32: {
      const float number = static_cast<float>(value);
      std::memcpy(bytes.data(), &number, sizeof(number));
      return bytes;
    }
  }
  if (!fits)
    fail(parameter.place,
         "'" + parameter.name + "': " + std::to_string(value) + " is outside its type");
  std::memcpy(bytes.data(), &bits, bytes.size());
  return bytes;
}

std::vector<std::byte> initial_bytes(const CardParameter& parameter, std::size_t count,
                                     Names names) {
  std::vector<std::byte> bytes;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t value = 0;
    if (parameter.init == CardInit::kIota) value = static_cast<std::int64_t>(i);
    if (parameter.init == CardInit::kFill) value = parameter.init_value->evaluate(names);
    if (parameter.init == CardInit::kCumulative) {
      value = sum;
      names["i"] = static_cast<std::int64_t>(i);
      if (__builtin_add_overflow(sum, parameter.init_value->evaluate(names), &sum))
        fail(parameter.place, "'" + parameter.name + "': the cumulative sum overflows");
    }
    const std::vector<std::byte> one = element(parameter, value);
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  return bytes;
}

std::uint32_t launch_size(const CardExpression& expression, const Names& names) {
  const std::int64_t value = expression.evaluate(names);
  if (value < 0 || value > 0x7fffffffLL)
    fail(expression.place(),
         "'" + expression.text() + "' = " + std::to_string(value) + " is no size of a launch");
  return static_cast<std::uint32_t>(value);
}

Dim3 launch_shape(const std::vector<CardExpression>& sizes, const Names& names) {
  Dim3 shape;
  std::uint32_t* const extents[] = {&shape.x, &shape.y, &shape.z};
  for (std::size_t i = 0; i < sizes.size(); ++i) *extents[i] = launch_size(sizes[i], names);
  return shape;
}

LaunchOptions launch_options(const CardStage& stage, const Names& names,
                             const CardOptions& options) {
  LaunchOptions launch;
  launch.grid = launch_shape(stage.grid, names);
  launch.block = launch_shape(stage.block, names);
  if (stage.dynamic_smem) launch.dynamic_shared_bytes = launch_size(*stage.dynamic_smem, names);
  launch.schedule = options.schedule;
  launch.schedule_seed = options.schedule_seed;
  return launch;
}

void merge(LaunchReport& into, LaunchReport&& from) {
  into.observations.insert(into.observations.end(), from.observations.begin(),
                           from.observations.end());
  into.counts.launches += from.counts.launches;
  into.counts.warp_instructions += from.counts.warp_instructions;
  into.counts.thread_instructions += from.counts.thread_instructions;
  into.global_bytes_read += from.global_bytes_read;
  into.global_bytes_written += from.global_bytes_written;
  into.printed += from.printed;
  into.schedule_seed = from.schedule_seed;
}

/// The buffers of one run, shared by name between stages.
class Buffers {
 public:
  Buffers(Device& device, const CardInputs& inputs) : device_(&device), inputs_(&inputs) {}

  /// Address of the buffer, made and filled on first use.
  DevicePointer pointer(const CardParameter& parameter, const Names& names) {
    const std::size_t bytes = count_of(parameter, names) * bytes_of(parameter.type);
    const auto found = held_.find(parameter.name);
    if (found != held_.end()) {
      if (found->second.buffer.bytes() != bytes)
        fail(parameter.place, "'" + parameter.name + "' has another size in an earlier stage");
      if (parameter.access != CardAccess::kIn) found->second.parameter = &parameter;
      return found->second.buffer.pointer();
    }
    Held held{Buffer(*device_, bytes, parameter.name), {}, &parameter};
    const auto given = inputs_->buffers.find(parameter.role);
    if (!parameter.role.empty() && given != inputs_->buffers.end()) {
      if (given->second.size() != bytes)
        fail(parameter.place, "'" + parameter.name + "' has " + std::to_string(bytes) +
                                  " bytes by its shape, " + std::to_string(given->second.size()) +
                                  " were given");
      held.before = given->second;
    } else if (parameter.init != CardInit::kPoison) {
      held.before = initial_bytes(parameter, count_of(parameter, names), names);
    } else if (!device_->observes()) {
      // Hardware hands out old memory: the pattern makes a byte that is never written visible.
      device_->write(held.buffer.pointer(), std::vector<std::byte>(bytes, kUnwritten));
    }
    if (!held.before.empty()) device_->write(held.buffer.pointer(), held.before);
    return held_.emplace(parameter.name, std::move(held)).first->second.buffer.pointer();
  }

  void collect(CardRun& run) const {
    for (const auto& [name, held] : held_) {
      std::vector<std::byte> after(held.buffer.bytes());
      held.buffer.read(std::span<std::byte>(after), kUnwritten);
      if (held.parameter->access != CardAccess::kIn) {
        if (!held.parameter->role.empty()) run.outputs[held.parameter->role] = std::move(after);
      } else if (!held.before.empty() && after != held.before) {
        run.changed_inputs.push_back(name);
      }
    }
  }

 private:
  struct Held {
    Buffer buffer;
    std::vector<std::byte> before;
    const CardParameter* parameter;
  };
  Device* device_;
  const CardInputs* inputs_;
  std::map<std::string, Held> held_;
};

Argument argument_of(const CardParameter& parameter, const Names& names, const CardInputs& inputs,
                     Buffers& buffers) {
  if (parameter.is_null) return Argument(DevicePointer{0});
  if (parameter.is_pointer) return Argument(buffers.pointer(parameter, names));
  if (parameter.value) return Argument(element(parameter, parameter.value->evaluate(names)));
  const auto given = inputs.scalars.find(parameter.role);
  if (given == inputs.scalars.end())
    fail(parameter.place, "'" + parameter.name + "': role '" + parameter.role +
                              "' is a scalar that this check does not provide");
  // Seeds and offsets use all 64 bits, so the sign is not looked at.
  if (bytes_of(parameter.type) == sizeof(std::uint64_t)) return Argument(given->second);
  return Argument(element(parameter, static_cast<std::int64_t>(given->second)));
}

}  // namespace

std::size_t bytes_of(CardType type) {
  switch (type) {
    case CardType::kUint8:
      return 1;
    case CardType::kInt32:
    case CardType::kUint32:
    case CardType::kFloat32:
      return 4;
    case CardType::kInt64:
    case CardType::kUint64:
      return 8;
  }
  DRAFTPROOF_CHECK(false, std::to_string(static_cast<int>(type)));
}

CardKernel::CardKernel(Device& device, KernelCard card,
                       const std::vector<std::pair<std::string, std::string>>& ptx)
    : device_(&device), card_(std::move(card)) {
  DRAFTPROOF_CHECK(ptx.size() == card_.stages.size(), std::to_string(ptx.size()));
  for (const auto& [file, text] : ptx) modules_.push_back(device_->load(text, file));
  for (std::int64_t size = 1; size <= kSizesChecked; ++size) {
    Names dims;
    for (const std::string& dim : card_.dims) dims[dim] = size;
    if (admits(dims)) check(dims);
  }
}

Names CardKernel::names(const Names& dims) const {
  Names names = dims;
  for (const CardStage& stage : card_.stages) names.merge(names_of(stage, dims));
  return names;
}

bool CardKernel::admits(const Names& dims) const {
  return std::all_of(card_.constraints.begin(), card_.constraints.end(),
                     [&](const CardExpression& each) { return each.evaluate(dims) != 0; });
}

void CardKernel::check(const Names& dims) const {
  for (std::size_t i = 0; i < card_.stages.size(); ++i) {
    const CardStage& stage = card_.stages[i];
    const Names names = names_of(stage, dims);
    check_against_entry(stage, chosen_entry(*modules_[i], stage, names));
    launch_options(stage, names, {});
    for (const CardParameter& parameter : stage.parameters) {
      if (parameter.is_pointer && !parameter.is_null) count_of(parameter, names);
      if (parameter.value) element(parameter, parameter.value->evaluate(names));
      if (parameter.init == CardInit::kFill) parameter.init_value->evaluate(names);
    }
  }
  const Names all = names(dims);
  for (const auto* depth :
       {&card_.rounding.threshold_depth, &card_.rounding.cumulative_depth, &card_.tile})
    if (*depth) (*depth)->evaluate(all);
}

CardRun CardKernel::run(const CardInputs& inputs, const CardOptions& options) const {
  for (const std::string& dim : card_.dims)
    if (inputs.dims.find(dim) == inputs.dims.end())
      fail(card_.place, "dim '" + dim + "' is none that this check provides");
  for (const CardExpression& constraint : card_.constraints)
    if (constraint.evaluate(inputs.dims) == 0)
      fail(constraint.place(), "constraint '" + constraint.text() + "' does not hold");
  check(inputs.dims);
  Buffers buffers(*device_, inputs);
  CardRun run;
  for (std::size_t i = 0; i < card_.stages.size(); ++i) {
    const CardStage& stage = card_.stages[i];
    const Names names = names_of(stage, inputs.dims);
    std::vector<Argument> arguments;
    for (const CardParameter& parameter : stage.parameters)
      arguments.push_back(argument_of(parameter, names, inputs, buffers));
    merge(run.report, device_->launch(*modules_[i], chosen_entry(*modules_[i], stage, names).name,
                                      launch_options(stage, names, options), arguments));
  }
  buffers.collect(run);
  return run;
}

}  // namespace draftproof::gpu
