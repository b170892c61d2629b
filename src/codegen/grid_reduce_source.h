// Grid reduce: source that combines values of the blocks of a grid.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "codegen/block_reduce_source.h"
#include "device_code/device_code.h"

namespace tokamak {

struct GridReduceForm {
  struct Value {
    std::string type;
    int64_t bytes = 4;            ///< of an element
    int64_t count = 1;            ///< elements per thread
    std::vector<bool> is_spread;  ///< per dimension of a block: whether threads along it have different values
    std::function<std::string(const std::string& k)> element;
    std::function<std::string(const std::string& a, const std::string& b)> combined;
  };
  std::vector<BlockReduceValue::Dimension> blocks;   ///< of the grid, x first; is_combined: reduced over
  std::vector<BlockReduceValue::Dimension> threads;  ///< of a block, x first
  std::vector<Value> values;
};

/// Source after which only the last block of each group continues, with the results in all its threads.
/// `tk_workspace` is the kernel's workspace (kernel/bind_kernel.h); it has the blocks' values as
/// [group][block][element] [thread]. Threads with equal values divide the blocks among them, and then do a block
/// reduction.
/// The order of combination is fixed. In C a block is an iteration of the loop around, and has no threads.
BlockReduceLines gridReduceSource(const GridReduceForm& text, Dialect dialect);

}  // namespace tokamak
