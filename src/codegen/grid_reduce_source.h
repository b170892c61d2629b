// Grid reduce: values are combined across the blocks of a grid.
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
    std::vector<bool> is_spread;  ///< per dimension of a block: threads along it have different values
    std::function<std::string(const std::string& k)> element;
    std::function<std::string(const std::string& a, const std::string& b)> combined;
  };
  std::vector<BlockReduceValue::Dimension> blocks;  ///< of the grid, x first; is_combined: along it blocks are combined
  std::vector<BlockReduceValue::Dimension> threads;  ///< of a block, x first
  std::vector<Value> values;
};

/// Lines after which only the last block of each group goes on, with the combinations in all its threads.
/// `tk_workspace` is the kernel's workspace (kernel/bind_kernel.h); the blocks' values are laid out as
/// [group][block][element][thread]. Threads whose values are equal share the blocks among them, then combine what they
/// have; the order is always the same. In C a block is an iteration of the loop around it, and has no threads.
BlockReduceLines gridReduceSource(const GridReduceForm& text, Dialect dialect);

}  // namespace tokamak
