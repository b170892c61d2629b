// Random numbers that are a function of their position, a seed and an offset: the same on every device and in every
// order.
//
// Number i of an op is made of word i % 4 of Philox 4x32-10 with the seed as key and a counter whose low 64 bits are i
// / 4 + offset and whose high 64 bits are the op's number. A call of a program with the same seed and offset gives the
// same numbers; who wants others moves the offset on by a quarter of the elements of the largest tensor (rounded up),
// or changes the seed; an f64 number takes two words (2 i and 2 i + 1) and counts as two elements. Ops are numbered in
// the order of their definition in the fusion; a number may be given, and the next op has one more than the largest.
#pragma once

#include <optional>

#include "base/export.h"
#include "define/operand.h"

namespace tokamak {

/// Seed and offset are integers or integer scalars of the fusion.
struct RandomState {
  Operand seed;
  Operand offset;
  std::optional<int64_t> number = {};  ///< left out: one more than the largest of the fusion, or 0
};

/// 32 random bits per element, as i64 in [0, 2^32).
TOKAMAK_EXPORT TensorView* random_bits(Fusion& fusion, const Operands& shape, const RandomState& state);
/// Uniformly distributed multiples of 2^-24 in [0, 1), f32.
TOKAMAK_EXPORT TensorView* rand(Fusion& fusion, const Operands& shape, const RandomState& state);
TOKAMAK_EXPORT TensorView* rand_like(TensorView* like, const RandomState& state);
/// Uniformly distributed in [low, high), where low and high are first rounded to `dtype`: low + u * (high - low) with
/// u a multiple of 2^-24 in [0, 1) (of 2^-53 for f64), computed in f32 (f64) and rounded once more for halves. What
/// would be rounded up to high is the largest value below it; low = high gives low.
/// Errors: Definition for a type that is not floating, and for limits that are not finite, far apart or exchanged.
TOKAMAK_EXPORT TensorView* uniform(Fusion& fusion, const Operands& shape, double low, double high,
                                   const RandomState& state, DataType dtype = DataType::F32);
/// Normally distributed: mean + std * z with z = sqrt(2) erfinv(2 u - 1), where u is an odd multiple of 2^-25 (of
/// 2^-54 for f64) in (0, 1): one number of the generator gives one result. z is symmetric, finite, and at most 5.42
/// (8.29 for f64). Computed in f32 (f64) and rounded once more for halves.
/// Errors: Definition for a type that is not floating, a mean that is not finite, and a deviation that is negative or
/// not finite.
TOKAMAK_EXPORT TensorView* normal(Fusion& fusion, const Operands& shape, double mean, double std,
                                  const RandomState& state, DataType dtype = DataType::F32);

struct Dropout {
  TensorView* out;   ///< of the operand's type
  TensorView* mask;  ///< true where an element stays
};
/// Elements become 0 with the given probability, the others are scaled by 1 / (1 - probability). Half types are
/// computed in f32.
/// Errors: Definition for a probability outside of [0, 1].
TOKAMAK_EXPORT Dropout dropout(TensorView* in, double probability, const RandomState& state);
/// The gradient of the operand, given that of the result, of the latter's type.
TOKAMAK_EXPORT TensorView* dropout_backward(TensorView* grad, TensorView* mask, double probability);

}  // namespace tokamak
