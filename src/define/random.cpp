#include "define/random.h"

#include <algorithm>

#include "base/error.h"
#include "define/functions.h"
#include "define/structured.h"
#include "ir/fusion.h"
#include "ir/ops/math/pointwise_op.h"

namespace tokamak {

namespace {

// One more than the largest there is, also where some random ops are gone.
int64_t nextNumber(const Fusion& fusion) {
  int64_t next = 0;
  for (const Expr* expr : fusion.allExprs()) {
    const auto* op = expr->as<PointwiseOp>();
    if (op == nullptr || op->function != FunctionId::philox) continue;
    const Scalar* number = asScalar(op->ins[1]);
    if (number != nullptr && number->constantInt()) next = std::max(next, *number->constantInt() + 1);
  }
  return next;
}

void requireInteger(std::string_view what, const Operand& operand) {
  TK_REQUIRE(isIntegerType(operand.dtype()), Definition, "rand: the {} is of type {}; it is an integer", what,
             dataTypeName(operand.dtype()));
}

std::vector<Scalar*> shapeLike(const TensorView& like) {
  std::vector<Scalar*> shape;
  for (const IterDomain* axis : shapeOf(like)) shape.push_back(axis->visibleExtent());
  return shape;
}

void requireProbability(std::string_view op, double probability) {
  TK_REQUIRE(probability >= 0 && probability <= 1, Definition, "{}: {} is no probability; it is from 0 to 1", op,
             probability);
}

TensorView* kept(TensorView* in, TensorView* mask, double probability) {
  // With probability 1 nothing is kept, and there is no scale.
  const double scale = probability < 1 ? 1 / (1 - probability) : 0;
  return toTypeOf(*in, where(mask, mul(toFloating(in), scale), 0.0));
}

}  // namespace

TensorView* random_bits(Fusion& fusion, const Operands& shape, const RandomState& state) {
  requireInteger("seed", state.seed);
  requireInteger("offset", state.offset);
  const int64_t number = state.number.value_or(nextNumber(fusion));
  Scalar* count = fusion.constant(1);
  for (Scalar* size : scalarsOf(fusion, "rand", shape)) count = fusion.mul(count, size);
  const Operand operands[] = {reshape(iota(fusion, count), shape), number, state.seed, state.offset};
  return asTensor(applyFunction(FunctionId::philox, operands));
}

TensorView* rand(Fusion& fusion, const Operands& shape, const RandomState& state) {
  // The 24 bits that f32 has; from 32-bit integers GPUs convert faster.
  TensorView* bits = cast(bitwise_right_shift(random_bits(fusion, shape, state), 8), DataType::I32);
  return mul(cast(bits, DataType::F32), 0x1p-24);
}

TensorView* rand_like(TensorView* like, const RandomState& state) {
  return rand(like->fusion(), shapeLike(*like), state);
}

TensorView* uniform(Fusion& fusion, const Operands& shape, double low, double high, const RandomState& state) {
  return add(mul(rand(fusion, shape, state), high - low), low);
}

Dropout dropout(TensorView* in, double probability, const RandomState& state) {
  requireProbability("dropout", probability);
  TensorView* mask = ge(rand_like(in, state), probability);
  return {kept(in, mask, probability), mask};
}

TensorView* dropout_backward(TensorView* grad, TensorView* mask, double probability) {
  requireProbability("dropout_backward", probability);
  return kept(grad, mask, probability);
}

}  // namespace tokamak
