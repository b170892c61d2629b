#include "kernel/index_type.h"

#include <algorithm>

#include "compute/element.h"
#include "ir/interval_analysis.h"
#include "kernel/index_assumptions.h"
#include "kernel/rewrite.h"

namespace tokamak::kir {

DataType indexTypeOf(const Kernel& kernel, const std::function<std::optional<Interval>(const Scalar&)>& intervalOf) {
  IntervalAnalysis analysis;
  for (const Scalar* symbol : kernel.symbols) {
    if (isFloatingType(symbol->dtype())) continue;
    if (const auto interval = intervalOf(*symbol)) analysis.assume(*symbol, *interval);
  }
  assumeIndices(kernel, analysis);
  const std::span parameters(kernel.symbols.data(), kernel.parameter_count);
  const auto isOfParameters = [&](const Scalar& scalar) {
    return std::ranges::any_of(parameters, [&](const Scalar* parameter) { return mentions(scalar, *parameter); });
  };
  bool needs_64 = false;
  for (const LaunchDimension& dimension : kernel.dimensions) needs_64 |= analysis.needs64Bit(*dimension.extent);
  visitScalars(kernel.body, [&](Scalar& scalar) {
    needs_64 = needs_64 || (!isOfParameters(scalar) && analysis.needs64Bit(scalar));
  });
  return needs_64 ? DataType::I64 : DataType::I32;
}

DataType indexTypeOf(const Kernel& kernel, const ScalarBindings& bindings) {
  return indexTypeOf(kernel, [&](const Scalar& symbol) -> std::optional<Interval> {
    const auto found = bindings.find(&symbol);
    return found == bindings.end() ? std::nullopt : std::optional(Interval::exactly(asInt(found->second)));
  });
}

}  // namespace tokamak::kir
