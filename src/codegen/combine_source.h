// Combining values across the threads of a block, as CUDA C++.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tokamak {

struct CombineText {
  struct Dimension {
    std::string index;
    std::string extent;
    std::optional<int64_t> constant;  ///< the extent
    bool is_combined = false;
  };
  bool shares_scratch = false;                             ///< the statement may run several times, or there are others
  bool is_repeated = false;                                ///< the statement may run several times
  bool may_own_scratch = false;                            ///< there are not many others
  std::string type;                                        ///< of the values
  int64_t bytes = 4;                                       ///< of a value
  int64_t count = 1;                                       ///< values per thread
  std::vector<Dimension> dimensions;                       ///< of the block, x first
  std::function<std::string(const std::string& k)> place;  ///< the thread's value number k
  std::function<std::string(const std::string& a, const std::string& b)> combined;
};

struct CombineLines {
  std::vector<std::string> lines;
  int64_t scratch_bytes = 0;  ///< of shared memory at `tk_scratch`, aligned to 16 bytes
};

/// Lines after which every thread has the combination of the values of the threads that differ from it along the combined dimensions only. Within a
/// warp by shuffles; along x, over warps by shared memory; else by a tree in shared memory. The order is always the same.
CombineLines combineSource(const CombineText& text);

/// A value that blocks combine; the same words as above.
struct GridCombineText {
  struct Value {
    std::string type;
    int64_t bytes = 4;  ///< of an element
    int64_t count = 1;
    std::vector<bool> is_spread;  ///< per dimension of a block
    std::function<std::string(const std::string& k)> place;
    std::function<std::string(const std::string& a, const std::string& b)> combined;
  };
  std::vector<CombineText::Dimension> blocks;   ///< of the grid, x first; is_combined: along it blocks are combined
  std::vector<CombineText::Dimension> threads;  ///< of a block, x first
  std::vector<Value> values;
};

/// Lines after which only the last block of each group goes on, with the combinations in all its threads. `tk_workspace` is the kernel's workspace
/// (kernel/bind_kernel.h); the blocks' values are laid out as [group][block][element][thread].
std::vector<std::string> gridCombineSource(const GridCombineText& text);

}  // namespace tokamak
