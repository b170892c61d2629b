// OutputLayout: how an output of a call lies in memory, and whose memory that is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/memory_kind.h"
#include "symbolic/data_type.h"

namespace tokamak {

struct OutputLayout {
  enum class Memory : uint8_t {
    Own,     ///< some that is allocated for it
    Input,   ///< that of an input, which it updates or is a view of
    Output,  ///< that of another output whose memory is its own
  };
  Memory memory = Memory::Own;
  /// Own: of the memory, which is more than the output where it is a part of it.
  int64_t bytes = 0;
  MemoryKind kind = MemoryKind::Device;
  /// Input: its number among all inputs. Output: its number among those that calls give.
  size_t of = 0;
  /// Of the first element, in bytes: from the first element of the input, else from the beginning of the memory.
  int64_t offset = 0;
  DataType dtype = DataType::F32;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  ///< in elements

  /// Whether it is the whole memory, row-major without gaps.
  bool isRowMajor() const {
    int64_t dense = 1;
    for (size_t i = sizes.size(); i-- > 0; dense *= sizes[i]) {
      if (strides[i] != dense) return false;
    }
    return offset == 0 && bytes == dense * sizeOf(dtype);
  }
};

}  // namespace tokamak
