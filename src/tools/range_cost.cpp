#include "tools/range_cost.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "compile/exported_program.h"
#include "compile/load_executor.h"
#include "jit/open_device.h"
#include "tools/input_values.h"
#include "tools/run_steps.h"

namespace tokamak::tools {

namespace {

// Larger inputs are not made for a measurement that nobody asked for.
constexpr int64_t kMostInputBytes = int64_t{256} << 20;

// Every range its largest size, every list its first one.
std::map<std::string, int64_t> largestSizes(const ExportOptions& options) {
  std::map<std::string, int64_t> sizes;
  for (const auto& [name, extent] : options.sizes) sizes[name] = extent.sizes()[extent.isRange() ? 1 : 0];
  return sizes;
}

bool isTooLarge(const Fusion& fusion, const std::map<std::string, int64_t>& sizes) {
  double bytes = 0;
  for (const TensorView* input : tensorsOf(fusion.inputs())) {
    double of_input = static_cast<double>(sizeOf(input->dtype()));
    for (const IterDomain* axis : shapeOf(*input)) {
      const Scalar& extent = *axis->visibleExtent();
      const auto size = sizes.find(extent.name());
      if (extent.isSymbol() && size != sizes.end()) of_input *= static_cast<double>(size->second);
    }
    bytes += of_input;
  }
  return bytes > static_cast<double>(kMostInputBytes);
}

double callTime(MultiDeviceExecutor& executor, const InputValues& inputs) {
  const auto start = SteadyClock::now();
  for (const Tensor& output : executor.runWithInput(inputs.values)) output.waitReady();
  return millisecondsSince(start);
}

struct Times {
  double of_range = std::numeric_limits<double>::infinity();
  double of_constants = std::numeric_limits<double>::infinity();
};

Times measure(MultiDeviceExecutor& with_ranges, MultiDeviceExecutor& with_constants, const InputSources& sources,
              Device& device) {
  constexpr int kLeastRounds = 5;
  constexpr int kMostRounds = 1000;
  constexpr double kMilliseconds = 200;
  const std::shared_ptr<Stream> stream = device.createStream();
  const InputValues inputs = makeInputs(with_ranges.program(), sources, device, stream);
  callTime(with_ranges, inputs);
  callTime(with_constants, inputs);
  Times times;
  const auto start = SteadyClock::now();
  for (int round = 0; round < kLeastRounds || (round < kMostRounds && millisecondsSince(start) < kMilliseconds);
       ++round) {
    times.of_range = std::min(times.of_range, callTime(with_ranges, inputs));
    times.of_constants = std::min(times.of_constants, callTime(with_constants, inputs));
  }
  return times;
}

}  // namespace

std::string rangeCost(const Fusion& fusion, const ExportOptions& options, const std::string& exported) {
  const bool has_ranges = std::ranges::any_of(options.sizes, [](const auto& size) { return size.second.isRange(); });
  if (!has_ranges || options.processors.empty()) return "";
  InputSources sources;
  sources.sizes = largestSizes(options);
  std::vector<std::string> at;
  for (const auto& [name, size] : sources.sizes) at.push_back(fmt::format("{} = {}", name, size));
  const std::string where = joined(at);
  if (std::ranges::any_of(sources.sizes, [](const auto& size) { return size.second == 0; })) return "";
  if (isTooLarge(fusion, sources.sizes))
    return fmt::format("the cost of ranges was not measured: inputs of {} take more than {} MiB", where,
                       kMostInputBytes >> 20);
  ExportOptions constants = options;
  constants.gpus.clear();
  for (auto& [name, extent] : constants.sizes) extent = ExportedExtent{sources.sizes.at(name)};
  const std::shared_ptr<Device> device = openCpuDevice({.threads = options.threads});
  try {
    const auto with_ranges = loadExecutor(exported, "the exported program", *device, {});
    const auto with_constants = loadExecutor(exportProgram(fusion, constants), "the one with constants", *device, {});
    const Times times = measure(*with_ranges, *with_constants, sources, *device);
    return fmt::format("{}: {:.3g} ms, {:.2f} times that of a program whose sizes are constants", where, times.of_range,
                       times.of_range / times.of_constants);
  } catch (const Error& error) {
    // This processor cannot run it, or has too little memory.
    if (error.code() != ErrorCode::Unsupported && error.code() != ErrorCode::OutOfMemory) throw;
    return fmt::format("the cost of ranges was not measured: {}", error.message());
  }
}

}  // namespace tokamak::tools
