// Block reduce: CUDA C++ that combines values of the threads of a block.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tokamak {

/// Threads that a block may have.
constexpr int64_t kMostThreads = 1024;

struct BlockReduceValue {
  struct Dimension {
    std::string index;
    std::string extent;
    std::optional<int64_t> constant;  ///< the extent
    bool is_combined = false;
  };
  bool needs_barrier_before = false;  ///< the statement may run several times, or there are others
  bool is_repeated = false;           ///< the statement may run several times
  bool may_have_own_scratch = false;  ///< scratch memory of its own is affordable: there are few block reductions
  std::string active_threads;         ///< unless empty: the number of combined threads that have values, the first ones
  std::string type;                   ///< of the values
  int64_t bytes = 4;                  ///< of a value
  int64_t count = 1;                  ///< values per thread
  std::vector<Dimension> dimensions;  ///< of the block, x first
  std::function<std::string(const std::string& k)> element;  ///< the thread's value number k
  std::function<std::string(const std::string& a, const std::string& b)> combined;
};

struct BlockReduceLines {
  std::vector<std::string> lines;
  int64_t scratch_bytes = 0;  ///< of shared memory at `tk_scratch`, aligned to 16 bytes
};

/// Source after which every thread has the result of its group: the threads that differ along combined dimensions only.
/// It uses shuffles within a warp, shared memory between warps along x, and else a tree in shared memory. The order of
/// combination is fixed.
BlockReduceLines blockReduceSource(const BlockReduceValue& text);

/// The same for consecutive values with the same dimensions: they share barriers where possible.
BlockReduceLines blockReduceSource(const std::vector<BlockReduceValue>& texts);

}  // namespace tokamak
