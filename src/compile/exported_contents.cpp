#include "compile/exported_contents.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "analysis/bind_shape.h"
#include "base/require.h"
#include "base/text.h"
#include "compile/interface_names.h"
#include "compile/lower_fusion.h"
#include "compile/make_program.h"
#include "compile/multi_device_executor.h"
#include "host/ir/text/host_parser.h"
#include "host/ir/text/host_printer.h"
#include "ir/text/names.h"
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
      for (const Sizes& sample : samplesOf(options_.sizes, combination)) survey(sample, combination);
      collector_.startCollecting();
      plan(combination);
    }
  }

  const ExportCollector& collector() const { return collector_; }
  const std::string& text() const { return text_; }
  const std::vector<std::string>& symbols() const { return symbols_; }

 private:
  // Ends of ranges need not fit each other, such as those of where a slice begins and ends.
  void survey(const Sizes& sample, const Sizes& combination) {
    try {
      plan(sample);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Bind || sample == combination) throw;
    }
  }

  // Of the text, as the loader sees it. Each time anew: what was planned before is not planned again.
  void plan(Sizes sizes) {
    std::unique_ptr<HostIrContainer> program = parseHostProgram(text_, "the host program");
    giveNames(*program, names_, symbols_);
    // What became a constant, or another extent, is not asked for.
    std::erase_if(sizes, [&](const auto& size) { return std::ranges::find(symbols_, size.first) == symbols_.end(); });
    for (Scalar* symbol : program->allSymbols()) {
      if (const auto size = sizes.find(symbol->name()); size != sizes.end())
        program->defaultSizes()[symbol] = asInt(size->second);
    }
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
      TK_REQUIRE(0 <= values[0] && values[0] <= values[1] && values[1] > 0, Usage,
                 "export: the extent {} is in {}..{}; a range goes from at least 0 up to at least 1", name, values[0],
                 values[1]);
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

namespace {

bool hasSymbol(const Scalar& scalar, const Scalar& symbol) {
  return &scalar == &symbol ||
         std::ranges::any_of(scalar.operands(), [&](const Scalar* it) { return hasSymbol(*it, symbol); });
}

// Of extents of inputs, and of numbers that say how large a tensor is.
void requireAllSizes(const Fusion& fusion, const std::map<std::string, ExportedExtent>& sizes) {
  const FusionNames names(fusion);
  for (const Scalar* symbol : interfaceSymbols(fusion)) {
    const std::string name = names.nameOf(*symbol);
    const bool is_extent = std::ranges::any_of(fusion.allTensors(), [&](const TensorView* tensor) {
      return std::ranges::any_of(tensor->logical(),
                                 [&](const IterDomain* axis) { return hasSymbol(*axis->visibleExtent(), *symbol); });
    });
    TK_REQUIRE(!is_extent || sizes.contains(name), Bind,
               "export: {} has no sizes, which shapes depend on; list some, or give a range (--size {}=1..4096)", name,
               name);
  }
}

// Calls tell the extents of tensors. Those of which several are in one extent, and none alone, they do not tell.
void requireTold(const Fusion& fusion, const std::map<std::string, ExportedExtent>& sizes) {
  const FusionNames names(fusion);
  const std::vector<Scalar*> symbols = interfaceSymbols(fusion);
  ScalarBindings all;
  for (const Scalar* symbol : symbols) {
    const auto extent = sizes.find(names.nameOf(*symbol));
    all[symbol] = ScalarValue{extent == sizes.end() ? int64_t{1} : extent->second.sizes().back()};
  }
  ScalarBindings told;
  for (const TensorView* input : tensorsOf(fusion.inputs())) bindShape(*input, sizesOf(*input, all), told);
  for (const Scalar* symbol : symbols) {
    const auto extent = sizes.find(names.nameOf(*symbol));
    const bool is_open = extent != sizes.end() && extent->second.sizes().size() > 1;
    TK_REQUIRE(!is_open || told.contains(symbol) || std::ranges::count(fusion.inputs(), symbol) > 0, Unsupported,
               "export: no input tells {}, which is only a part of extents; give it one size", names.nameOf(*symbol));
  }
}

}  // namespace

ExportedContents collectContents(const Fusion& fusion, const KernelTarget& target, const ExportOptions& options) {
  TargetExporter exporter(fusion, target, options);
  const std::set<std::string> names = symbolNamesIn(fusion);
  for (const auto& [name, extent] : options.sizes) {
    TK_REQUIRE(names.contains(name), Bind, "export: {} has no extent '{}'; it has {}", fusion.name(), name,
               names.empty() ? "none" : joined(names));
  }
  requireAllSizes(fusion, options.sizes);
  requireTold(fusion, options.sizes);
  exporter.collect();
  return {.symbols = exporter.symbols(),
          .host_program = exporter.text(),
          .launches = exporter.collector().launches(),
          .codes = exporter.collector().codes()};
}

}  // namespace tokamak
