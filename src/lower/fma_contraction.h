// fma-contraction: a product that is only added to something becomes one multiply-add.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// In blocks of threads: f32 sums and differences with a product that nothing else uses become add_alpha and sub_alpha,
/// which CUDA does in one instruction with one rounding less:
///
///   let p = mul(a, b); T[0] = add(T[0], p)     becomes     T[0] = add_alpha(T[0], a, b)
///
/// A product that is beyond the numbers of f32 by itself, and not together with what it is added to, is finite then.
/// Nothing is promised of such sums (oracle/tensor.h).
kir::Kernel fmaContraction(kir::Kernel kernel);

}  // namespace tokamak
