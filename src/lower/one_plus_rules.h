// one-plus-rules: rules for 1 + erf and 1 + tanh.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// For kernels whose blocks have threads: where a f32 value t = erf(x) or tanh(x) is used in 1 + t and 1 - t * t only,
/// the value that is named becomes p = f(x) + 1, and 1 - t * t becomes p * (2 - p). CUDA has texts for these sums
/// (codegen writes them where it meets f(x) + 1 as one value): beside 1 an absolute error is enough, so they need not
/// be exact near 0, and take 9 and 13 instructions instead of 15 and 18. Last: what it joins are numbers, which no
/// other pass looks at.
kir::Kernel onePlusRules(kir::Kernel kernel);

}  // namespace tokamak
