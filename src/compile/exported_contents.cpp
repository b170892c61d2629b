#include "compile/exported_contents.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/require.h"
#include "compile/interface_names.h"
#include "compile/lower_fusion.h"
#include "compile/make_program.h"
#include "compile/multi_device_executor.h"
#include "host/ir/text/host_parser.h"
#include "host/ir/text/host_printer.h"
#include "jit/export_collector.h"

namespace tokamak {

namespace {

using Sizes = std::map<std::string, ScalarValue>;

// Every combination of the sizes that are listed; a range is its largest size.
std::vector<Sizes> combinationsOf(const std::map<std::string, ExportedExtent>& extents) {
  std::vector<Sizes> combinations(1);
  for (const auto& [name, extent] : extents) {
    std::vector<Sizes> longer;
    for (const Sizes& known : combinations) {
      for (const int64_t value : extent.sizes()) {
        if (extent.isRange() && value != extent.sizes()[1]) continue;
        longer.push_back(known);
        longer.back()[name] = value;
        if (extent.isRange()) break;
      }
    }
    combinations = std::move(longer);
  }
  return combinations;
}

// Sizes from which it is seen what the ranges change: their ends in all combinations (of the first few), the middle,
// and the first size with elements.
std::vector<Sizes> samplesOf(const std::map<std::string, ExportedExtent>& extents, const Sizes& combination) {
  constexpr size_t kMostCorners = 32;
  std::vector<Sizes> samples = {combination};
  Sizes middle = combination;
  Sizes least = combination;
  for (const auto& [name, extent] : extents) {
    if (!extent.isRange()) continue;
    const int64_t from = extent.sizes()[0];
    const int64_t to = extent.sizes()[1];
    middle[name] = from + (to - from) / 2;
    least[name] = from;
    const size_t known = samples.size();
    if (known >= kMostCorners) continue;
    for (size_t i = 0; i < known; ++i) {
      for (const int64_t value : std::set{from, std::clamp<int64_t>(1, from, to)}) {
        samples.push_back(samples[i]);
        samples.back()[name] = value;
      }
    }
  }
  samples.push_back(std::move(middle));
  samples.push_back(std::move(least));
  return samples;
}

// A program for one target, planned at any sizes.
class TargetExporter {
 public:
  TargetExporter(const Fusion& fusion, const KernelTarget& target, const ExportOptions& options)
      : names_(interfaceNamesOf(fusion)),
        outputs_(MultiDeviceExecutor::outputsOf(fusion)),
        options_(options),
        collector_(target) {
    const std::unique_ptr<HostIrContainer> lowered =
        lowerToHostProgram(fusion, {.grouping = Grouping::Fused,
                                    .target = target,
                                    .output_views = options.output_views,
                                    .output_layouts = options.output_layouts});
    text_ = printHostProgram(*lowered);
    symbols_ = symbolNamesOf(*lowered);
  }

  void collect() {
    for (const Sizes& combination : combinationsOf(options_.sizes)) {
      collector_.startSurvey();
      for (const Sizes& sample : samplesOf(options_.sizes, combination)) plan(sample);
      collector_.startCollecting();
      plan(combination);
    }
  }

  const ExportCollector& collector() const { return collector_; }
  const std::string& text() const { return text_; }
  const std::vector<std::string>& symbols() const { return symbols_; }

 private:
  // Of the text, as the loader sees it. Each time anew: what was planned before is not planned again.
  void plan(Sizes sizes) {
    std::unique_ptr<HostIrContainer> program = parseHostProgram(text_, "the host program");
    giveNames(*program, names_, symbols_);
    // What became a constant, or another extent, is not asked for.
    std::erase_if(sizes, [&](const auto& size) { return std::ranges::find(symbols_, size.first) == symbols_.end(); });
    for (Val* input : program->inputs()) {
      const Scalar* scalar = asScalar(input);
      if (scalar != nullptr && !scalar->name().empty()) sizes.emplace(scalar->name(), int64_t{1});
    }
    HostIrEvaluatorParams params;
    params.segments = SegmentMode::Kernels;
    params.checks_plans = false;
    Program planned =
        makeProgram(std::make_unique<MultiDeviceExecutor>(std::move(program), outputs_, collector_, params));
    planned.prepare(sizes);
  }

  InterfaceNames names_;
  MultiDeviceExecutor::Outputs outputs_;
  const ExportOptions& options_;
  std::string text_;
  std::vector<std::string> symbols_;
  ExportCollector collector_;
};

}  // namespace

void requireExportSizes(const std::map<std::string, ExportedExtent>& sizes) {
  constexpr size_t kMostExports = 64;
  size_t combinations = 1;
  for (const auto& [name, extent] : sizes) {
    const std::vector<int64_t>& values = extent.sizes();
    if (extent.isRange()) {
      TK_REQUIRE(0 <= values[0] && values[0] <= values[1], Usage,
                 "export: the extent {} is in {}..{}; a range goes from at least 0 up", name, values[0], values[1]);
      continue;
    }
    TK_REQUIRE(!values.empty(), Usage, "export: no size of the extent {} is listed", name);
    for (const int64_t value : values)
      TK_REQUIRE(value > 0, Usage, "export: the extent {} is {}; listed sizes are positive, only ranges begin at 0",
                 name, value);
    combinations *= values.size();
    TK_REQUIRE(
        combinations <= kMostExports, Usage,
        "export: there are more than {} combinations of listed sizes; ranges need one kernel for all their sizes",
        kMostExports);
  }
}

ExportedContents collectContents(const Fusion& fusion, const KernelTarget& target, const ExportOptions& options) {
  TargetExporter exporter(fusion, target, options);
  const std::vector<Scalar*> symbols = fusion.allSymbols();
  for (const auto& [name, extent] : options.sizes) {
    const bool is_known = std::ranges::any_of(symbols, [&](const Scalar* it) { return it->name() == name; });
    TK_REQUIRE(is_known, Bind, "export: {} has no extent '{}'", fusion.name(), name);
  }
  exporter.collect();
  return {.symbols = exporter.symbols(),
          .host_program = exporter.text(),
          .launches = exporter.collector().launches(),
          .codes = exporter.collector().codes()};
}

}  // namespace tokamak
