// The kernels of a call as texts: how they are scheduled, and their source.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compile/argument.h"
#include "compile/compile_options.h"
#include "device/device.h"
#include "device/kernel_target.h"
#include "ir/fusion.h"

namespace tokamak::python {

struct KernelText {
  std::string schedule;  ///< the fusion of the kernel with its loops
  std::string kernel;    ///< in kernel IR
  std::string source;    ///< C, or CUDA C++
};

/// The same arguments as if the tensors were the device's; they hold on to no memory.
std::vector<Argument> argumentsOn(Device& device, std::span<const Argument> inputs);

/// The kernels for a target (a processor's: this machine's) that a call with such inputs takes; of tensors only the
/// types, sizes, strides and addresses are looked at. Compiles as a call that comes for the first time, and runs
/// nothing; no GPU is needed. Errors: those of Program::outputLayouts().
std::vector<KernelText> kernelTextsOf(const Fusion& program, const KernelTarget& target, const CompileOptions& options,
                                      std::span<const Argument> inputs);

}  // namespace tokamak::python
