// The kernel interpreter: runs kernel IR, whatever its schedule, and reports what hardware would not: accesses outside
// of buffers, uninitialised reads, races, and barriers that some threads do not reach.
//
// All threads of a block do one statement after the other, each for the threads that reach it, unless another order is
// asked for. Races do not depend on that order: two accesses conflict unless one thread makes both or a barrier of
// their block stands between.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernel/kernel.h"

namespace tokamak {

/// How the threads of a block take turns.
enum class ThreadOrder : uint8_t {
  Together,   ///< all do one statement after the other
  Forwards,   ///< one thread after the other, each up to where all of them meet; the first one first
  Backwards,  ///< the same, the last one first
};

struct InterpreterOptions {
  uint64_t seed = 0;         ///< of the order of blocks; 0: in order
  size_t most_findings = 8;  ///< it stops after so many
  ThreadOrder threads = ThreadOrder::Together;
  int index_bits =
      64;  ///< of the integers that indices are computed with: values that have more, or parts of these, are wrong
};

/// A buffer of a kernel's global tensor.
struct KernelBuffer {
  void* address = nullptr;
  int64_t elements = 0;     ///< that may be accessed
  bool is_written = false;  ///< reading it is legal before a thread has written it
};

/// Runs all blocks. `buffers`: as kernel.tensors; `bindings`: values of kernel.symbols. Gives what was wrong, each once
/// per place, empty for a correct kernel; results are in the buffers.
std::vector<std::string> interpretKernel(const kir::Kernel& kernel, std::span<const KernelBuffer> buffers,
                                         const ScalarBindings& bindings, const InterpreterOptions& options = {});

}  // namespace tokamak
