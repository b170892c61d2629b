// Mutants of a kernel: one thing made wrong, the way a schedule, a lowering or a pass could get it wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/kernel.h"

namespace tokamak::generator {

enum class KernelMutantKind : uint8_t {
  DropBarrier,
  MoveBarrier,  ///< before the statement in front of it
  DropGuard,
  WeakenGuard,   ///< one condition of several less, or < becomes <=
  UnguardStore,  ///< a store leaves its guard
  DropStore,
  ShiftIndex,   ///< of a load, store, copy or combine
  WrongStride,  ///< a factor in such an index
  ShiftStop,    ///< of a loop
  ShiftStart,
  ShiftExtent,  ///< of a launch dimension
  ShiftNumber,  ///< a stored constant: the identity of another reduction
  DropCombine,
  DropDimension,  ///< of a combine over several
  ChangeCombine,  ///< its kind
  ShrinkAllocate,
  WidenCopy,
  ChangeCast,  ///< through another type
  SwapChoice,
  WaitLess,  ///< for asynchronous copies: not at all, or for all but one group more
};
inline constexpr int kKernelMutantKinds = 20;

/// drop barrier, move barrier, ...
std::string_view kernelMutantKindName(KernelMutantKind kind);

struct KernelMutant {
  KernelMutantKind kind = KernelMutantKind::DropBarrier;
  kir::Kernel kernel;
};

/// All mutants of a kernel. Scalars are made in its fusion.
std::vector<KernelMutant> mutantsOf(const kir::Kernel& kernel);

}  // namespace tokamak::generator
