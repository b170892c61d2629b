// CpuKernels: host units and ops as kernels on the processor.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "device/device.h"
#include "device/kernel_observer.h"
#include "heuristics/kernel_target.h"
#include "runtime/cpu/cpu_device_options.h"
#include "runtime/cpu/cpu_work.h"
#include "toolchain/kernel_compiler.h"

namespace tokamak {

class KernelLibrary;

/// "compiled by /usr/bin/cc (its version)", "interpreted", or "none, units run op by op: why". May ask the compiler what
/// it is.
std::string describeKernels(KernelRunner runner);

/// Where the code of this process' kernels came from so far.
CompileCounts kernelCompileCounts();

/// Works that are kernels, compiled or interpreted.
/// Thread safety: any threads may use it side by side.
class CpuKernels {
 public:
  /// `observer` may be null; outlives this.
  CpuKernels(const KernelTarget& target, KernelRunner runner, KernelObserver* observer = nullptr);
  ~CpuKernels();

  /// Whether units become kernels. The first call looks for a compiler; where there is none, the observer is told, or,
  /// without one, a line is written to standard error, once for the process.
  /// Errors: Unsupported for CompiledOnly without a compiler.
  bool makesKernels();

  /// Schedules the unit or op for these operands (unless its tensors have a schedule), lowers it and has it compiled, or finds code of the same
  /// choice, and binds its symbols. The compiler may still run when this returns.
  /// Errors: as KernelLibrary::find; Unsupported for kernels with threads, which only the interpreter runs, and where no
  /// kernels are made.
  std::shared_ptr<const CpuWork> prepare(const WorkRequest& request);

  const KernelLibrary& library() const { return *library_; }

 private:
  std::unique_ptr<KernelLibrary> library_;
  const KernelRunner runner_;
  KernelObserver* const observer_;
  std::once_flag looked_;
  std::string why_no_compiler_;  ///< empty where there is one, or none is wanted
};

}  // namespace tokamak
