#include "oracle/op_context.h"

#include "base/require.h"
#include "oracle/scalars.h"

namespace tokamak::oracle {

int64_t OpContext::integer(const Scalar* scalar) const { return evaluateInt(*scalar, *bindings_); }

Element OpContext::scalarAs(DataType dtype, const Scalar* scalar) const {
  return evaluateScalarAs(dtype, *scalar, *bindings_, mode_);
}

std::vector<int64_t> OpContext::sizesOf(const TensorView& tensor) const {
  std::vector<int64_t> sizes;
  for (const IterDomain* axis : shapeOf(tensor)) {
    sizes.push_back(integer(axis->visibleExtent()));
    TK_REQUIRE(sizes.back() >= 0, Bind, "{}: axis {} has size {}; sizes are not negative", toString(tensor),
               sizes.size() - 1, sizes.back());
  }
  return sizes;
}

OracleTensor OpContext::result(const TensorView& tensor) const { return zeros(tensor.dtype(), sizesOf(tensor)); }

}  // namespace tokamak::oracle
