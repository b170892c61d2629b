#include "ir/text/extent_limits.h"

#include <algorithm>

#include "ir/text/scalar_text.h"

namespace tokamak {

namespace {

constexpr int64_t kMaxNodes = 10000;

}  // namespace

bool ExtentLimits::allows(const Scalar& scalar) {
  const Measure& measure = measureOf(scalar);
  return measure.nodes <= kMaxNodes && measure.depth <= kMaxNesting;
}

const ExtentLimits::Measure& ExtentLimits::measureOf(const Scalar& scalar) {
  if (const auto found = measures_.find(&scalar); found != measures_.end()) return found->second;
  Measure measure;
  for (const Scalar* operand : scalar.operands()) {
    const Measure inner = measureOf(*operand);
    measure.nodes = std::min(measure.nodes + inner.nodes, kMaxNodes + 1);
    measure.depth = std::max(measure.depth, inner.depth + 1);
  }
  return measures_[&scalar] = measure;
}

}  // namespace tokamak
