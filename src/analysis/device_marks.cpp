#include "analysis/device_marks.h"

#include <fmt/format.h>

#include "base/require.h"
#include "base/text.h"

namespace tokamak {

void requireOneDevice(std::string_view operation, const Fusion& program) {
  for (const TensorView* tensor : program.allTensors()) {
    TK_REQUIRE(tensor->mesh().empty(), Unsupported,
               "{}: {} is spread over the devices {} of a mesh, and this is for one device; run it over ranks "
               "(--ranks), or leave the mesh out",
               operation, nameOf(*tensor), joined(tensor->mesh().devices));
    for (const Axes* axes : {&tensor->logical(), &tensor->loop()}) {
      for (const IterDomain* axis : *axes) {
        const ParallelType type = axis->parallelType();
        TK_REQUIRE(type < ParallelType::DIDx || type > ParallelType::DIDz, Unsupported,
                   "{}: {} has an axis marked {}, and this is for one device; run it over ranks (--ranks), "
                   "with a mesh, or leave the mark out",
                   operation, nameOf(*tensor), parallelTypeName(type));
      }
    }
  }
}

}  // namespace tokamak
