// ContextGrid: runs a grid of CUDA threads as contexts on one processor, cluster by cluster, and sees what is wrong
// with how they meet.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "contexts/context_machine.h"
#include "contexts/memory_watch.h"

namespace tokamak::contexts {

struct GridShape {
  std::array<int64_t, 3> blocks = {1, 1, 1};
  std::array<int64_t, 3> threads = {1, 1, 1};
  int64_t cluster = 1;  ///< blocks along x
  int64_t shared_bytes = 0;
};

/// In which order contexts run and clusters follow one another, and when asynchronous copies take effect.
struct GridOrder {
  enum class Copies : uint8_t { Early, Late };
  uint64_t seed = 0;  ///< 0: in order
  Copies copies = Copies::Early;
};

/// A compiled kernel.
struct ContextKernel {
  std::function<void(void* const* arguments)> call;
  ContextMachine** machine = nullptr;  ///< where its text finds the machine
  const char* image = nullptr;         ///< its constants and tables
  const char* image_end = nullptr;
  std::function<std::string(int line)> line;  ///< of its text
};

/// Runs it; gives what was found wrong first, or nothing. The watch has the regions of global memory. What is found
/// stops the run.
std::optional<std::string> runGrid(const ContextKernel& kernel, const GridShape& shape, const GridOrder& order,
                                   MemoryWatch& watch, void* const* arguments);

}  // namespace tokamak::contexts
