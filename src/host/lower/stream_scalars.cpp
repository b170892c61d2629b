#include "host/lower/stream_scalars.h"

namespace tokamak {

Scalar* streamIndex(HostIrContainer& program) {
  for (Scalar* symbol : program.allSymbols()) {
    if (symbol->name() == "StreamIdx") return symbol;
  }
  return program.symbol("StreamIdx");
}

Scalar* elementCount(HostIrContainer& program, const TensorView& tensor) {
  Scalar* count = program.constant(1);
  for (const IterDomain* axis : shapeOf(tensor)) {
    if (!axis->isBroadcast()) count = program.mul(count, axis->extent());
  }
  return count;
}

}  // namespace tokamak
