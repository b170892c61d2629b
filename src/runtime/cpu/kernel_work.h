// CpuKernels: host units and ops as kernels on the processor.
#pragma once

#include <memory>

#include "device/device.h"
#include "device/kernel_observer.h"
#include "heuristics/kernel_target.h"
#include "runtime/compile/kernel_compiler.h"
#include "runtime/cpu/cpu_work.h"

namespace tokamak {

class KernelLibrary;

enum class KernelRunner : uint8_t {
  Compiled,     ///< by the C compiler; where there is none, interpreted
  Interpreted,  ///< with the interpreter's checks; kernels of every target
};

/// Where the code of this process' kernels came from so far.
CompileCounts kernelCompileCounts();

/// Thread-safe.
class CpuKernels {
 public:
  /// `observer` may be null; outlives this.
  CpuKernels(const KernelTarget& target, KernelRunner runner, KernelObserver* observer = nullptr);
  ~CpuKernels();

  /// Schedules the unit or op for these operands (unless its tensors have a schedule), lowers it and has it compiled, or finds code of the same
  /// choice, and binds its symbols. The compiler may still run when this returns.
  /// Errors: as KernelLibrary::find; Unsupported for kernels with threads, which only the interpreter runs.
  std::shared_ptr<const CpuWork> prepare(const WorkRequest& request);

  const KernelLibrary& library() const { return *library_; }

 private:
  std::unique_ptr<KernelLibrary> library_;
  bool is_compiled_;
};

}  // namespace tokamak
