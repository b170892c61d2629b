#include "ir/ops/math/pad_op.h"

namespace tokamak {

void PadOp::infer(const ShapeRule& rule) {
  Fusion& fusion = rule.fusion();
  const Axes shape = shapeOf(*in);
  TK_REQUIRE(widths.size() == 2 * shape.size(), Definition,
             "pad: {} widths for {}; two for each of its {} axes are needed", widths.size(), toString(*in),
             shape.size());
  if (value == nullptr) value = fusion.constant(int64_t{0}, in->dtype());
  Axes axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    Scalar* before = widths[2 * i];
    Scalar* after = widths[2 * i + 1];
    if (before->isConstantInt(0) && after->isConstantInt(0)) {
      axes.push_back(rule.like(*shape[i]));
      continue;
    }
    Scalar* extent = fusion.add(fusion.add(shape[i]->visibleExtent(), before), after);
    TK_REQUIRE(!extent->constantInt() || *extent->constantInt() >= 0, Definition,
               "pad: widths {} and {} cut more than axis {} of {} has", toString(*before), toString(*after), i,
               toString(*in));
    axes.push_back(rule.sized(extent));
  }
  out = rule.tensor(in->dtype(), std::move(axes));
}

}  // namespace tokamak
