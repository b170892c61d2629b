// one-plus-rules: rules for 1 + erf and 1 + tanh.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// If an f32 value t = erf(x) or tanh(x) is used in 1 + t and 1 - t * t only, the variable becomes p = f(x) + 1, and
/// 1 - t * t becomes p * (2 - p).
/// Codegen calls one function for f(x) + 1. Such a sum needs a small absolute error only, so the functions take fewer
/// instructions: in CUDA 9 and 13 instead of 15 and 18.
/// It runs late, because no other pass knows these values.
kir::Kernel onePlusRules(kir::Kernel kernel);

}  // namespace tokamak
