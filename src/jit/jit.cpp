#include "jit/jit.h"

#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "analysis/op_counts.h"
#include "base/error.h"
#include "codegen/source.h"
#include "device/work.h"
#include "heuristics/parameter_fields.h"
#include "jit/kernel_library.h"
#include "kernel/bind_kernel.h"
#include "kernel/shared_memory.h"

namespace tokamak {

namespace {

void setGeometry(KernelLaunch& launch, const std::vector<kir::LaunchDimension>& dimensions,
                 const std::vector<int64_t>& extents) {
  const auto set = [](std::array<int64_t, 3>& counts, ParallelType type, ParallelType first, int64_t extent) {
    counts[static_cast<size_t>(type) - static_cast<size_t>(first)] = extent;
  };
  for (size_t i = 0; i < dimensions.size(); ++i) {
    const ParallelType type = dimensions[i].type;
    if (kir::isClusterType(type))
      launch.cluster[0] = extents[i];
    else if (kir::isThreadType(type))
      set(launch.block, type, ParallelType::TIDx, extents[i]);
    else
      set(launch.grid, type, ParallelType::BIDx, extents[i]);
  }
}

// A kernel from a file has no ops, so that it is not known how much it does.
std::optional<double> stepsOf(const kir::Kernel& kernel, const BoundKernel& bound) {
  if (kernel.fusion->exprs().empty()) return std::nullopt;
  std::optional<double> steps = arithmeticOf(*kernel.fusion, bound.bindings);
  if (steps) *steps = std::accumulate(bound.elements.begin(), bound.elements.end(), *steps);
  return steps;
}

// What a GPU would be given.
std::string cudaText(const KernelCode& code) {
  try {
    return kernelSource(code.kernel, Dialect::Cuda, code.choice.index_type).text;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Unsupported && error.code() != ErrorCode::Schedule) throw;
    return fmt::format("// no CUDA text: {}\n", error.message());
  }
}

KernelExecutorOptions interpreterOptions(const KernelTarget& target, KernelObserver* observer) {
  KernelExecutorOptions options{.target = target, .indices = indicesFor(target), .observer = observer};
  if (observer == nullptr) return options;
  options.compile = [target, observer](const KernelCode& code) -> std::shared_ptr<const KernelImage> {
    observer->onKernel(*code.kernel.fusion, kir::printKernel(code.kernel),
                       target.kind == TargetKind::Cuda ? cudaText(code) : "");
    return nullptr;
  };
  return options;
}

}  // namespace

KernelLaunch launchOf(FoundKernel found) {
  const BoundKernel& bound = *found.bound;
  const kir::Kernel& kernel = bound.code->kernel;
  KernelLaunch launch;
  launch.name = std::move(found.name);
  launch.image = bound.code->image;
  launch.is_given = found.is_given;
  launch.operands = std::move(found.operands);
  launch.parameters = std::move(found.parameters);
  launch.symbols = bound.symbols;
  setGeometry(launch, kernel.dimensions, bound.extents);
  launch.shared_bytes = kir::launchedSharedBytes(kernel, bound.bindings);
  launch.workspace = kir::workspaceOf(kernel, bound.bindings);
  launch.steps = stepsOf(kernel, bound);
  launch.origin = std::move(found.executor);
  return launch;
}

KernelNotes notesOf(const FoundKernel& found) {
  const std::shared_ptr<const KernelCode>& code = found.bound->code;
  KernelNotes notes = {.image = code->image, .kernel = {code, &code->kernel}};
  if (found.executor == nullptr) return notes;
  notes.code = found.executor->noteOn(*code);
  notes.all_codes = found.executor->codeNotes();
  if (!code->choice.parameters) return notes;
  ScheduleParameters parameters = *code->choice.parameters;
  for (const ParameterField& field : fieldsOf(parameters)) {
    const bool is_flag = std::holds_alternative<bool*>(field.value);
    const int64_t value = is_flag ? int64_t{*std::get<bool*>(field.value)} : *std::get<int64_t*>(field.value);
    notes.parameters.push_back({.name = std::string(field.name), .value = value, .is_flag = is_flag});
  }
  return notes;
}

std::shared_ptr<const InterpretedKernel> interpretedOf(const std::shared_ptr<const BoundKernel>& bound) {
  return std::make_shared<InterpretedKernel>(InterpretedKernel{
      std::shared_ptr<const kir::Kernel>(bound->code, &bound->code->kernel), bound->bindings, bound->elements});
}

InterpreterJit::InterpreterJit(const KernelTarget& target, KernelObserver* observer)
    : library_(std::make_unique<KernelLibrary>(interpreterOptions(target, observer))) {}

InterpreterJit::~InterpreterJit() = default;

KernelLaunch InterpreterJit::find(const WorkRequest& request) {
  FoundKernel found = library_->find(request);
  const std::shared_ptr<const BoundKernel> bound = found.bound;
  KernelLaunch launch = launchOf(std::move(found));
  launch.interpreted = interpretedOf(bound);
  return launch;
}

KernelNotes InterpreterJit::notesOn(const WorkRequest& request) { return notesOf(library_->find(request)); }

}  // namespace tokamak
