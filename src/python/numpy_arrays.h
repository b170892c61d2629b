// NumPy's arrays by their struct: the fast way in and out, loaded when the first array comes.
#pragma once

#include <Python.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "device/output_layout.h"
#include "device/tensor.h"

namespace tokamak::python {

/// What an array says of itself. Good while the array lives and nobody changes its shape.
struct NumPyArray {
  void* data = nullptr;
  DataType dtype = DataType::F32;
  bool is_writeable = false;
  size_t rank = 0;
  std::array<int64_t, Tensor::kMaxRank> sizes = {};
  std::array<int64_t, Tensor::kMaxRank> strides = {};  ///< in elements

  std::span<const int64_t> sizesOfAxes() const { return {sizes.data(), rank}; }
  std::span<const int64_t> stridesOfAxes() const { return {strides.data(), rank}; }
};

/// Nothing for other objects, subclasses of NumPy's class included, and for arrays of types, byte orders, strides or
/// ranks that the library lacks. With the interpreter's lock.
std::optional<NumPyArray> numPyArrayOf(PyObject* given);

/// Whether numPyArrayOf() has seen an array.
bool canMakeNumPyArrays();
/// Whether newNumPyArray() makes arrays of this type.
bool isNumPyType(DataType dtype);
/// A new array that lies so in memory of its own, and is a new reference; null where Python raised an error. With the
/// interpreter's lock, where canMakeNumPyArrays().
PyObject* newNumPyArray(const OutputLayout& layout);

}  // namespace tokamak::python
