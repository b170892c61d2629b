// Interpreted work: a kernel that the interpreter runs, for streams of the processor.
#pragma once

#include <memory>

#include "runtime/cpu/cpu_work.h"
#include "runtime/kernel/kernel_library.h"

namespace tokamak {

/// `operand_count`: of the request; its parameters' values come behind so many addresses. What the interpreter finds wrong becomes an Internal
/// error of the stream.
std::shared_ptr<const CpuWork> makeInterpretedWork(FoundKernel found, size_t operand_count);

}  // namespace tokamak
