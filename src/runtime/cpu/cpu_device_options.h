// Options of the CPU device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/trace.h"
#include "device/kernel_observer.h"
#include "device/kernel_target.h"
#include "runtime/cpu/parallel_for.h"

namespace tokamak {

/// How segments run.
enum class KernelRunner : uint8_t {
  Compiled,      ///< kernels by the C compiler; where there is none, as OpByOp, which is told
  CompiledOnly,  ///< the same; where there is no compiler, an error
  OpByOp,        ///< no kernels: each op by itself on the loops that the library has compiled (element_loops.h)
  Interpreted,   ///< kernels with the interpreter's checks, of every target; thousands of times slower
};

struct CpuDeviceOptions {
  int64_t threads = 0;                ///< for blocks; 0: as many as processors that this process may use
  int64_t memory_limit = 0;           ///< in bytes, all memory kinds together; 0: the machine's memory
  int64_t ring_bytes = 65536;         ///< of each stream's queue; a power of two, at least 256
  bool poisons_memory = false;        ///< fresh allocations are filled with 0xFF: NaN in every floating-point type
  TraceObserver* trace = nullptr;     ///< told about all work; outlives the device
  KernelObserver* kernels = nullptr;  ///< told about kernels; outlives the device
  /// The caller's threads, which share out blocks instead of the device's own; `threads` says how many are meant to
  /// work on one kernel. Let go when the device is gone, on any thread. Null: the device has threads of its own.
  std::shared_ptr<ParallelFor> parallel_for = nullptr;
  /// Of segments; with Interpreted every other op but library calls is a kernel, too.
  KernelRunner runner = KernelRunner::Compiled;
  /// What kernels are scheduled for; nothing: this processor, or a GPU when they are interpreted.
  std::optional<KernelTarget> target;
};

}  // namespace tokamak
