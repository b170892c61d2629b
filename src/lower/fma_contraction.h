// fma-contraction: a sum with a product that has no other use becomes one multiply-add.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// For kernels whose blocks have threads. f32 sums and differences with a product that nothing else uses become
/// add_alpha and sub_alpha, one CUDA instruction with one rounding less:
///
///   let p = mul(a, b); T[0] = add(T[0], p)     becomes     T[0] = add_alpha(T[0], a, b)
///
/// A sum whose product alone overflows f32 may become finite. Nothing is promised of such sums (oracle/tensor.h).
kir::Kernel fmaContraction(kir::Kernel kernel);

}  // namespace tokamak
