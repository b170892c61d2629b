#include "jit/prepared_kernel.h"

#include <bit>
#include <numeric>

#include "analysis/bind_shape.h"
#include "base/require.h"
#include "compute/shape_constraints.h"
#include "device/work.h"
#include "heuristics/unmerge_reshapes.h"
#include "ir/clone.h"
#include "jit/shaped_program.h"
#include "kernel/bind_kernel.h"
#include "lower/lower_kernel.h"
#include "schedule/schedule_checks.h"
#include "schedule/transforms.h"

namespace tokamak {

std::vector<int64_t> bindOperands(const kir::Kernel& kernel, std::span<const OperandDesc> operands,
                                  ScalarBindings& bindings) {
  std::vector<int64_t> elements;
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < operands.size(); ++i) {
    sizes = operands[i].sizes;
    const Axes axes = shapeOf(*kernel.tensors[i]);
    for (size_t k = 0; k < axes.size(); ++k) {
      if (!axes[k]->isBroadcast()) continue;
      // What nobody else knows is as large as it is shown.
      if (const auto extent = evaluate(*axes[k]->visibleExtent(), bindings)) sizes[k] = asInt(*extent);
    }
    kir::bindBuffer(kernel, i, sizes, operands[i].strides, bindings);
    elements.push_back(spanOf(operands[i].sizes, operands[i].strides));
  }
  return elements;
}

KernelPassOptions passesSeenBy(KernelObserver* observer) {
  if (observer == nullptr || !observer->wantsPasses()) return {};
  return {.after = [observer](std::string_view pass, const kir::Kernel& kernel) {
    observer->onKernelPass(pass, kir::printKernel(kernel));
  }};
}

std::vector<int64_t> symbolBits(const kir::Kernel& kernel, const ScalarBindings& bindings) {
  std::vector<int64_t> bits(kernel.parameter_count, 0);
  for (const Scalar* symbol : std::span(kernel.symbols).subspan(kernel.parameter_count)) {
    const auto found = bindings.find(symbol);
    TK_CHECK(found != bindings.end(), "the size {} of a kernel is not known", symbol->name());
    bits.push_back(isFloatingType(symbol->dtype()) ? std::bit_cast<int64_t>(asDouble(found->second))
                                                   : asInt(found->second));
  }
  return bits;
}

PreparedKernel prepareKernel(const Fusion& program, std::span<const OperandDesc> operands,
                             const ScalarBindings& bindings, const KernelRecipe& recipe) {
  requireShapeConstraints(program, bindings);
  Fusion split(program.name());
  Cloner cloner(split);
  cloneInto(program, cloner);
  std::vector<Scalar*> symbols;
  std::vector<std::optional<ScalarValue>> values;
  ScalarBindings sizes;
  for (Scalar* symbol : program.allSymbols()) {
    const auto found = bindings.find(symbol);
    symbols.push_back(cloner.clone(symbol));
    values.push_back(found == bindings.end() ? std::nullopt : std::optional(found->second));
    if (values.back()) sizes[symbols.back()] = *values.back();
  }
  const std::vector<AxisParts> parts = unmergeReshapes(split, recipe.target);
  const std::vector<OperandDesc> given = unmergeOperands(split, parts, operands, sizes);
  const ShapeChooser chooser(split, symbols, recipe.extents);
  const KernelShape shape = chooser.choose(given, values);
  const ShapedProgram shaped = shapeProgram(split, chooser, shape);
  PreparedKernel prepared;
  prepared.name = program.name();
  prepared.bindings = bindingsOf(shaped.symbols, values);
  if (!chooser.isScheduled()) recipe.schedule(*shaped.fusion, prepared.bindings);
  prepared.kernel = lowerKernel(shaped.fusion, kernelNameOf(program), shape.alignment, recipe.passes);
  prepared.elements = bindOperands(prepared.kernel, given, prepared.bindings);
  requireLegalFactors(*prepared.kernel.fusion, prepared.bindings);
  prepared.operands.resize(operands.size());
  std::iota(prepared.operands.begin(), prepared.operands.end(), size_t{0});
  return prepared;
}

}  // namespace tokamak
