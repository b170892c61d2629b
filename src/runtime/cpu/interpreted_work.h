// Interpreted work: a kernel that the interpreter runs, for streams of the processor.
#pragma once

#include <memory>

#include "device/kernel_launch.h"
#include "runtime/cpu/cpu_work.h"

namespace tokamak {

/// `operand_count`: of the request; its parameters' values come behind so many addresses. What the interpreter finds
/// wrong becomes an Internal error of the stream.
std::shared_ptr<const CpuWork> makeInterpretedWork(KernelLaunch launch, size_t operand_count);

}  // namespace tokamak
