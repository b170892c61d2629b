// The scalar simplifier: rewrites a scalar into an equal one that is not larger.
#pragma once

namespace tokamak {

class IntervalAnalysis;
class Scalar;

/// A scalar that has the same value under every binding under which this one has a value (no overflow, positive divisors; a sum may be
/// added up in another order). Constants are folded where that does not overflow; sums and products are flattened, like terms collected,
/// ordered by first leaf with the constant last; the rules of ir/scalar_rules.cpp are applied. The result's weight is never larger.
/// Idempotent; the same node when nothing applies. Nothing is supposed of symbols, not even that they are >= 0.
Scalar* simplify(Scalar* scalar);

/// The same under the analysis' assumptions, which more rules profit from: a % 8 is a when 0 <= a < 8.
Scalar* simplify(Scalar* scalar, IntervalAnalysis& analysis);

}  // namespace tokamak
