// Arrays of other libraries, by Python's buffer protocol, as tensors that borrow their memory for a call.
#pragma once

#include <Python.h>

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "compile/argument.h"
#include "ir/tensor_view.h"

namespace tokamak::python {

/// A number of Python's own types that fits 64 bits; nothing for anything else.
std::optional<ScalarValue> numberOf(PyObject* given);

/// What a call is given: tensors in the arrays' memory, and numbers. Made and destroyed with the interpreter's lock.
class BorrowedArrays {
 public:
  BorrowedArrays() = default;
  BorrowedArrays(const BorrowedArrays&) = delete;
  BorrowedArrays& operator=(const BorrowedArrays&) = delete;
  ~BorrowedArrays();

  /// An array, or a number for a scalar (`number_type`: its type) or for a tensor without axes. `place`: what messages
  /// call it. Errors: Bind for what is neither, and for arrays of types or in memory that the library lacks.
  Argument argument(Device& device, PyObject* given, const TensorView* tensor, DataType number_type,
                    const std::string& place);
  /// An array to be written into. Errors: as above, and for one that may not be written.
  Tensor output(Device& device, PyObject* given, const std::string& place);

 private:
  Tensor wrap(Device& device, PyObject* given, bool is_written, const std::string& place);

  std::deque<Py_buffer> buffers_;
  std::deque<std::max_align_t> numbers_;  // of tensors without axes
};

}  // namespace tokamak::python
