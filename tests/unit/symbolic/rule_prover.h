// Proves a rule of the scalar simplifier by evaluation; by exhaustion for small values, by samples for all others.
#pragma once

#include <random>
#include <string>

#include "symbolic/scalar_rules.h"

namespace tokamak::test {

struct ProofCounts {
  /// Of all values in [-8, 8] (a variable that a condition equates with something has that value), those that meet the
  /// conditions and give the pattern a value.
  int64_t small_cases = 0;
  int64_t wide_cases = 0;  ///< the same, of random 64-bit values
};

/// Empty when, for every value tried that meets the conditions and under which the pattern has a value (no overflow,
/// positive divisors), the result has the same value. Else the counterexample. Parts of the result that are of
/// constants alone must have a value too, as the simplifier computes them at once and leaves the pattern as it is when
/// they have none. Conditions are evaluated, not proved: what the simplifier can prove is less.
std::string findCounterexample(const ScalarRule& rule, int64_t wide_cases, std::mt19937_64& random,
                               ProofCounts& counts);

}  // namespace tokamak::test
