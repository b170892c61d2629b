// Block reduce: values are combined across the threads of a block, as CUDA C++.
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
  bool shares_scratch = false;        ///< the statement may run several times, or there are others
  bool is_repeated = false;           ///< the statement may run several times
  bool may_own_scratch = false;       ///< there are not many others
  std::string contributors;           ///< unless empty: so many of the combined threads have values, the first ones
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

/// Lines after which every thread has the combination of the values of the threads that differ from it along the
/// combined dimensions only. Within a warp by shuffles; along x, over warps by shared memory; else by a tree in shared
/// memory. The order is always the same.
BlockReduceLines blockReduceSource(const BlockReduceValue& text);

/// The same of values that follow one another and have the same dimensions: where they can, threads wait once for all
/// of them.
BlockReduceLines blockReduceSource(const std::vector<BlockReduceValue>& texts);

}  // namespace tokamak
