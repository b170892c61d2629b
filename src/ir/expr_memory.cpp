#include "ir/expr_memory.h"

#include <algorithm>

#include "ir/tensor_view.h"

namespace tokamak {

bool touchesHostMemory(const Expr& expr) {
  const auto isElsewhere = [](const Val* val) {
    const auto* tensor = dynamic_cast<const TensorView*>(val);
    return tensor != nullptr && tensor->memoryKind() != MemoryKind::Device;
  };
  return std::ranges::any_of(expr.inputs(), isElsewhere) || std::ranges::any_of(expr.outputs(), isElsewhere);
}

}  // namespace tokamak
