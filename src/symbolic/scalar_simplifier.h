// The scalar simplifier: rewrites a scalar into an equal one that is not larger.
#pragma once

namespace tokamak {

class IntervalAnalysis;
class Scalar;

/// A scalar that has the same value under every binding under which this one has a value (no overflow, positive
/// divisors; a sum may be added up in another order). Constants are folded where that does not overflow; sums and
/// products are flattened, like terms collected, ordered by first leaf with the constant last; the rules of
/// symbolic/scalar_rules.cpp are applied. The result's weight is never larger. Idempotent; the same node when nothing
/// applies. Nothing is supposed of symbols, not even that they are >= 0.
Scalar* simplify(Scalar* scalar);

/// The same under the analysis' assumptions, which more rules profit from: a % 8 is a when 0 <= a < 8.
Scalar* simplify(Scalar* scalar, IntervalAnalysis& analysis);

/// The same, and what is less than a common unit of all else leaves divisions and comparisons: ( i * 8 + j ) / 64 is i
/// / 8, ( i * 8 + j ) % 64 is i % 8 * 8 + j, i * 8 + j < 64 is i < 8 when 0 <= j < 8. The parts of an index that was
/// divided are no longer alike: for indices that nothing puts together again.
Scalar* simplifyRemainders(Scalar* scalar, IntervalAnalysis& analysis);

}  // namespace tokamak
