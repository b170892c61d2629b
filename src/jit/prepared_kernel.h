// PreparedKernel: a program, scheduled and lowered for the operands at hand.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/kernel_observer.h"
#include "device/work.h"
#include "jit/kernel_choice.h"
#include "kernel/kernel.h"
#include "lower/pipeline.h"

namespace tokamak {

struct PreparedKernel {
  kir::Kernel kernel;
  ScalarBindings bindings;        ///< of the kernel's symbols, without parameters
  std::vector<int64_t> elements;  ///< per tensor of the kernel: how many may be accessed
  std::vector<size_t> operands;   ///< per tensor of the kernel: which operand of the work it is
  std::string name;               ///< of the program that it is part of
};

/// How a program becomes a kernel.
struct KernelRecipe {
  TargetKind target = TargetKind::Cpu;
  ExtentPolicy extents = ExtentPolicy::Open;
  /// Gives the tensors their schedule; asked only if they have none.
  std::function<void(Fusion& fusion, const ScalarBindings& sizes)> schedule;
  KernelPassOptions passes = {};
};

/// Once, for one size; KernelExecutor does the same for many. Operands: the program's tensor inputs, then its outputs.
/// `bindings`: of its symbols.
/// Errors: Schedule or Unsupported when it cannot be one kernel; Bind.
PreparedKernel prepareKernel(const Fusion& program, std::span<const OperandDesc> operands,
                             const ScalarBindings& bindings, const KernelRecipe& recipe);

/// Gives the kernel's extents and strides their values. Gives how many elements of each operand may be accessed.
/// Errors: Bind.
std::vector<int64_t> bindOperands(const kir::Kernel& kernel, std::span<const OperandDesc> operands,
                                  ScalarBindings& bindings);

/// Passes that the observer sees, if there is one and it wants to.
KernelPassOptions passesSeenBy(KernelObserver* observer);

/// What a launch passes for the kernel's symbols, in order, each as 8 bytes: the bits of an f64 for floating types,
/// else an i64; 0 for parameters.
std::vector<int64_t> symbolBits(const kir::Kernel& kernel, const ScalarBindings& bindings);

}  // namespace tokamak
