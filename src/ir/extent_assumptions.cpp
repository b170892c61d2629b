#include "ir/extent_assumptions.h"

namespace tokamak {

void assumeExtents(IntervalAnalysis& analysis, const Fusion& fusion) {
  for (const TensorView* tensor : fusion.allTensors()) {
    for (const Axes* axes :
         {&tensor->domain().root, &tensor->domain().logical, &tensor->domain().loop, &tensor->domain().allocation}) {
      for (const IterDomain* axis : *axes) {
        analysis.assumeExtent(*axis->extent());
        if (axis->expandedExtent() != nullptr) analysis.assumeExtent(*axis->expandedExtent());
      }
    }
  }
}

}  // namespace tokamak
