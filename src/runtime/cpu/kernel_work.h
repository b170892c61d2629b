// Kernel work: segments and ops as kernels on the processor, compiled or interpreted.
#pragma once

#include <cstddef>
#include <memory>

#include "device/kernel_launch.h"
#include "runtime/cpu/cpu_work.h"

namespace tokamak {

/// `operand_count`: of the request; its parameters' values come behind so many addresses.
/// Errors: Unsupported for kernels with threads, which only the interpreter runs.
std::shared_ptr<const CpuWork> makeKernelWork(KernelLaunch launch, size_t operand_count);

}  // namespace tokamak
