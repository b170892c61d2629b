#include "ir/ops/math/slice_op.h"

#include "symbolic/scalar_simplifier.h"

namespace tokamak {

void SliceOp::infer(const ShapeRule& rule) {
  Fusion& fusion = rule.fusion();
  const Axes shape = shapeOf(*in);
  if (steps.empty()) steps.assign(starts.size(), fusion.constant(1));
  TK_REQUIRE(starts.size() == shape.size() && stops.size() == shape.size() && steps.size() == shape.size(), Definition,
             "slice: {} starts, {} stops and {} steps for {} with {} axes", starts.size(), stops.size(), steps.size(),
             toString(*in), shape.size());
  Axes axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto size = shape[i]->visibleExtent()->constantInt();
    const auto start = starts[i]->constantInt();
    const auto stop = stops[i]->constantInt();
    const auto step = steps[i]->constantInt();
    TK_REQUIRE((!start || *start >= 0) && (!stop || *stop >= 0) && (!start || !stop || *start <= *stop) &&
                   (!stop || !size || *stop <= *size) && (!start || !size || *start <= *size),
               Definition, "slice: range [{}, {}) is outside axis {} of {}; 0 <= start <= stop <= size must hold",
               toString(*starts[i]), toString(*stops[i]), i, toString(*in));
    TK_REQUIRE(!step || *step > 0, Definition, "slice: step {} along axis {} of {}; steps must be positive",
               toString(*steps[i]), i, toString(*in));
    const bool is_whole =
        starts[i]->isConstantInt(0) && steps[i]->isConstantInt(1) && stops[i] == shape[i]->visibleExtent();
    if (is_whole) {
      axes.push_back(rule.like(*shape[i]));
      continue;
    }
    // What begins at 0 has its end as the extent: a difference would be another scalar where the end is n + n.
    const bool is_end = starts[i]->isConstantInt(0) && steps[i]->isConstantInt(1);
    axes.push_back(rule.sized(is_end ? simplify(stops[i]) : fusion.ceilDiv(fusion.sub(stops[i], starts[i]), steps[i])));
  }
  out = rule.tensor(in->dtype(), std::move(axes));
}

}  // namespace tokamak
