#include "define/rope.h"

#include "base/require.h"
#include "define/functions.h"
#include "define/operand.h"
#include "define/structured.h"
#include "ir/fusion.h"

namespace tokamak {

namespace {

struct Halves {
  TensorView* first;
  TensorView* second;
};

Halves halvesOf(std::string_view op, TensorView* in) {
  const Axes shape = shapeOf(*in);
  TK_REQUIRE(!shape.empty(), Definition, "{}: {} has no axis to rotate along", op, toString(*in));
  Scalar* size = shape.back()->visibleExtent();
  const auto known = size->constantInt();
  TK_REQUIRE(!known || *known % 2 == 0, Definition, "{}: the last axis of {} has no two halves", op, toString(*in));
  Scalar* half = in->fusion().floorDiv(size, in->fusion().constant(2));
  return {slice(in, -1, 0, half), slice(in, -1, half, size)};
}

}  // namespace

TensorView* rope(TensorView* in, TensorView* cos, TensorView* sin) {
  requireGiven("rope", {{"in", in}, {"cos", cos}, {"sin", sin}});
  const Halves halves = halvesOf("rope", in);
  TensorView* turned = cat({neg(halves.second), toComputeType(halves.first)}, -1);
  return toTypeOf(*in, add(mul(in, cos), mul(turned, sin)));
}

TensorView* rope_backward(TensorView* grad, TensorView* cos, TensorView* sin) {
  requireGiven("rope_backward", {{"grad", grad}, {"cos", cos}, {"sin", sin}});
  const Halves halves = halvesOf("rope_backward", mul(grad, sin));
  TensorView* turned = cat({halves.second, neg(halves.first)}, -1);
  return toTypeOf(*grad, add(mul(grad, cos), turned));
}

}  // namespace tokamak
