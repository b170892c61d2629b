#include "kernel/bind_kernel.h"

#include <algorithm>

#include "analysis/bind_shape.h"
#include "base/error.h"

namespace tokamak::kir {

void bindBuffer(const Kernel& kernel, size_t tensor, std::span<const int64_t> sizes, std::span<const int64_t> strides,
                ScalarBindings& bindings) {
  const TensorView& view = *kernel.tensors[tensor];
  bindShape(view, sizes, bindings);
  const Axes shape = shapeOf(view);
  const std::vector<Scalar*>& expected = kernel.strides.at(&view);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (expected[i]->isSymbol()) bindings.try_emplace(expected[i], strides[i]);
  }
  // Where nothing moves along an axis, its stride does not matter.
  if (std::ranges::find(sizes, 0) != sizes.end()) return;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i]->isBroadcast() || sizes[i] == 1) continue;
    const int64_t stride = evaluateInt(*expected[i], bindings);
    TK_REQUIRE(stride == strides[i], Bind, "{}: axis {} of {} has stride {}, the kernel was compiled for {}",
               kernel.name, i, toString(view), strides[i], stride);
  }
}

}  // namespace tokamak::kir
