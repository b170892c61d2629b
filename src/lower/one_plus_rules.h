// one-plus-rules: rules for 1 + erf and 1 + tanh.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// For kernels whose blocks have threads. Where an f32 value t = erf(x) or tanh(x) is used in 1 + t and 1 - t * t only,
/// the named value becomes p = f(x) + 1, and 1 - t * t becomes p * (2 - p).
/// CUDA has functions for these sums, which codegen calls where it meets f(x) + 1 as one value. Beside 1 an absolute
/// error is enough, so they need not be exact near 0, and take 9 and 13 instructions instead of 15 and 18.
/// It runs late: no later pass looks at the values that it makes.
kir::Kernel onePlusRules(kir::Kernel kernel);

}  // namespace tokamak
