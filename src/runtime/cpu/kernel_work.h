// Kernel work: a host unit as one compiled kernel on the processor.
#pragma once

#include <memory>
#include <span>

#include "device/device.h"
#include "device/kernel_observer.h"
#include "ir/ops/host/post_on_stream.h"
#include "runtime/cpu/cpu_work.h"

namespace tokamak {

/// Schedules the unit for these operands (unless its tensors have a schedule), lowers it, compiles it or finds its code, and binds its symbols.
/// Operands: the unit's tensor inputs, then its outputs. Where there is no C compiler the interpreter runs it.
/// Errors: Schedule or Unsupported when it cannot be one kernel; Compile; Bind.
std::shared_ptr<const CpuWork> prepareKernelWork(const PostOnStream& post, std::span<const OperandDesc> operands,
                                                 const ScalarBindings& bindings, KernelObserver* observer = nullptr);

}  // namespace tokamak
