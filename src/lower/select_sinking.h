// select-sinking: a choice between two computations of one form becomes one computation of chosen operands.
#pragma once

#include "kernel/kernel.h"

namespace tokamak {

/// For kernels whose blocks have threads. In a loop, `P ? f(T[i], ...) : f(T[j], ...)` becomes `f(T[j + d * (P ? 1 :
/// 0)], ...)`, where P does not mention the loop's index and i - j is a constant d.
/// If one side is the negative of the other's form, the result is negated where P chooses that side. So rotary
/// embeddings, which exchange halves, read and compute an element once.
/// This is done only if two loads become one. Only the memory of the chosen side is read.
kir::Kernel selectSinking(kir::Kernel kernel);

}  // namespace tokamak
