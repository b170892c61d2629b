// SumForm: an integer scalar as a sum of products with constant coefficients.
#pragma once

#include <optional>
#include <vector>

#include "symbolic/scalar.h"

namespace tokamak {

class Fusion;

/// coefficient * factors[0] * factors[1] * ...; factors are neither constants nor products, in the order of
/// compareScalars.
struct SumTerm {
  int64_t coefficient = 1;
  std::vector<Scalar*> factors;
};

/// What becomes of a sum that is a factor of a product.
enum class Distribution : uint8_t {
  None,       ///< it is one factor
  Constants,  ///< constants are multiplied into it: (a + b) * 2 is a * 2 + b * 2
  All,        ///< products of sums are multiplied out
};

/// terms + constant. Terms have different factors, no coefficient is 0, and they are in the order of their factors.
/// Equal as unbounded integers to the scalar it was made of; operations give nothing when a coefficient would overflow.
struct SumForm {
  std::vector<SumTerm> terms;
  int64_t constant = 0;

  static std::optional<SumForm> of(Scalar* scalar, Distribution distribution);
  bool isConstant() const { return terms.empty(); }

  /// this + other * scale
  std::optional<SumForm> plus(const SumForm& other, int64_t scale) const;
  std::optional<SumForm> times(const SumForm& other) const;

  /// The greatest common divisor of all coefficients and the constant; 0 for an empty sum.
  int64_t content() const;
  SumForm dividedBy(int64_t divisor) const;

  /// The canonical scalar of this sum: positive terms, then subtracted ones, the constant last. Without simplification.
  Scalar* build(ScalarArena& arena) const;
};

/// The canonical scalar of one term.
Scalar* buildTerm(ScalarArena& arena, const SumTerm& term);

/// An integer scalar whose operands are 64-bit integers too: the scalars that integer rules are about.
bool isIndexArithmetic(const Scalar& scalar);

/// Whether the operation is one that SumForm is about: a sum, difference or product.
bool isSumOrProduct(ScalarOp op);

}  // namespace tokamak
