#include "define/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/half.h"
#include "base/require.h"
#include "define/functions.h"
#include "define/operand.h"
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

// Which of the op's numbers an element takes: first, first + step, ...
struct Numbers {
  int64_t first = 0;
  int64_t step = 1;
};

TensorView* randomBits(Fusion& fusion, const Operands& shape, const RandomState& state, const Numbers& numbers) {
  requireInteger("seed", state.seed);
  requireInteger("offset", state.offset);
  const int64_t number = state.number.value_or(nextNumber(fusion));
  Scalar* count = fusion.constant(1);
  for (Scalar* size : scalarsOf(fusion, "rand", shape)) count = fusion.mul(count, size);
  TensorView* positions = reshape(iota(fusion, count, numbers.first, numbers.step), shape);
  const Operand operands[] = {positions, number, state.seed, state.offset};
  return asTensor(applyFunction(FunctionId::philox, operands));
}

// Whole numbers below 2^bits, as many bits as f32 or f64 has.
struct Wholes {
  TensorView* value = nullptr;
  int bits = 24;
};

Wholes wholes(Fusion& fusion, const Operands& shape, const RandomState& state, DataType type) {
  if (type == DataType::F64) {
    const int64_t number = state.number.value_or(nextNumber(fusion));
    const RandomState same{state.seed, state.offset, number};
    TensorView* high = bitwise_right_shift(randomBits(fusion, shape, same, {.first = 0, .step = 2}), 5);
    TensorView* low = bitwise_right_shift(randomBits(fusion, shape, same, {.first = 1, .step = 2}), 6);
    return {cast(add(mul(high, int64_t{1} << 26), low), DataType::F64), 53};
  }
  // From 32-bit integers GPUs convert faster.
  TensorView* bits = cast(bitwise_right_shift(randomBits(fusion, shape, state, {}), 8), DataType::I32);
  return {cast(bits, DataType::F32), 24};
}

void requireFloating(std::string_view op, DataType dtype) {
  TK_REQUIRE(isFloatingType(dtype), Definition, "{}: its numbers cannot be {}; they are of a floating type", op,
             dataTypeName(dtype));
}

double roundedTo(DataType dtype, double value) {
  const auto single = static_cast<float>(value);
  switch (dtype) {
    case DataType::F64: return value;
    case DataType::F16: return static_cast<double>(toFloat(toHalf(single)));
    case DataType::BF16: return static_cast<double>(toFloat(toBFloat16(single)));
    default: return static_cast<double>(single);
  }
}

// The largest number of the type below a number of it.
double below(DataType dtype, double value) {
  constexpr double kLowest = -std::numeric_limits<double>::infinity();
  if (dtype == DataType::F64) return std::nextafter(value, kLowest);
  const float single = std::nextafter(static_cast<float>(value), static_cast<float>(kLowest));
  if (!isHalfType(dtype)) return static_cast<double>(single);
  // Bit patterns of one sign are ordered as the magnitudes are.
  const bool is_half = dtype == DataType::F16;
  const auto number = [is_half](uint16_t bits) { return is_half ? toFloat(Half{bits}) : toFloat(BFloat16{bits}); };
  const auto bits = is_half ? toHalf(static_cast<float>(value)).bits : toBFloat16(static_cast<float>(value)).bits;
  constexpr uint16_t kSmallestNegative = 0x8001;
  if (value == 0) return static_cast<double>(number(kSmallestNegative));
  return static_cast<double>(number(static_cast<uint16_t>(value > 0 ? bits - 1 : bits + 1)));
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
  return randomBits(fusion, shape, state, {});
}

TensorView* rand(Fusion& fusion, const Operands& shape, const RandomState& state) {
  return mul(wholes(fusion, shape, state, DataType::F32).value, 0x1p-24);
}

TensorView* rand_like(TensorView* like, const RandomState& state) {
  requireGiven("rand_like", {{"like", like}});
  return rand(like->fusion(), shapeLike(*like), state);
}

TensorView* uniform(Fusion& fusion, const Operands& shape, double low, double high, const RandomState& state,
                    DataType dtype) {
  requireFloating("uniform", dtype);
  const double first = roundedTo(dtype, low);
  const double end = roundedTo(dtype, high);
  const DataType type = computeType(dtype);
  TK_REQUIRE(first <= end && std::isfinite(roundedTo(type, end - first)), Definition,
             "uniform: {} to {} is no range of {}; both are finite, the first is not above the other, and so is their "
             "difference",
             low, high, dataTypeName(dtype));
  const Wholes number = wholes(fusion, shape, state, type);
  TensorView* value = add(mul(mul(number.value, std::ldexp(1.0, -number.bits)), end - first), first);
  return castTo(minimum(value, std::max(first, below(dtype, end))), dtype);
}

TensorView* normal(Fusion& fusion, const Operands& shape, double mean, double std, const RandomState& state,
                   DataType dtype) {
  requireFloating("normal", dtype);
  TK_REQUIRE(std::isfinite(mean) && std::isfinite(std) && std >= 0, Definition,
             "normal: a mean of {} and a deviation of {} are refused; both are finite, the deviation is not negative",
             mean, std);
  const Wholes number = wholes(fusion, shape, state, computeType(dtype));
  // Odd and below 2^bits in magnitude: exact.
  TensorView* odd = add(mul(number.value, 2.0), 1 - std::ldexp(1.0, number.bits));
  TensorView* value = erfinv(mul(odd, std::ldexp(1.0, -number.bits)));
  return castTo(add(mul(value, std * std::numbers::sqrt2), mean), dtype);
}

Dropout dropout(TensorView* in, double probability, const RandomState& state) {
  requireGiven("dropout", {{"in", in}});
  requireProbability("dropout", probability);
  TensorView* mask = ge(rand_like(in, state), probability);
  return {kept(in, mask, probability), mask};
}

TensorView* dropout_backward(TensorView* grad, TensorView* mask, double probability) {
  requireGiven("dropout_backward", {{"grad", grad}, {"mask", mask}});
  requireProbability("dropout_backward", probability);
  return kept(grad, mask, probability);
}

}  // namespace tokamak
