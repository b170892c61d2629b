#include "ir/ops/math/reduction_op.h"

#include <algorithm>

#include "compute/rules.h"

namespace tokamak {

void rule(const ReductionOp& op, ElementBuilder& b) {
  std::vector<Scalar*> index;
  std::vector<ReducedAxis> axes;
  size_t next = 0;
  int64_t position = 0;
  for (const IterDomain* axis : shapeOf(*op.in)) {
    if (!std::ranges::binary_search(op.axes, position++)) {
      index.push_back(b.coordinate(next++));
      continue;
    }
    axes.push_back(b.reduced(axis->visibleExtent()));
    index.push_back(axes.back().coordinate);
  }
  b.result(b.reduce(op.op, std::move(axes), b.load(op.in, std::move(index)), computeType(op.in->dtype())));
}

}  // namespace tokamak
