#include "ir/ops/math/matmul_op.h"

namespace tokamak {

void MatmulOp::infer(const ShapeRule& rule) {
  const Axes left = shapeOf(*a);
  const Axes right = shapeOf(*b);
  TK_REQUIRE(!left.empty() && !right.empty(), Definition, "matmul: operands must have at least one axis, got {} and {}",
             toString(*a), toString(*b));
  TK_REQUIRE(a->dtype() == b->dtype() && a->dtype() != DataType::Bool, Definition,
             "matmul: operands must have one type other than bool, got {} and {}", toString(*a), toString(*b));
  IterDomain* left_k = left.back();
  IterDomain* right_k = right.size() == 1 ? right[0] : right[right.size() - 2];
  const auto k = left_k->visibleExtent()->constantInt();
  const auto other_k = right_k->visibleExtent()->constantInt();
  TK_REQUIRE(!k || !other_k || *k == *other_k, Definition, "matmul: the inner sizes of {} and {} differ: {} and {}",
             toString(*a), toString(*b), *k, *other_k);
  const size_t left_batch = left.size() < 2 ? 0 : left.size() - 2;
  const size_t right_batch = right.size() < 2 ? 0 : right.size() - 2;
  const size_t batch = std::max(left_batch, right_batch);
  Axes axes;
  for (size_t i = 0; i < batch; ++i) {
    std::vector<IterDomain*> column;
    if (i + left_batch >= batch) column.push_back(left[i + left_batch - batch]);
    if (i + right_batch >= batch) column.push_back(right[i + right_batch - batch]);
    axes.push_back(rule.common(column, static_cast<int64_t>(i)));
  }
  if (left.size() > 1) axes.push_back(rule.like(*left[left.size() - 2]));
  if (right.size() > 1) axes.push_back(rule.like(*right.back()));
  axes.push_back(rule.reduction(k || !other_k ? *left_k : *right_k));
  out = rule.tensor(rule.productType(*a, dtype), std::move(axes));
}

}  // namespace tokamak
