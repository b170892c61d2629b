// loopText: a tensor's loop nest in one line, for tests of schedules: "iStream{( ceilDiv(i0, 128) )}, iS{128}, rS{8}".
#pragma once

#include <string>

#include "ir/tensor_view.h"
#include "symbolic/scalar.h"

namespace tokamak {

inline std::string loopText(const TensorView& tensor) {
  std::string text;
  for (const IterDomain* axis : tensor.loop()) {
    text += text.empty() ? "" : ", ";
    text += iterKindLetter(axis->kind());
    const ParallelType type = axis->parallelType();
    text += type == ParallelType::Serial ? "S" : parallelTypeName(type);
    text.append("{").append(toString(*axis->extent()));
    if (axis->expandedExtent() != nullptr) text.append("->").append(toString(*axis->expandedExtent()));
    text += "}";
  }
  return text;
}

}  // namespace tokamak
