// The kernel interpreter: runs kernel IR, and reports what hardware does not: accesses out of bounds, uninitialised
// reads, races, and barriers that some threads do not reach.
//
// By default all threads of a block do one statement after the other. Races do not depend on the order: two accesses
// conflict unless one thread makes both or a barrier of their block is between.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernel/kernel.h"

namespace tokamak {

/// The order in which the threads of a block run.
enum class ThreadOrder : uint8_t {
  Together,   ///< all do one statement after the other
  Forwards,   ///< one thread after the other, each up to the next common statement; the first one first
  Backwards,  ///< the same, the last one first
};

struct InterpreterOptions {
  uint64_t seed = 0;         ///< of the order of blocks; 0: in order
  size_t most_findings = 8;  ///< it stops after this number
  ThreadOrder threads = ThreadOrder::Together;
  int index_bits = 64;  ///< of index arithmetic: wider values, or parts of them, are reported
};

/// A buffer of a kernel's global tensor.
struct KernelBuffer {
  void* address = nullptr;
  int64_t elements = 0;     ///< that may be accessed
  bool is_written = false;  ///< it has values before the kernel runs
};

/// Runs all blocks; results are in the buffers. `buffers`: as kernel.tensors; `bindings`: values of kernel.symbols.
/// Returns what is wrong, once per statement; empty for a correct kernel.
std::vector<std::string> interpretKernel(const kir::Kernel& kernel, std::span<const KernelBuffer> buffers,
                                         const ScalarBindings& bindings, const InterpreterOptions& options = {});

}  // namespace tokamak
