#include "define/indexing.h"

#include "base/error.h"
#include "define/shapes.h"
#include "ir/fusion.h"
#include "ir/shape_rule.h"

namespace tokamak {

namespace {

// Around an axis at position `axis` of a tensor of `rank` axes, broadcast axes everywhere else.
TensorView* alongAxis(TensorView* index, int64_t axis, size_t rank) {
  if (shapeOf(*index).empty()) index = unsqueeze(index, 0);
  std::vector<bool> flags(rank, true);
  flags[static_cast<size_t>(axis)] = false;
  return rank == 1 ? index : broadcast(index, flags);
}

}  // namespace

TensorView* take_along_axis(TensorView* in, TensorView* index, int64_t axis) {
  return define<TakeAlongAxisOp>(in, index, axis);
}

TensorView* gather(TensorView* in, int64_t axis, TensorView* index) {
  const int64_t along = ShapeRule(in->fusion(), "gather").normalAxis(axis, *in);
  const Axes shape = shapeOf(*in);
  const Axes wanted = shapeOf(*index);
  TK_REQUIRE(shape.size() == wanted.size(), Definition, "gather: {} and the positions {} differ in rank", toString(*in),
             toString(*index));
  for (size_t i = 0; i < shape.size(); ++i) {
    Scalar* size = shape[i]->visibleExtent();
    Scalar* part = wanted[i]->visibleExtent();
    if (static_cast<int64_t>(i) == along || size == part) continue;
    const auto known_size = size->constantInt();
    const auto known_part = part->constantInt();
    TK_REQUIRE(!known_size || !known_part || *known_part <= *known_size, Definition,
               "gather: axis {} of the positions {} is longer than that of {}; only along axis {} it may be", i,
               toString(*index), toString(*in), along);
    in = slice(in, static_cast<int64_t>(i), 0, part);
  }
  return take_along_axis(in, index, along);
}

TensorView* index_select(TensorView* in, int64_t axis, TensorView* index) {
  const int64_t along = ShapeRule(in->fusion(), "index_select").normalAxis(axis, *in);
  TK_REQUIRE(shapeOf(*index).size() <= 1, Definition,
             "index_select: positions are a tensor of rank 1 or 0, {} is not; gather and take_along_axis take more",
             toString(*index));
  return take_along_axis(in, alongAxis(index, along, shapeOf(*in).size()), along);
}

TensorView* embedding(TensorView* weight, TensorView* index) {
  TK_REQUIRE(shapeOf(*weight).size() == 2, Definition, "embedding: the weight has a row per index, {} is no matrix",
             toString(*weight));
  const size_t rank = shapeOf(*index).size();
  if (rank == 0) return squeeze(index_select(weight, 0, index), {0});
  std::vector<bool> leading(rank + 1, true);
  leading[rank - 1] = leading[rank] = false;
  TensorView* table = rank == 1 ? weight : broadcast(weight, leading);
  return take_along_axis(table, unsqueeze(index, -1), static_cast<int64_t>(rank) - 1);
}

}  // namespace tokamak
