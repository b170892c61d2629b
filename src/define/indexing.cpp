#include "define/indexing.h"

#include <cmath>

#include "base/require.h"
#include "define/functions.h"
#include "define/operand.h"
#include "define/reductions.h"
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

// The norm of each row, [.., 1].
TensorView* rowNorms(TensorView* rows, double order) {
  constexpr ReductionOptions kKept = {.keepdim = true};
  if (order == 2) return sqrt(sum(mul(rows, rows), {-1}, kKept));
  if (std::isinf(order)) return max(abs(rows), {-1}, kKept);
  if (order == 1) return sum(abs(rows), {-1}, kKept);
  return pow(sum(pow(abs(rows), order), {-1}, kKept), 1 / order);
}

TensorView* withNormAtMost(TensorView* rows, double most, double order) {
  constexpr double kAway = 1e-7;  // from dividing by 0
  TensorView* values = toFloating(rows);
  TensorView* norms = rowNorms(values, order);
  TensorView* is_longer = gt(norms, most);
  TensorView* scales = where(is_longer, truediv(most, add(norms, kAway)), 1.0);
  return castTo(mul(values, scales), rows->dtype());
}

void requireNorm(const TensorView& weight, const EmbeddingOptions& options) {
  TK_REQUIRE(isFloatingType(weight.dtype()), Definition,
             "embedding: the rows of {} have no norm; those of a floating type have", toString(weight));
  TK_REQUIRE(*options.max_norm >= 0 && options.norm_type > 0, Definition,
             "embedding: max_norm {} with norm_type {} is refused; max_norm is not negative, norm_type is above 0",
             *options.max_norm, options.norm_type);
}

TensorView* rowsAt(TensorView* weight, TensorView* index) {
  const size_t rank = shapeOf(*index).size();
  if (rank == 0) return squeeze(index_select(weight, 0, index), {0});
  std::vector<bool> leading(rank + 1, true);
  leading[rank - 1] = leading[rank] = false;
  TensorView* table = rank == 1 ? weight : broadcast(weight, leading);
  return take_along_axis(table, unsqueeze(index, -1), static_cast<int64_t>(rank) - 1);
}

}  // namespace

TensorView* take_along_axis(TensorView* in, TensorView* index, int64_t axis) {
  requireGiven("take_along_axis", {{"in", in}, {"index", index}});
  return define<TakeAlongAxisOp>(in, index, axis);
}

TensorView* gather(TensorView* in, int64_t axis, TensorView* index) {
  requireGiven("gather", {{"in", in}, {"index", index}});
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
  requireGiven("index_select", {{"in", in}, {"index", index}});
  const int64_t along = ShapeRule(in->fusion(), "index_select").normalAxis(axis, *in);
  TK_REQUIRE(shapeOf(*index).size() <= 1, Definition,
             "index_select: positions are a tensor of rank 1 or 0, {} is not; gather and take_along_axis take more",
             toString(*index));
  return take_along_axis(in, alongAxis(index, along, shapeOf(*in).size()), along);
}

TensorView* embedding(TensorView* weight, TensorView* index, EmbeddingOptions options) {
  requireGiven("embedding", {{"weight", weight}, {"index", index}});
  TK_REQUIRE(shapeOf(*weight).size() == 2, Definition, "embedding: the weight has a row per index, {} is no matrix",
             toString(*weight));
  if (!options.max_norm) return rowsAt(weight, index);
  requireNorm(*weight, options);
  return withNormAtMost(rowsAt(weight, index), *options.max_norm, options.norm_type);
}

}  // namespace tokamak
