#include "lower/div_mod_simplification.h"

#include "kernel/index_assumptions.h"
#include "kernel/rewrite.h"
#include "symbolic/interval_analysis.h"
#include "symbolic/scalar_simplifier.h"

namespace tokamak {

kir::Kernel divModSimplification(kir::Kernel kernel) {
  IntervalAnalysis analysis;
  kir::assumeIndices(kernel, analysis);
  kernel.body = kir::withScalars(kernel.body, [&](Scalar* scalar) { return simplifyRemainders(scalar, analysis); });
  return kernel;
}

}  // namespace tokamak
