// Data for the inputs of a program: stored as the inputs' layouts say, reproducible from a seed.
#pragma once

#include <cstddef>
#include <variant>
#include <vector>

#include "oracle/evaluate.h"
#include "program.h"

namespace tokamak::generator {

/// What lies where no element is.
inline constexpr std::byte kPoison{0xA5};

/// A tensor that owns its bytes.
struct StoredData {
  DataType dtype = DataType::F32;
  std::vector<int64_t> sizes = {};
  std::vector<int64_t> strides = {};  ///< in elements
  int64_t offset = 0;                 ///< of the element at index 0, in elements
  std::vector<std::byte> bytes = {};  ///< of the whole buffer; what no element covers is kPoison

  oracle::StoredTensor view() const {
    return {.dtype = dtype, .sizes = sizes, .strides = strides, .data = bytes.data() + offset * sizeOf(dtype)};
  }
};

using InputData = std::variant<StoredData, ScalarValue>;

/// One per input of the program's fusion, in its order.
std::vector<InputData> drawData(const Program& program, uint64_t seed);
/// The same as the reference takes them.
std::vector<oracle::Input> toOracle(const std::vector<InputData>& data);

}  // namespace tokamak::generator
