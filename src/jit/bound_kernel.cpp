#include "jit/bound_kernel.h"

#include "base/require.h"
#include "jit/prepared_kernel.h"
#include "schedule/schedule_checks.h"

namespace tokamak {

namespace {

// More would not end within days, and its number may not fit an index.
void requireFewTerms(const TensorView& tensor, const ScalarBindings& sizes) {
  constexpr int64_t kMostTerms = int64_t{1} << 50;
  int64_t terms = 1;
  for (size_t i = 0; i < tensor.logical().size(); ++i) {
    if (!tensor.logical()[i]->isReduction()) continue;
    const auto extent = evaluate(*tensor.logical()[i]->visibleExtent(), sizes);
    const bool fits = !extent || (!__builtin_mul_overflow(terms, asInt(*extent), &terms) && terms <= kMostTerms);
    TK_REQUIRE(fits, Bind,
               "{}: with axis {}, of {} elements, the terms of a reduction are too many; at most {} of all its "
               "axes are legal",
               toString(tensor), i, asInt(*extent), kMostTerms);
  }
}

}  // namespace

void requireBindable(const Fusion& program, bool is_scheduled, const ScalarBindings& sizes) {
  if (is_scheduled) {
    requireLegalFactors(program, sizes);
    requireFewIterations(program, sizes);
  }
  for (const TensorView* tensor : program.allTensors()) requireFewTerms(*tensor, sizes);
}

BoundKernel bindCode(const KernelCode& code, std::span<const OperandDesc> operands,
                     std::span<const std::optional<ScalarValue>> values) {
  const kir::Kernel& kernel = code.kernel;
  BoundKernel bound;
  bound.bindings = bindingsOf(code.symbols, values);
  bound.elements = bindOperands(kernel, operands, bound.bindings);
  for (const kir::LaunchDimension& dimension : kernel.dimensions)
    bound.extents.push_back(evaluateInt(*dimension.extent, bound.bindings));
  bound.symbols = symbolBits(kernel, bound.bindings);
  return bound;
}

}  // namespace tokamak
