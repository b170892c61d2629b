#include "generator/kernel_case.h"

#include <algorithm>

#include <fmt/format.h>

#include "analysis/bind_shape.h"
#include "base/error.h"
#include "generator/draw_data.h"
#include "heuristics/cpu_schedule.h"
#include "ir/clone.h"
#include "kernel/bind_kernel.h"
#include "lower/lower_kernel.h"
#include "oracle/compare.h"
#include "runtime/interpreter/kernel_interpreter.h"

namespace tokamak::generator {

namespace {

struct Output {
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  std::vector<std::byte> bytes;
};

std::optional<Problem> compareOutputs(const kir::Kernel& kernel, const std::vector<Output>& outputs,
                                      const oracle::Evaluation& exact, const oracle::Evaluation& typed) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const oracle::StoredTensor stored{.dtype = kernel.fusion->outputs()[i]->dtype(),
                                      .sizes = outputs[i].sizes,
                                      .strides = outputs[i].strides,
                                      .data = outputs[i].bytes.data()};
    const oracle::Comparison comparison = oracle::compare(stored, exact.outputs[i], &typed.outputs[i]);
    // Where a few large elements decide the root of the mean, luck with their last bits does; then the bounds alone judge.
    const bool is_rmse_kept = comparison.isRmseKept() || comparison.count < 64 || comparison.max_of_bound < 0.25;
    if (comparison.mismatches > 0 || !is_rmse_kept)
      return Problem{"values", fmt::format("output {}: {}", i, oracle::toString(comparison))};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Problem> findKernelProblem(const Fusion& fusion, const std::vector<InputData>& inputs,
                                         KernelTally& tally) {
  ++tally.programs;
  const bool gives_input = std::ranges::any_of(fusion.outputs(), [&](TensorView* t) { return fusion.isInput(t); });
  if (gives_input || whyNoCpuKernel(*cloneFusion(fusion))) {
    ++tally.refused;
    return std::nullopt;
  }
  tally.ops += static_cast<int64_t>(fusion.exprs().size());
  const std::vector<oracle::Input> oracle_inputs = toOracle(inputs);
  const oracle::Evaluation exact = oracle::evaluate(fusion, oracle_inputs);
  const oracle::Evaluation typed =
      oracle::evaluate(fusion, oracle_inputs, {.mode = oracle::Mode::Typed, .bindings = {}});
  const char* stage = "schedule";
  std::string text;
  try {
    std::shared_ptr<Fusion> scheduled = cloneFusion(fusion);
    scheduleForCpu(*scheduled, {.chunk = 16, .columns = 4, .lanes = 4});
    stage = "lower";
    const kir::Kernel kernel = lowerKernel(scheduled, "k");
    text = kir::printKernel(kernel);
    stage = "bind";
    std::vector<StoredData> copies;
    std::vector<KernelBuffer> buffers;
    ScalarBindings bindings;
    copies.reserve(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (const auto* scalar = std::get_if<ScalarValue>(&inputs[i])) {
        bindings[asScalar(kernel.fusion->inputs()[i])] = *scalar;
        continue;
      }
      StoredData& copy = copies.emplace_back(std::get<StoredData>(inputs[i]));
      kir::bindBuffer(kernel, buffers.size(), copy.sizes, copy.strides, bindings);
      const int64_t width = sizeOf(copy.dtype);
      buffers.push_back({copy.bytes.data() + copy.offset * width,
                         static_cast<int64_t>(copy.bytes.size()) / width - copy.offset, /*is_written=*/true});
    }
    std::vector<Output> outputs;
    outputs.reserve(kernel.fusion->outputs().size());
    for (const TensorView* tensor : kernel.fusion->outputs()) {
      Output& output = outputs.emplace_back();
      output.sizes = sizesOf(*tensor, bindings);
      output.strides = freshStrides(*tensor, output.sizes);
      const int64_t elements = spanOf(output.sizes, output.strides);
      output.bytes.assign(static_cast<size_t>(std::max<int64_t>(1, elements) * sizeOf(tensor->dtype())),
                          std::byte{0xA5});
      kir::bindBuffer(kernel, buffers.size(), output.sizes, output.strides, bindings);
      buffers.push_back({output.bytes.data(), elements, /*is_written=*/false});
    }
    stage = "interpret";
    const std::vector<std::string> findings = interpretKernel(kernel, buffers, bindings, {.seed = 1});
    if (!findings.empty()) return Problem{"finding", findings[0] + "\n" + text};
    auto problem = compareOutputs(kernel, outputs, exact, typed);
    if (problem) problem->text += "\n" + text;
    for (const oracle::OracleTensor& output : exact.outputs) tally.elements += output.count();
    return problem;
  } catch (const Error& error) {
    return Problem{fmt::format("{}: error {}", stage, errorCodeName(error.code())),
                   std::string(error.what()) + "\n" + text};
  }
}

}  // namespace tokamak::generator
