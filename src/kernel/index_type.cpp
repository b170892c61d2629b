#include "kernel/index_type.h"

#include <algorithm>

#include "compute/element.h"
#include "kernel/index_assumptions.h"
#include "kernel/rewrite.h"
#include "symbolic/interval_analysis.h"

namespace tokamak::kir {

namespace {

using IntervalOf = std::function<std::optional<Interval>(const Scalar&)>;

// Without loops that never run, whose indices have no values.
Statements withoutDeadLoops(const Statements& statements, IntervalAnalysis& analysis) {
  return withLoops(statements, [&](const Loop& loop, Statements& result) {
    if (analysis.of(*loop.stop).upper <= std::max<int64_t>(0, analysis.of(*loop.start).lower)) return;
    Loop copy = loop;
    copy.body = withoutDeadLoops(loop.body, analysis);
    result.push_back(statement(std::move(copy)));
  });
}

bool areWithin(const Kernel& kernel, const IntervalOf& intervalOf, int bits) {
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
  bool is_within = true;
  for (const LaunchDimension& dimension : kernel.dimensions) is_within &= analysis.isWithin(*dimension.extent, bits);
  visitScalars(withoutDeadLoops(kernel.body, analysis), [&](Scalar& scalar) {
    is_within = is_within && (isOfParameters(scalar) || analysis.isWithin(scalar, bits));
  });
  return is_within;
}

IntervalOf valuesIn(const ScalarBindings& bindings) {
  return [&](const Scalar& symbol) -> std::optional<Interval> {
    const auto found = bindings.find(&symbol);
    return found == bindings.end() ? std::nullopt : std::optional(Interval::exactly(asInt(found->second)));
  };
}

DataType typeFor(bool is_narrow_enough) { return is_narrow_enough ? DataType::I32 : DataType::I64; }

}  // namespace

DataType indexTypeOf(const Kernel& kernel, const IntervalOf& intervalOf) {
  return typeFor(areWithin(kernel, intervalOf, 32));
}

DataType indexTypeOf(const Kernel& kernel, const ScalarBindings& bindings) {
  return typeFor(areIndicesWithin(kernel, bindings, 32));
}

bool areIndicesWithin(const Kernel& kernel, const ScalarBindings& bindings, int bits) {
  return areWithin(kernel, valuesIn(bindings), bits);
}

}  // namespace tokamak::kir
